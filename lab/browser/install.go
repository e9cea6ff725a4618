package browser

import (
	"os/exec"

	"github.com/pgidem/pgidem/internal/debian"
)

// find returns the program of a package of Debian's, which is installed where that may be done.
func find(name, program string) (string, error) {
	return debian.Find(name, func() (string, bool) { return look(program) })
}

// findChromium takes Chrome too.
func findChromium() (string, error) {
	return debian.Find("chromium", func() (string, bool) {
		return look("chromium", "chromium-browser", "google-chrome-stable", "google-chrome",
			"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
	})
}

// look is the first of the programs that there is.
func look(programs ...string) (string, bool) {
	for _, p := range programs {
		if path, err := exec.LookPath(p); err == nil {
			return path, true
		}
	}
	return "", false
}
