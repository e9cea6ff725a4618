package crash

// Result is what the crash test measured.
type Result struct {
	Keys         int     `json:"keys"`
	Kills        int     `json:"kills"`
	Workers      int     `json:"workers"`
	StaleSeconds float64 `json:"stale_seconds"`
	RetrySeconds float64 `json:"retry_seconds"`
	LeaseSeconds float64 `json:"lease_seconds"`
	Rows         []Row   `json:"rows"` // a design each
}

// Row is what one design made of the crashes. The charges are counted in the tables, the answers as they came.
type Row struct {
	Design  string   `json:"design"`
	Ours    bool     `json:"ours"`
	Once    bool     `json:"promises_one_charge"`   // else every kill must have charged again, or nothing was shown
	Article *Article `json:"article_003,omitempty"` // nil: the article has no such row
	Skipped string   `json:"skipped,omitempty"`     // why there are no figures

	Kills      int     `json:"kills"` // workers that died of SIGKILL where they were to
	Charges    int     `json:"charges"`
	Duplicates int     `json:"duplicates"` // charges less the payments that were charged
	Missing    int     `json:"missing"`    // payments that were not charged
	Operator   bool    `json:"operator"`   // whether a key that is unresolved is an operator's to settle
	Unresolved int     `json:"unresolved"` // keys that nothing but an operator finishes
	Answered   int     `json:"answered"`   // payments, those that an operator has settled included
	Seconds    float64 `json:"seconds"`

	Failed       int    `json:"failed"` // requests that got an error, and were sent again
	FirstFailure string `json:"first_failure,omitempty"`

	claim string // about the design, which the figures confirm or not
}

// Article is article 003's own figures, of 1,000 keys and articleKills crashes.
type Article struct {
	Charges    int `json:"charges"`
	Duplicates int `json:"duplicates"`
}

const articleKills = 100
