package redis

import (
	"errors"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// unprivileged returns whom redis-server runs as: nil, the caller itself, unless that is root.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

// give makes the directory and what is in it the account's.
func give(who *syscall.Credential, paths ...string) error {
	if who == nil {
		return nil
	}
	var errs []error
	for _, path := range paths {
		errs = append(errs, os.Chown(path, int(who.Uid), int(who.Gid)))
	}
	return errors.Join(errs...)
}
