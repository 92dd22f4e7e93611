package embedded

import (
	"fmt"
	"runtime"
)

// DefaultRepository is Maven Central.
const DefaultRepository = "https://repo1.maven.org/maven2"

// pin is one archive of io.zonky.test.postgres:embedded-postgres-binaries-*
// (https://github.com/zonkyio/embedded-postgres-binaries). A binary is run
// only if its archive has this hash.
type pin struct {
	major    int
	platform string // GOOS/GOARCH
	artifact string // what follows embedded-postgres-binaries-
	version  string
	sha256   string
}

// pins holds what the repository also lists with a checksum of its own and a
// signature. Linux on arm64 stays on 18.4 because its 18.6 has neither. macOS
// on arm64 takes the amd64 archive of 18.6 for that reason: its programs are
// universal, and it is the same payload.
var pins = []pin{
	{18, "linux/amd64", "linux-amd64", "18.6.0", "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1"},
	{18, "linux/arm64", "linux-arm64v8", "18.4.0", "a9ec284923b9a7d2db41509bfb88c3d0eeb9f4aa5e2b29ea0aac5e8dbaf4c335"},
	{18, "darwin/amd64", "darwin-amd64", "18.6.0", "690941008aac9ee360820fde9bb7870a4f3dcac5e9e2f9e45e42333a436ad0f9"},
	{18, "darwin/arm64", "darwin-amd64", "18.6.0", "690941008aac9ee360820fde9bb7870a4f3dcac5e9e2f9e45e42333a436ad0f9"},
	{17, "linux/amd64", "linux-amd64", "17.11.0", "0dd7b72b6f335b8ecfb355fa24c5781e8a93edd09880bb77eb52ebbf29b3e96d"},
	{17, "linux/arm64", "linux-arm64v8", "17.11.0", "8b042e0ea418b1927d95399207950da0734d27fe01e29503ade3bdc464ad4c2b"},
	{17, "darwin/amd64", "darwin-amd64", "17.11.0", "d464ff178e9860ba204662ac23fa547504b7fd392392ff2fb92e3fd73b5bdb64"},
	{17, "darwin/arm64", "darwin-arm64v8", "17.11.0", "a1c2786acb0c398f9b2d76806fc52f5dc8b222cbc8e9383a9b9702084daaf3a5"},
	{16, "linux/amd64", "linux-amd64", "16.15.0", "653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2"},
	{16, "linux/arm64", "linux-arm64v8", "16.15.0", "f846a9989d686b7977d6eca9bc9d8b2b69e3f70c7eb60e032197d9c574a6136c"},
	{16, "darwin/amd64", "darwin-amd64", "16.15.0", "1229188b99515d2160d5cb6222bc96d9c5f3a248268df3bc2dfe0047e6c233d8"},
	{16, "darwin/arm64", "darwin-arm64v8", "16.15.0", "65b953905f0a4d46030767a6b44a52360170d69a7985f1b02aa435f2f6256a83"},
	{15, "linux/amd64", "linux-amd64", "15.19.0", "95f0b66fe72d4ca66c815773c44cb1196ea38552463e89a35f18114b3ed1565f"},
	{15, "linux/arm64", "linux-arm64v8", "15.19.0", "95baf4bd4af31b91b3050118df59388ed0064756b556b850669e0300aa7b9911"},
	{15, "darwin/amd64", "darwin-amd64", "15.19.0", "11d0a55e26f4c74c6ea6c72c5e4e6ac959b29a06cc6da5e5ac8162f9fd9f8055"},
	{15, "darwin/arm64", "darwin-arm64v8", "15.19.0", "9bfc44d3f50298bb14fa125da4b67a36f382f8134ab2fc95349b72bcd5ec4e87"},
	{14, "linux/amd64", "linux-amd64", "14.24.0", "2722d05eb22c671104c9918d59d8ba9f5656898f5452a0207bb4cce21eef5dc4"},
}

// pinned finds the archive for this machine; major 0 is the newest.
func pinned(major int) (pin, error) {
	if major == 0 {
		major = NewestMajor
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	for _, p := range pins {
		if p.major == major && p.platform == platform {
			return p, nil
		}
	}
	return pin{}, fmt.Errorf("there is no PostgreSQL %d to download for %s", major, platform)
}
