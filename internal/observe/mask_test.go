package observe

import (
	"strings"
	"testing"
)

func TestMaskHidesSecretsInKeys(t *testing.T) {
	t.Parallel()
	mask, err := NewMask([]string{"invite:", "Ticket-*"})
	if err != nil {
		t.Fatal(err)
	}
	const token = "AZ3wTq7VcDqZk1mXn4PbUQx8sKfJ2hLr0yGtWvEiOaNdMeCuBzHpRlSjYgFo6I5T"
	const scs = "kV7x0nqUqkTtYdJqlpKzQ3m5g1cR8sFhA2bW4eXyZ0s"
	laravel := "aB3" + strings.Repeat("xY7z", 9) + "q"
	for key, want := range map[string]string{
		"sess:SECRET":                               "sess:***",
		"shop:sess:SECRET":                          "shop:sess:***",
		"session:SECRET":                            "session:***",
		"SESSION:SECRET":                            "SESSION:***",
		"PHPREDIS_SESSION:SECRET":                   "PHPREDIS_SESSION:***",
		"spring:session:sessions:expires:SECRET":    "spring:session:***",
		":1:django.contrib.sessions.cacheSECRET":    ":1:django.contrib.sessions.cache***",
		":1:django.contrib.sessions.cached_dbSECRE": ":1:django.contrib.sessions.cache***",
		"scs:session:SECRET":                        "scs:session:***",
		"session_SECRET":                            "session_***",
		"sf_sSECRET":                                "sf_s***",
		"refresh_token:SECRET":                      "refresh_token:***",
		"shop_database_shop_cache_:" + laravel:      "shop_database_shop_cache_:***",
		laravel:                                     "***",
		token:                                       "***",
		"user:42:" + token + ":cart":                "user:42:***",
		"user-" + token:                             "user-***",
		token + ":" + token:                         "***",
		"cart:" + scs:                               "cart:***",
		"invite:SECRET":                             "invite:***",
		"a:TICKET-SECRET":                           "a:TICKET-***",
		"\xff\x00sess:\xfe":                         "\xff\x00sess:***",
		"İsess:SECRET":                              "İsess:***", // lower case would be longer
	} {
		if shown, masked := mask.Key([]byte(key)); shown != want || !masked {
			t.Errorf("Key(%q) = %q, %v, want %q, true", key, shown, masked, want)
		}
	}
	for _, key := range []string{
		"", "user:42", "page:/index.html", "etag:da39a3ee5e6b4b0d3255bfef95601890afd80709",
		strings.ToLower(token), "catalogue:AllProductsOfTheHouseAndTheGardenInEurope-w", strings.Repeat("0aF", 30),
		"x" + laravel, "views.decorators.cache.cache_page..GET.0cc175b9c0f1b6a831c399e269772661",
	} {
		if shown, masked := mask.Key([]byte(key)); shown != key || masked {
			t.Errorf("Key(%q) = %q, %v, want the key itself", key, shown, masked)
		}
	}
}

func TestMaskWithoutPatternsOfItsOwn(t *testing.T) {
	t.Parallel()
	var none *Mask
	if shown, masked := none.Key([]byte("sess:SECRET")); shown != "sess:***" || !masked {
		t.Errorf("a nil Mask shows %q, %v", shown, masked)
	}
	if shown, masked := none.Key([]byte("invite:1")); shown != "invite:1" || masked {
		t.Errorf("a nil Mask shows %q, %v", shown, masked)
	}
}

func TestMaskOfEveryKey(t *testing.T) {
	t.Parallel()
	mask, err := NewMask([]string{"*"})
	if err != nil {
		t.Fatal(err)
	}
	if shown, masked := mask.Key([]byte("user:42")); shown != "***" || !masked {
		t.Errorf("Key = %q, %v, want *** alone", shown, masked)
	}
}

func TestMaskRefusesPatterns(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"", "a*b", "**"} {
		if _, err := NewMask([]string{pattern}); err == nil {
			t.Errorf("NewMask takes the pattern %q", pattern)
		}
	}
}

func TestMaskSeesTheSecretBehindTheCut(t *testing.T) {
	t.Parallel()
	var mask *Mask
	key := strings.Repeat("a", 70)
	if shown, masked := mask.KeyCut([]byte(key), 64); shown != key[:64]+"..." || masked {
		t.Errorf("KeyCut = %q, %v", shown, masked)
	}
	if shown, masked := mask.KeyCut([]byte(key+":sess:SECRET"), 64); shown != key[:64]+"..." || !masked {
		t.Errorf("KeyCut = %q, %v", shown, masked)
	}
}

// A prefix may name all that is shown of a key, and no more.
func TestMaskSaysHowFarAPrefixReaches(t *testing.T) {
	t.Parallel()
	mask, err := NewMask([]string{"invite:"})
	if err != nil {
		t.Fatal(err)
	}
	laravel := "shop:aB3" + strings.Repeat("xY7z", 9) + "q"
	for prefix, want := range map[string]bool{
		"": false, "ses": false, "sess:": false, "SESS:": false, "user:42": false, "shop:sess:": false, laravel[:20]: false,
		"sess:b": true, "shop:SESS:b": true, "token:sess:": true, "invite:a": true, laravel: true,
	} {
		if got := mask.Reaches([]byte(prefix), len(prefix)); got != want {
			t.Errorf("Reaches(%q) = %v, want %v", prefix, got, want)
		}
	}
	if mask.Reaches([]byte(laravel), 5) || !mask.Reaches([]byte(laravel), 6) {
		t.Error("the id of a Laravel session is not masked from its first byte on")
	}
	for key, want := range map[string]string{"sess:b3": "sess:", "user:42": "user:42", laravel: "shop:"} {
		if got := string(mask.Visible([]byte(key))); got != want {
			t.Errorf("Visible(%q) = %q, want %q", key, got, want)
		}
	}
}
