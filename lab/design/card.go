package design

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/processor"
)

// Card charges at a card processor that is a process of its own. With an At it is for one payment at a time.
type Card struct {
	client processor.Client
	at     At
}

// NewCard charges at the processor of a URL. at is told when a charge has been Sent.
func NewCard(url string, at At) *Card {
	c := &Card{at: at}
	c.client = processor.Client{URL: url, HTTP: &http.Client{Transport: &http.Transport{DialContext: c.dial}}}
	return c
}

// step is what the product knows the charge by.
const step = "charge"

// charge takes the money for p under key, and returns the charge's id.
func (c *Card) charge(ctx context.Context, key string, p Payment) (int64, error) {
	receipt, err := c.client.Charge(ctx, key, processor.Request{
		AmountCents: int64(p.AmountCents), Card: "4242424242424242", Reference: p.Key,
	})
	if err != nil {
		return 0, err
	}
	return idOf(receipt)
}

// Resolve asks the processor what became of a payment: an idem.Resolver.
func (c *Card) Resolve(ctx context.Context, r *idem.Record) (idem.Verdict, *idem.Response, error) {
	receipt, err := c.client.FindCharge(ctx, r.DownstreamKey(step))
	switch {
	case errors.Is(err, processor.ErrNothing):
		return idem.Nothing, nil, nil
	case errors.Is(err, processor.ErrPending):
		return idem.Pending, nil, nil
	case err != nil:
		return idem.Pending, nil, err
	}
	id, err := idOf(receipt)
	return idem.Found, created(id), err
}

// idOf is the number of a charge, ch_1.
func idOf(r *processor.Receipt) (int64, error) {
	id, err := strconv.ParseInt(strings.TrimPrefix(r.ID, "ch_"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the processor names its charge %q", r.ID)
	}
	return id, nil
}

// dial makes a connection that says when a request is on its way: once it is written, it arrives, whatever becomes of its sender.
func (c *Card) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return sending{conn, c.at}, nil
}

type sending struct {
	net.Conn
	at At
}

func (s sending) Write(text []byte) (int, error) {
	n, err := s.Conn.Write(text)
	if err == nil {
		s.at.passes(Sent)
	}
	return n, err
}
