package idemtest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// answer is what a client got for one request.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error // no answer, or half of one
}

func read(resp *http.Response) answer {
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	a.body, a.err = io.ReadAll(resp.Body)
	return a
}

// kind is what an answer means to a client.
type kind int

const (
	stray  kind = iota // none of these
	first              // the work was done for this request
	replay             // it was done before, and this was its answer
	notYet             // come back with the same key
)

// kindOf tells by status, 0 standing for any of 2xx, whether an answer is a first one.
func (a answer) kindOf(status int) kind {
	switch {
	case a.err != nil:
		return stray
	case strings.EqualFold(a.header.Get(idemhttp.HeaderReplayed), "true"):
		return replay
	case a.isBusy() && a.header.Get("Retry-After") != "":
		return notYet
	case a.status == status, status == 0 && a.status >= 200 && a.status < 300:
		return first
	}
	return stray
}

// isBusy reports a status that may mean "not yet"; Retry-After makes it so.
func (a answer) isBusy() bool {
	return a.err == nil && (a.status == http.StatusConflict || a.status == http.StatusServiceUnavailable)
}

// equals compares what a client acts upon: the status, the body, what it is and where it leads.
func (a answer) equals(b answer) bool {
	return a.status == b.status && bytes.Equal(a.body, b.body) &&
		a.header.Get("Content-Type") == b.header.Get("Content-Type") && a.header.Get("Location") == b.header.Get("Location")
}

// String is short enough for a sentence.
func (a answer) String() string {
	if a.err != nil {
		return fmt.Sprintf("nothing (%v)", a.err)
	}
	text := fmt.Sprint(a.status)
	if location := a.header.Get("Location"); location != "" {
		text += " to " + location
	}
	if body := strings.Join(strings.Fields(string(a.body)), " "); body != "" {
		if len(body) > 100 {
			body = strings.ToValidUTF8(body[:100], "") + "…"
		}
		text += " " + body
	}
	return text
}
