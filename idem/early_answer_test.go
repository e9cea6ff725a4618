package idem_test

import (
	"context"
	"testing"

	"github.com/pgidem/pgidem/idem"
)

// Work that completes early and goes on, as one that streams does, keeps nobody from the answer.
func TestAnswerThatIsRecordedEarlyIsHadAtOnce(t *testing.T) {
	b := setup(t)
	store := b.newStore(idem.Policy{})
	recorded, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := store.Hold(b.ctx, b.key("k"), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			err := l.Complete(ctx, created())
			close(recorded)
			<-goOn
			return nil, err
		})
		ended <- err
	}()
	<-recorded
	for range 2 {
		resp, err := store.Hold(b.ctx, b.key("k"), holdMustNotRun(t))
		if err != nil || !resp.Replayed || string(resp.Body) != string(created().Body) {
			t.Errorf("%+v, %v", resp, err)
		}
	}
	close(goOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
