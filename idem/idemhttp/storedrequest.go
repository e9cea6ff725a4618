package idemhttp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
)

// headerPattern carries the route's pattern in a stored request.
const headerPattern = "Pgidem-Pattern"

// secrets are not stored with a request: who may send it has been decided, and the table is no place for credentials.
var secrets = map[string]bool{
	"Authorization": true, "Proxy-Authorization": true, "Cookie": true,
	// of this connection, or made anew
	"Connection": true, "Content-Length": true, "Expect": true, "Transfer-Encoding": true, "Trailer": true, "Upgrade": true,
	headerPattern: true,
}

// storedRequest is the request as it goes into idem.keys: as on the wire (HTTP/1.1), whole, but without credentials
// (Authorization, Cookie) and with the pattern that its route had.
func (in *request) storedRequest() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", in.Method, in.URL.RequestURI(), in.Host)
	_ = in.Header.WriteSubset(&b, secrets) // a buffer takes everything
	fmt.Fprintf(&b, "%s: %s\r\nContent-Length: %d\r\n\r\n", headerPattern, in.Pattern, len(in.body))
	b.Write(in.body)
	return b.String()
}

// readStored reads what storedRequest wrote.
func readStored(stored []byte) (r *http.Request, pattern string, err error) {
	if len(stored) == 0 {
		return nil, "", errors.New("there is none: Policy.Handler was not set when the key was claimed")
	}
	r, err = http.ReadRequest(bufio.NewReader(bytes.NewReader(stored)))
	if err != nil {
		return nil, "", err
	}
	pattern = r.Header.Get(headerPattern)
	r.Header.Del(headerPattern)
	return r, pattern, nil
}
