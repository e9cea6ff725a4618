package faults_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/pgidem/pgidem/internal/pgproxy"
)

// way is how one process gets to the server.
type way struct {
	url      string
	toxic    *toxiproxy.Proxy // nil where it does not lead through Toxiproxy
	messages *pgproxy.Proxy   // nil where it does not lead through pgproxy
	losing   *atomic.Bool     // whether messages loses every tenth COMMIT
	commits  *atomic.Int64    // that came while it did
}

// route makes a way to the server at a URL.
type route func(t *testing.T, target string) way

func direct(_ *testing.T, target string) way { return way{url: target} }

func throughToxiproxy(t *testing.T, target string) way {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()) // it listens nowhere
	proxy := toxiproxy.NewProxy(api, t.Name(), "127.0.0.1:0", u.Host)
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	u.Host = proxy.Listen
	return way{url: u.String(), toxic: proxy}
}

func throughMessages(t *testing.T, target string) way {
	t.Helper()
	w := way{losing: new(atomic.Bool), commits: new(atomic.Int64)}
	w.messages = &pgproxy.Proxy{OnCommit: func() pgproxy.Fault {
		if !w.losing.Load() {
			return pgproxy.Pass
		}
		n := w.commits.Add(1)
		if n%10 != 0 {
			return pgproxy.Pass
		}
		return []pgproxy.Fault{pgproxy.CutBefore, pgproxy.DropAnswer}[n/10%2]
	}}
	w.url = pgproxy.Start(t, w.messages, target)
	return w
}

// poison adds a toxic of Toxiproxy's in both directions, or in that of the answers alone.
func (w way) poison(t *testing.T, kind string, attributes string, streams ...string) (cure func()) {
	t.Helper()
	for _, stream := range streams {
		toxic := fmt.Sprintf(`{"name": %q, "type": %q, "stream": %q, "attributes": {%s}}`, stream, kind, stream, attributes)
		if _, err := w.toxic.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for _, stream := range streams {
			if err := w.toxic.Toxics.RemoveToxic(context.Background(), stream); err != nil {
				t.Error(err)
			}
		}
	}
}
