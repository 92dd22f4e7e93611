//go:build unix

package embedded

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ulikunitz/xz"
)

// maxUnpacked bounds what an archive may grow to.
const maxUnpacked = 1 << 30

// unpack makes dir out of the .txz inside a jar. Everything is readable by
// all: PostgreSQL may run as another user than the one that unpacks.
func unpack(jar, dir string) error {
	z, err := zip.OpenReader(jar)
	if err != nil {
		return err
	}
	defer z.Close()
	var inner *zip.File
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, ".txz") {
			if inner != nil {
				return errors.New("it holds more than one .txz")
			}
			inner = f
		}
	}
	if inner == nil {
		return errors.New("it holds no .txz")
	}
	in, err := inner.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	plain, err := xz.NewReader(bufio.NewReaderSize(in, 1<<20))
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // whatever the umask is
		return err
	}
	return untar(plain, dir)
}

// untar works within os.Root, which no name and no link leads out of; names
// and links that try are refused by themselves first.
func untar(in io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	limited := &io.LimitedReader{R: in, N: maxUnpacked}
	archive := tar.NewReader(bufio.NewReaderSize(limited, 1<<20))
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = extract(root, h, archive)
		}
		if limited.N == 0 {
			return fmt.Errorf("it holds more than %d bytes", int64(maxUnpacked))
		}
		if err != nil {
			return err
		}
	}
}

func extract(root *os.Root, h *tar.Header, content io.Reader) error {
	name := path.Clean(h.Name)
	if !filepath.IsLocal(name) {
		return fmt.Errorf("it holds the path %q, which leads out of it", h.Name)
	}
	if name == "." {
		return nil
	}
	if err := makeDir(root, path.Dir(name)); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return makeDir(root, name)
	case tar.TypeReg:
		mode := os.FileMode(0o644)
		if h.Mode&0o100 != 0 {
			mode = 0o755
		}
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		if err == nil {
			err = f.Chmod(mode)
		}
		if err2 := f.Close(); err == nil {
			err = err2
		}
		return err
	case tar.TypeSymlink:
		if path.IsAbs(h.Linkname) || !filepath.IsLocal(path.Join(path.Dir(name), h.Linkname)) {
			return fmt.Errorf("it holds the link %q to %q, which leads out of it", h.Name, h.Linkname)
		}
		return root.Symlink(h.Linkname, name)
	default:
		return fmt.Errorf("it holds %q, which is neither a file, a directory nor a symbolic link", h.Name)
	}
}

func makeDir(root *os.Root, name string) error {
	if name == "." {
		return nil
	}
	if err := root.MkdirAll(name, 0o755); err != nil {
		return err
	}
	return root.Chmod(name, 0o755)
}
