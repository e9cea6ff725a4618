package processor

import (
	"encoding/json"
	"net/http"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Processor is the card processor, an http.Handler. Only Pool is required; the database must have been through Install.
//
// A handler returns when its call has landed and is answered, however long ago its caller has left: closing the server waits
// for what has arrived. Dropping a connection is a panic with http.ErrAbortHandler.
type Processor struct {
	Pool      *pgxpool.Pool
	Behaviour Behaviour // at the start; Become changes it

	once     sync.Once
	routes   http.ServeMux
	arrivals arrivals
	counters counters

	mu      sync.Mutex
	changed *Behaviour    // by Become
	held    chan struct{} // closed when Hold ends; nil while nothing is held
}

// ServeHTTP implements http.Handler.
func (p *Processor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.once.Do(p.route)
	p.routes.ServeHTTP(w, r)
}

func (p *Processor) route() {
	for path, k := range map[string]kind{"/v1/charges": charge, "/v1/refunds": refund} {
		p.routes.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { p.take(w, r, k) })
		p.routes.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { p.askKey(w, r, k) })
		p.routes.HandleFunc("GET "+path+"/{id}", func(w http.ResponseWriter, r *http.Request) { p.askID(w, r, k) })
	}
	p.routes.HandleFunc("GET /v1/behaviour", p.showBehaviour)
	p.routes.HandleFunc("PUT /v1/behaviour", p.changeBehaviour)
	p.routes.HandleFunc("GET /v1/stats", p.showStats)
	p.routes.HandleFunc("POST /v1/reset", p.reset)
}

// Become changes the behaviour for calls that arrive from now on; one without Hold lets those that are held land.
func (p *Processor) Become(b Behaviour) error {
	if err := b.Check(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = &b
	if !b.Hold && p.held != nil {
		close(p.held)
		p.held = nil
	}
	return nil
}

// Current is the behaviour now.
func (p *Processor) Current() Behaviour {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current()
}

func (p *Processor) current() Behaviour {
	if p.changed != nil {
		return *p.changed
	}
	return p.Behaviour
}

// hold returns when no behaviour has Hold.
func (p *Processor) hold() {
	p.mu.Lock()
	if !p.current().Hold {
		p.mu.Unlock()
		return
	}
	if p.held == nil {
		p.held = make(chan struct{})
	}
	held := p.held
	p.mu.Unlock()
	<-held
}

func (p *Processor) showBehaviour(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, p.Current())
}

func (p *Processor) changeBehaviour(w http.ResponseWriter, r *http.Request) {
	var b Behaviour
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&b)
	if err == nil {
		err = p.Become(b)
	}
	if err != nil {
		writeError(w, because(ErrBadRequest, "%v", err))
		return
	}
	writeJSON(w, http.StatusOK, b)
}

func (p *Processor) showStats(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("landed") == "true" {
		if err := p.arrivals.wait(r.Context()); err != nil {
			writeError(w, err)
			return
		}
	}
	stats, err := p.Stats(r.Context())
	if err != nil {
		writeError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, stats)
}

func (p *Processor) reset(w http.ResponseWriter, r *http.Request) {
	if err := p.Reset(r.Context()); err != nil {
		writeError(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
