package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// provider delivers events, and goes by the status of the answer alone: after a 2xx an event is delivered, and never comes again.
type provider struct{ client *http.Client }

func newProvider() provider {
	return provider{&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atOnce}}}
}

func (p provider) close() { p.client.CloseIdleConnections() }

const noAnswer = 0 // the status of a delivery whose connection broke

// deliver delivers e once. A 500 is an error: no receiver here means to answer it.
func (p provider) deliver(ctx context.Context, url string, e Event) (status int, err error) {
	body, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return noAnswer, context.Cause(ctx)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return noAnswer, context.Cause(ctx)
	case response.StatusCode >= http.StatusInternalServerError:
		return response.StatusCode, fmt.Errorf("the receiver fails: %s: %s", response.Status, bytes.TrimSpace(text))
	}
	return response.StatusCode, nil
}

func isDelivered(status int) bool { return status >= 200 && status < 300 }

// How often and how long after each other an event is delivered until the provider gives it up: it stands for days.
const (
	mostDeliveries = 200
	redelivery     = 10 * time.Millisecond
)

// insist delivers e until it is answered 2xx, and returns how often that was.
func (p provider) insist(ctx context.Context, url string, e Event) (deliveries int, err error) {
	for deliveries = 1; ; deliveries++ {
		status, err := p.deliver(ctx, url, e)
		switch {
		case err != nil || isDelivered(status):
			return deliveries, err
		case deliveries == mostDeliveries:
			return deliveries, fmt.Errorf("an event was delivered %d times, and the last answer is %d", deliveries, status)
		}
		select {
		case <-time.After(redelivery):
		case <-ctx.Done():
			return deliveries, context.Cause(ctx)
		}
	}
}

// together delivers e to each of the urls at the same instant, and returns the statuses of the answers.
func (p provider) together(ctx context.Context, urls []string, e Event) ([]int, error) {
	statuses := make([]int, len(urls))
	release := make(chan struct{})
	all := newGroup(ctx)
	var ready sync.WaitGroup
	for i, url := range urls {
		ready.Add(1)
		all.run(func(ctx context.Context) (err error) {
			ready.Done()
			<-release
			statuses[i], err = p.deliver(ctx, url, e)
			return err
		})
	}
	ready.Wait()
	close(release)
	return statuses, all.wait()
}
