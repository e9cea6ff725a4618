package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pgidem/pgidem/gen"
)

// answer is what an operator, or a command of his, has found out: what every retry of the key gets.
type answer struct {
	status      int
	header      http.Header
	body        []byte
	failed      bool
	providerRef string
}

// mostBody is the size up to which a body is kept, as Policy.MaxBody has it.
const mostBody = 1 << 20

// perMessage are the fields that a replay makes anew: framing, hop by hop (RFC 9110 section 7.6.1), and our own mark.
var perMessage = []string{
	"Connection", "Content-Length", "Date", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te",
	"Trailer", "Transfer-Encoding", "Upgrade", "Idempotent-Replayed",
}

// check says why the answer could not be replayed as it is.
func (a *answer) check() error {
	if a.status != 0 && (a.status < 100 || a.status > 999) {
		return fmt.Errorf("the status must be 100 to 999, or 0 where the answer has none, and is %d", a.status)
	}
	for name, values := range a.header {
		switch {
		case !isToken(name), strings.ContainsAny(strings.Join(values, ""), "\r\n\x00"):
			return fmt.Errorf("%q is no header field", name+": "+strings.Join(values, ", "))
		case slices.Contains(perMessage, http.CanonicalHeaderKey(name)):
			return fmt.Errorf("the header field %s belongs to one message and is not part of the answer", name)
		}
	}
	return nil
}

// isToken reports whether name is an RFC 9110 token, the only form of a field name.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

// headerBlock is the header as it is stored: lines in the order of their names.
func (a *answer) headerBlock() []byte {
	block := []byte{}
	for _, name := range slices.Sorted(maps.Keys(a.header)) {
		for _, value := range a.header[name] {
			block = fmt.Appendf(block, "%s: %s\r\n", http.CanonicalHeaderKey(name), strings.Trim(value, " \t")) // as the wire has it
		}
	}
	return block
}

// record finishes the key of o as it was seen. A body that is too large is not kept, and a retry is told so. 0: the key has moved on.
func (a *answer) record(ctx context.Context, db gen.DBTX, o *operation, seen gen.KeyLookupRow, retention time.Duration) (int64, error) {
	claim := pgtype.UUID{Valid: true} // anew: the holder that was given up is not to take the answer for its own
	_, _ = rand.Read(claim.Bytes[:])  // never fails
	status, body := "committed", append([]byte{}, a.body...)
	if a.failed {
		status = "failed"
	}
	if len(body) > mostBody {
		body = nil
	}
	return gen.New().OperatorSettle(ctx, db, gen.OperatorSettleParams{
		Retention: retention, ClaimID: claim, ResponseStatus: int32(a.status), Status: status,
		ResponseHeader: a.headerBlock(), ResponseBody: body, ProviderRef: textOrNull(storable(a.providerRef)),
		TenantID: o.tenant, Endpoint: o.endpoint, Key: o.key, SeenFence: seen.Fence, SeenClaimID: seen.ClaimID,
		Who: o.who, Reason: o.reason,
	})
}

// storable is text as the database keeps it.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
