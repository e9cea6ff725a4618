package idemhttp

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTransportRefusesAnOldKeyBeforeAnythingIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for _, c := range []struct {
			key      string
			mintedAt time.Time // none: the context does not tell
			most     time.Duration
			refused  bool
		}{
			{key: newKeyAt(now.Add(-23*time.Hour - time.Millisecond)), refused: true},
			{key: newKeyAt(now.Add(-23 * time.Hour))},
			{key: newKeyAt(now.Add(-90 * time.Hour)), refused: true},
			{key: newKeyAt(now.Add(-71 * time.Hour)), most: 71 * time.Hour},
			{key: newKeyAt(now.Add(-72 * time.Hour)), most: 71 * time.Hour, refused: true},
			{key: `"` + newKeyAt(now.Add(-24*time.Hour)) + `"`, refused: true},
			{key: strings.ToUpper(newKeyAt(now.Add(-24 * time.Hour))), refused: true},
			{key: newKeyAt(now.Add(time.Hour))}, // made by a machine whose clock is ahead
			{key: transportK1},                  // of no age
			{key: "order-17", mintedAt: now.Add(-23*time.Hour - 1), refused: true},
			{key: transportK1, mintedAt: now.Add(-23*time.Hour - 1), refused: true},
			{key: "order-17", mintedAt: now.Add(-23 * time.Hour)},
			{key: "order-17", mintedAt: time.Unix(0, 0), refused: true},
			// What a key says of itself counts: the context may be that of several requests.
			{key: newKeyAt(now), mintedAt: now.Add(-48 * time.Hour)},
			{key: newKeyAt(now.Add(-48 * time.Hour)), mintedAt: now, refused: true},
			{key: "", mintedAt: now.Add(-48 * time.Hour)}, // made by Transport
		} {
			ctx := t.Context()
			if !c.mintedAt.IsZero() {
				ctx = WithMintedAt(ctx, c.mintedAt)
			}
			body := &transportBody{Reader: strings.NewReader("$49")}
			r := transportRequest(ctx, "")
			r.Body = body // not read beforehand, since there is a GetBody
			if c.key != "" {
				r.Header.Set(HeaderKey, c.key)
			}
			tr := &Transport{MaxAge: c.most}
			if c.refused {
				tr.Base = newTransportScript(t)
			} else {
				tr.Base = newTransportScript(t, transportAnswer(201))
			}
			resp, err := tr.RoundTrip(r)
			if !c.refused {
				wantTransportStatus(t, resp, err, 201)
				continue
			}
			if failed := wantTransportError(t, resp, err, 0, ErrKeyTooOld); failed.Key != c.key || !strings.Contains(err.Error(), "fresh key") {
				t.Errorf("%s: got %v for key %q", c.key, err, failed.Key)
			}
			body.wantClosed(t)
		}
	})
}

// A time that nobody filled in is no permission.
func TestTransportRefusesAKeyMadeAtNoTime(t *testing.T) {
	r := transportRequest(WithMintedAt(t.Context(), time.Time{}), "$49")
	r.Header.Set(HeaderKey, "order-17")
	resp, err := (&Transport{Base: newTransportScript(t)}).RoundTrip(r)
	wantTransportError(t, resp, err, 0, ErrKeyTooOld)
}

func TestTransportLooksAtTheAgeBeforeEveryTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, request := range map[string]func(context.Context) (context.Context, string){
			"UUIDv7": func(ctx context.Context) (context.Context, string) { return ctx, newKeyAt(time.Now().Add(-time.Hour)) },
			"WithMintedAt": func(ctx context.Context) (context.Context, string) {
				return WithMintedAt(ctx, time.Now().Add(-time.Hour)), "a"
			},
		} {
			ctx, key := request(t.Context())
			r := transportRequest(ctx, "$49")
			r.Header.Set(HeaderKey, key)
			later := transportAnswer(503, "Retry-After", "20")
			script := newTransportScript(t, later, later, later)
			resp, err := (&Transport{Base: script, MaxAge: time.Hour + 50*time.Second}).RoundTrip(r)
			t.Log(name, err)
			wantTransportError(t, resp, err, 3, ErrKeyTooOld)
		}
	})
}
