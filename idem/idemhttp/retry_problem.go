package idemhttp

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
)

// peekLimit is how much of an answer is looked at. A problem document of ours has a few hundred bytes.
const peekLimit = 16 << 10

// peekProblemType is the type of the problem document that resp holds, "" where it holds none. resp.Body yields the whole body
// afterwards, with the error that ended the look, if one did.
func peekProblemType(resp *http.Response) string {
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media != "application/problem+json" || resp.Body == nil {
		return ""
	}
	seen, err := io.ReadAll(io.LimitReader(resp.Body, peekLimit))
	resp.Body = &peekedBody{Reader: io.MultiReader(bytes.NewReader(seen), &failingReader{resp.Body, err}), Closer: resp.Body}
	var p Problem
	if json.Unmarshal(seen, &p) != nil {
		return ""
	}
	return p.Type
}

type peekedBody struct {
	io.Reader
	io.Closer
}

// failingReader repeats an error that was met before; without one it reads on.
type failingReader struct {
	io.Reader
	err error
}

func (r *failingReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	return r.Reader.Read(p)
}
