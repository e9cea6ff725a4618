package main

import (
	"errors"
	"fmt"
	"strings"
)

// trouble is why no migration may start from this state, with the cure; nil where one may.
func (s state) trouble(known files) error {
	switch newest := known.newest(); {
	case s.Current == "":
		return errors.New("search_path names no schema that exists, so there is no place for " + versionTable +
			": point it at one, for instance PGOPTIONS='-c search_path=public'")
	case s.dirty:
		return s.dirtyVersion(known)
	case s.recorded > newest || s.actual > newest:
		return fmt.Errorf("schema idem has version %d, newer than this idem knows (%d): nothing was changed. "+
			"Use the idem that brought it, or a newer one: its idem --version says schema %[1]d or more", max(s.recorded, s.actual), newest)
	case s.recorded == 0 && s.HasSchema:
		return s.lostRecord()
	case s.recorded > 0 && !s.HasSchema:
		return fmt.Errorf("%s says version %d, but there is no schema idem: it was dropped by hand. Nothing was changed. "+
			"If it is not to be restored, record that there is none, with\n%s\nand run idem migrate up", s.table(), s.recorded, s.cure(0))
	case s.recorded != s.actual:
		return fmt.Errorf("%s says version %d, but the schema itself (idem.schema_version()) says %d: a file was applied or taken "+
			"back without being recorded. Nothing was changed. Look which is right; if the schema is, record it with\n%s",
			s.table(), s.recorded, s.actual, s.cure(s.actual))
	}
	return nil
}

// dirtyVersion explains a dirty version. The schema itself knows how far it came, because each file is one transaction and
// replaces idem.schema_version().
func (s state) dirtyVersion(known files) error {
	var found string
	switch {
	case s.HasSchema && !s.HasVersion:
		return fmt.Errorf("version %d is dirty: a migration began and its end was not recorded. There is a schema idem without "+
			"idem.schema_version(), which no migration leaves behind: look whose it is. Nothing was changed", s.recorded)
	case !s.HasSchema:
		found = "there is no schema idem"
	case s.actual == s.recorded:
		found = fmt.Sprintf("the schema is at version %d: the migration was carried out, only its record is missing", s.actual)
	default:
		found = fmt.Sprintf("the schema is still at version %d: the migration left nothing behind", s.actual)
	}
	if s.actual > known.newest() {
		found += " (which this idem does not know)"
	}
	truth := fmt.Sprintf("version %d", s.actual)
	if s.actual == 0 {
		truth = "that there is no version"
	}
	return fmt.Errorf("version %d is dirty: a migration began and its end was not recorded. No further one starts, and idem forces "+
		"no version. Each file is one transaction, and %s. Have a look, remove what made it fail, record %s with\n%s\n"+
		"and run idem migrate again", s.recorded, found, truth, s.cure(s.actual))
}

// lostRecord explains a schema without a version.
func (s state) lostRecord() error {
	found := fmt.Sprintf("schema idem is there, but its version is not recorded: schema %q, to which search_path leads, ", s.Current)
	switch {
	case s.hasRecord():
		found += "holds an empty " + versionTable
	default:
		found += "holds no " + versionTable
	}
	var cures []string
	for _, schema := range s.Records {
		if schema != s.Current {
			cures = append(cures, fmt.Sprintf("schema %q holds one: if it is the right one, point search_path there, "+
				"PGOPTIONS='-c search_path=%s' or ALTER ROLE %s SET search_path = %[2]s", schema, quoted(schema), quoted(s.Role)))
		}
	}
	switch {
	case s.HasVersion:
		cures = append(cures, fmt.Sprintf("if there is none elsewhere, record what the schema itself says (idem.schema_version()), "+
			"version %d, with\n%s", s.actual, s.cure(s.actual)))
	case len(cures) == 0:
		cures = append(cures, "the schema has no idem.schema_version(), so no migration made it: rename or drop it if it is not in use")
	}
	return fmt.Errorf("%s. Nothing was changed.\n- %s", found, strings.Join(cures, "\n- "))
}

// unable is why this session cannot apply a migration, where the server would only say so after the version is dirty.
func (s state) unable() error {
	switch {
	case s.Standby:
		return errors.New("this server is a standby and takes no writes: connect to the primary (target_session_attrs=read-write)")
	case !s.HasSchema && !s.MayCreate:
		return fmt.Errorf("role %q may not create schema idem: GRANT CREATE ON DATABASE %s TO %s", s.Role, quoted(s.Database), quoted(s.Role))
	}
	return nil
}
