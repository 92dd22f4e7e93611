package doctor

import (
	"fmt"

	"github.com/howdah/howdah/schema"
)

// grant is one privilege of a role that is not the owner.
type grant struct {
	Object    string // as in GRANT ... ON
	Grantee   string // quoted; PUBLIC
	Privilege string
	Grantable bool
}

// runtimeRole is a row of howdah.runtime_role.
type runtimeRole struct {
	Name                      string
	Exists, Superuser, Owning bool
}

func (r *reader) privileges() (err error) {
	db := r.db
	if !db.installed {
		return nil
	}
	if db.grants, err = rows[grant](r, "privileges in the schemas of Howdah", schema.Query("doctor_grants")); err != nil {
		return err
	}
	db.roles, err = rows[runtimeRole](r, "runtime roles", schema.Query("doctor_roles"))
	return err
}

func privilegeChecks() []check {
	return []check{
		{
			id: "runtime-role-superuser", severity: Warning, finds: "applications run as a superuser",
			why:     "Who breaks into the application owns the server: a superuser reads every database, and files of the machine.",
			repairs: "`ALTER ROLE ... NOSUPERUSER`",
			judge:   runtimeRoleSuperuser,
		},
		{
			id: "runtime-role-owner", severity: Info, finds: "applications run as the owner of the caches",
			why:     "The owner may drop and change tables. An application needs to read and write rows only.",
			repairs: "`CREATE ROLE`, then `howdah migrate --runtime-role`",
			judge:   runtimeRoleOwner,
		},
		{
			id: "runtime-role-gone", severity: Info, finds: "a runtime role that was dropped",
			why:     "A role that is later made under this name gets its privileges with the next upgrade.",
			repairs: "`DELETE FROM howdah.runtime_role`",
			judge:   runtimeRoleGone,
		},
		{
			id: "cache-grant-broad", severity: Warning, finds: "a role has more privileges in the schema howdah than a runtime role needs",
			why:     "Sessions and cached pages hold what people may not see. A trigger, or an object in the schema, runs code in the name of others.",
			repairs: "`REVOKE`",
			judge:   cacheGrantBroad,
		},
	}
}

func runtimeRoleSuperuser(db *database) (found []trouble) {
	for _, r := range db.roles {
		if r.Superuser {
			found = append(found, trouble{
				object: "role " + quote(r.Name), evidence: "it is a runtime role (howdah.runtime_role) and a superuser",
				repair: []string{fmt.Sprintf("ALTER ROLE %s NOSUPERUSER", quote(r.Name))},
				note:   "Needs another superuser. If people use this role as well, make one for the application: CREATE ROLE app LOGIN; then howdah migrate --runtime-role app.",
			})
		}
	}
	return found
}

func runtimeRoleOwner(db *database) (found []trouble) {
	for _, r := range db.roles {
		if r.Owning && !r.Superuser {
			found = append(found, trouble{
				object: "role " + quote(r.Name), evidence: "it is a runtime role, and may act as the owner of the schema howdah",
				note: "Make a role of its own for the application (CREATE ROLE app LOGIN), run howdah migrate --runtime-role app, and let the application connect as it.",
			})
		}
	}
	return found
}

func runtimeRoleGone(db *database) (found []trouble) {
	for _, r := range db.roles {
		if !r.Exists {
			found = append(found, trouble{
				object: "role " + quote(r.Name), evidence: "howdah.runtime_role lists it, and there is no such role",
				repair: []string{"DELETE FROM howdah.runtime_role WHERE role = " + literal(r.Name)},
			})
		}
	}
	return found
}

func cacheGrantBroad(db *database) (found []trouble) {
	for _, g := range db.grants {
		tr := trouble{
			object: g.Object, evidence: fmt.Sprintf("%s has %s on it", g.Grantee, g.Privilege),
			repair: []string{fmt.Sprintf("REVOKE %s ON %s FROM %s CASCADE", g.Privilege, g.Object, g.Grantee)},
			note:   "A runtime role needs what howdah.grant_runtime gives, and no more.",
		}
		switch {
		case g.Grantee == "PUBLIC", g.Privilege == "TRIGGER", g.Privilege == "REFERENCES", g.Privilege == "CREATE", g.Privilege == "MAINTAIN":
			found = append(found, tr)
		case g.Grantable:
			tr.evidence += " and may pass it on"
			tr.repair = []string{fmt.Sprintf("REVOKE GRANT OPTION FOR %s ON %s FROM %s CASCADE", g.Privilege, g.Object, g.Grantee)}
			found = append(found, tr)
		}
	}
	return found
}
