package timeout

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// proxySeconds is how many of the article's seconds the proxy waits for an answer: longer than the clients.
const proxySeconds = 20

// proxy stands before a site and answers 504 for what takes too long.
type proxy struct {
	url    string
	server *http.Server
	to     *http.Transport
	cut    atomic.Int64 // requests that were answered 504
}

func front(s *site, patience time.Duration) (*proxy, error) {
	target, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	p := &proxy{to: &http.Transport{ResponseHeaderTimeout: patience}}
	p.server = &http.Server{Handler: &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: p.to,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, _ error) {
			if r.Context().Err() == nil { // else the client has given up
				p.cut.Add(1)
			}
			w.WriteHeader(http.StatusGatewayTimeout)
		},
	}}
	p.url, err = listen(p.server)
	return p, err
}

func (p *proxy) close() {
	_ = p.server.Close()
	p.to.CloseIdleConnections()
}
