package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/golang-migrate/migrate/v4/source/iofs"

	"github.com/pgidem/pgidem/sql/schema"
)

// A file is one migration of this build.
type file struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	up      string
}

func (f file) path() string { return fmt.Sprintf("%06d_%s.up.sql", f.Version, f.Name) }

// files are in the order in which they are applied.
type files []file

// embedded reads the migrations of this build, as golang-migrate sees them.
func embedded() (files, error) {
	driver, err := iofs.New(schema.FS, ".")
	if err != nil {
		return nil, err
	}
	defer driver.Close()
	var all files
	version, err := driver.First()
	for ; err == nil; version, err = driver.Next(version) {
		up, name, err := driver.ReadUp(version)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(up)
		up.Close()
		if err != nil {
			return nil, err
		}
		all = append(all, file{int(version), name, string(text)})
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return all, nil
}

func (f files) newest() int { return f[len(f)-1].Version }

// after are the files that a database at version lacks.
func (f files) after(version int) files {
	for i, one := range f {
		if one.Version > version {
			return f[i:]
		}
	}
	return nil
}

// upTo are the files that a database at version has.
func (f files) upTo(version int) files { return f[:len(f)-len(f.after(version))] }
