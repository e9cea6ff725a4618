package idem

import (
	"fmt"
	"strings"

	"github.com/pgidem/pgidem/gen"
)

// completion is the record of the answer, also for lease mode.
func (r *keyRow) completion() (status string, arg gen.KeyCompleteParams) {
	status = statusCommitted
	if r.answer.Failed {
		status = statusFailed
	}
	arg = gen.KeyCompleteParams{
		Retention:      r.policy.Retention,
		ClaimID:        r.claimID,
		ResponseStatus: int32(r.answer.Status),
		Status:         status,
		ResponseHeader: encodeHeader(r.answer.Header),
		ProviderRef:    textOrNull(storable(r.answer.ProviderRef)),
		TenantID:       r.key.Tenant,
		Endpoint:       r.key.Endpoint,
		Key:            r.key.ID,
		Fence:          r.claimed.Fence,
	}
	if !r.dropsBody() {
		if arg.ResponseBody = r.answer.Body; arg.ResponseBody == nil {
			arg.ResponseBody = []byte{} // an empty body is kept, only a dropped one is NULL
		}
	}
	return status, arg
}

func (r *keyRow) dropsBody() bool {
	return r.answer.BodyDropped || len(r.answer.Body) > r.policy.MaxBody
}

// replay is the answer that was found.
func (r *keyRow) replay() *Response {
	found := r.loaded
	resp := &Response{
		Header:      decodeHeader(found.ResponseHeader),
		Body:        found.ResponseBody,
		Failed:      found.Status == statusFailed,
		Replayed:    true,
		BodyDropped: found.ResponseBody == nil,
	}
	if found.ResponseStatus != nil {
		resp.Status = int(*found.ResponseStatus)
	}
	if found.ProviderRef != nil {
		resp.ProviderRef = *found.ProviderRef
	}
	if found.CompletedAt != nil {
		resp.CompletedAt = *found.CompletedAt
	}
	return resp
}

// recorded is the answer as its first caller gets it, once it stands.
func (r *keyRow) recorded() *Response {
	if r.answer == nil { // SQL recorded it, and it was read back
		resp := r.replay()
		resp.Replayed = false
		return resp
	}
	resp := *r.answer
	resp.Replayed = false
	resp.BodyDropped = r.dropsBody()
	if r.loaded != nil && r.loaded.CompletedAt != nil {
		resp.CompletedAt = *r.loaded.CompletedAt
	}
	return &resp
}

// checkAnswer refuses what cannot be recorded, before it is too late.
func checkAnswer(r *Response) error {
	if r.Status < 0 || r.Status > 999 {
		return fmt.Errorf("the answer's status %d is not between 0 and 999", r.Status)
	}
	return nil
}

// storable is s as the database keeps it: what is no text becomes U+FFFD, for a record must never fail after its effect.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
