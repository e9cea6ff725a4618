package devpg

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// archive writes an npm archive; names that end in "*" are executable.
func archive(t *testing.T, path string, files map[string]string) {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	entries := tar.NewWriter(zipped)
	for name, content := range files {
		entry := tar.Header{Name: strings.TrimSuffix(name, "*"), Mode: 0o600, Size: int64(len(content)), Typeflag: tar.TypeReg}
		if strings.HasSuffix(name, "*") {
			entry.Mode = 0o700
		}
		if err := entries.WriteHeader(&entry); err != nil {
			t.Error(err)
		}
		if _, err := entries.Write([]byte(content)); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(entries.Close(), zipped.Close(), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
		t.Error(err)
	}
}

const pretended = "#!/bin/sh\necho 'postgres (PostgreSQL) 16.14'\n"

// npm pretends to be npm: several versions of 16, with a library and its link.
func npm(t *testing.T, calls *[]string) func(*exec.Cmd) error {
	var mu sync.Mutex
	return func(cmd *exec.Cmd) error {
		mu.Lock()
		defer mu.Unlock()
		*calls = append(*calls, strings.Join(cmd.Args[1:], " "))
		switch cmd.Args[1] {
		case "view":
			_, err := cmd.Stdout.Write([]byte(`["15.0.0-beta.9","16.14.0-beta.9","16.14.0-beta.17","16.9.0-beta.18","17.1.0-beta.1"]`))
			return err
		case "pack":
			archive(t, filepath.Join(cmd.Dir, "embedded-postgres.tgz"), map[string]string{
				"package/native/bin/postgres*":    pretended,
				"package/native/bin/initdb*":      pretended,
				"package/native/lib/libx.so.1.2":  "library",
				"package/native/pg-symlinks.json": `[{"source":"native/lib/libx.so.1.2","target":"native/lib/libx.so.1"}]`,
			})
		}
		return nil
	}
}

func TestChosenVersionIsDownloadedOnce(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	f := hidden(t)
	f.Major = 16
	f.Cache = filepath.Join(f.Cache, "new")
	f.LookPath = onPath("/usr/bin/npm")
	var calls []string
	f.Run = npm(t, &calls)
	b, err := f.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(f.Cache, "postgres-16.14.0-beta.17")
	if want := filepath.Join(place, "native/bin"); b.Dir != want || b.Major != 16 {
		t.Errorf("found %+v, want %s", b, want)
	}
	if len(calls) != 2 || !strings.HasSuffix(calls[1], "@16.14.0-beta.17") || !strings.Contains(calls[1], "@embedded-postgres/linux-") {
		t.Errorf("npm ran %q", calls)
	}
	if content, err := os.ReadFile(filepath.Join(place, "native/lib/libx.so.1")); string(content) != "library" {
		t.Errorf("the link leads to %q (%v)", content, err)
	}
	for path, want := range map[string]os.FileMode{f.Cache: 0o755, place: 0o755, filepath.Join(place, "native/bin/postgres"): 0o755, filepath.Join(place, "native/lib/libx.so.1.2"): 0o644} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v (%v), want %v: another account must get in", path, info.Mode(), err, want)
		}
	}
	if env := strings.Join(b.environ(), "\n"); !strings.Contains(env, "LD_LIBRARY_PATH="+filepath.Join(place, "native/lib")) {
		t.Error("the package's libraries are not on LD_LIBRARY_PATH")
	}
	if said := f.Progress.(*bytes.Buffer).String(); !strings.Contains(said, "downloading") {
		t.Errorf("it only says %q", said)
	}

	if again, err := f.Find(t.Context()); err != nil || again != b || len(calls) != 2 {
		t.Errorf("the second time: %+v, %v, npm ran %q", again, err, calls)
	}
	if names := left(t, f.Cache); len(names) != 1 {
		t.Errorf("the cache holds %q", names)
	}
}

func TestTwoDownloadsAtOnceBothSucceed(t *testing.T) {
	f := hidden(t)
	f.Major = 16
	f.LookPath = onPath("/usr/bin/npm")
	f.Progress = new(lockedBuffer)
	var calls []string
	run := npm(t, &calls)
	var both sync.WaitGroup
	both.Add(2)
	f.Run = func(cmd *exec.Cmd) error {
		err := run(cmd)
		if cmd.Args[1] == "pack" {
			both.Done()
			both.Wait() // each has seen an empty cache
		}
		return err
	}
	var finders sync.WaitGroup
	for range 2 {
		finders.Go(func() {
			if b, err := f.Find(t.Context()); err != nil || b.Major != 16 {
				t.Errorf("%+v, %v", b, err)
			}
		})
	}
	finders.Wait()
	if names := left(t, f.Cache); len(names) != 1 {
		t.Errorf("the cache holds %q", names)
	}
}

func TestDownloadSaysWhatItLacks(t *testing.T) {
	for major, want := range map[int]string{13: "only 14 to 18 can be downloaded", 16: "no npm to download it"} {
		f := hidden(t)
		f.Major = major
		if _, err := f.Find(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v, want %q", major, err, want)
		}
	}
	f := hidden(t)
	f.Major = 14
	f.LookPath = onPath("/usr/bin/npm")
	f.Run = func(cmd *exec.Cmd) error {
		cmd.Stderr.Write([]byte("npm error network\n"))
		return errors.New("exit status 1")
	}
	if _, err := f.Find(t.Context()); err == nil || !strings.Contains(err.Error(), "npm error network") {
		t.Errorf("npm fails: %v", err)
	}
}

func TestArchiveCannotWriteOutsideItsDirectory(t *testing.T) {
	for _, name := range []string{"../outside", "package/../../outside", "/outside"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.tgz")
		archive(t, path, map[string]string{name: "x"})
		inside := filepath.Join(dir, "inside")
		if err := os.Mkdir(inside, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unpack(path, inside); err == nil {
			t.Errorf("%s is unpacked", name)
		}
		if _, err := os.Stat(filepath.Join(dir, "outside")); err == nil {
			t.Errorf("%s lies outside", name)
		}
	}
}

// TestDownloadedServersRun downloads 200 MB, and hence only runs when
// PGIDEM_TEST_DOWNLOAD is set.
func TestDownloadedServersRun(t *testing.T) {
	if os.Getenv("PGIDEM_TEST_DOWNLOAD") == "" {
		t.Skip("PGIDEM_TEST_DOWNLOAD is not set")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("no npm")
	}
	cache := openTemp(t)
	for major := oldestDownload; major <= newestDownload; major++ {
		b, err := Finder{Major: major, LookPath: onPath(npm), Globs: []string{}, Cache: cache}.Find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		server := setup(t, Options{Bin: b.Dir})
		var version string
		if err := connect(t, server).QueryRow(t.Context(), "SHOW server_version").Scan(&version); err != nil {
			t.Fatal(err)
		}
		if server.Major() != major || !strings.HasPrefix(version, strconv.Itoa(major)+".") {
			t.Errorf("wanted %d, got %s", major, version)
		}
		if _, err := connect(t, server).Exec(t.Context(), "CREATE EXTENSION pgstattuple"); err != nil {
			t.Error(err)
		}
		t.Logf("PostgreSQL %s runs", version)
	}
}
