package cleanup

// Result is what became of the keys.
type Result struct {
	Keys     int         `json:"keys"` // of each design
	Designs  []Design    `json:"designs"`
	Vanished []Vanishing `json:"vanished"`
}

// Variant is a design and what befalls its first requests.
type Variant struct {
	Name  string `json:"design"`
	Fault string `json:"fault"`
}

// Design is what became of keys whose first request has failed. A client comes again, with the same key, until it is told that it
// has bought.
type Design struct {
	Variant
	Keys         int     `json:"keys"`
	Stages       []Stage `json:"stages"`
	Completed    int     `json:"completed"`
	Dead         int     `json:"dead"`            // still told, at the end, that somebody is at work
	Unknown      int     `json:"unknown"`         // told that the outcome is unknown, before an operator came
	Listed       int     `json:"listed"`          // of these, those that an operator had listed
	Charges      int     `json:"charges"`         // in all
	ChargedTwice int     `json:"charged_twice"`   // keys
	Steps        []Step  `json:"steps,omitempty"` // of the first key's first two requests, where somebody writes them down
}

// Stage is the requests of one time, by what they were told.
type Stage struct {
	When    string         `json:"when"`
	Answers map[string]int `json:"answers"`
}

// told is how often an answer was given at a time.
func (d Design) told(when, answer string) int {
	for _, s := range d.Stages {
		if s.When == when {
			return s.Answers[answer]
		}
	}
	return 0
}

// Vanishing is a request whose claim loses to a row that is gone when it looks.
type Vanishing struct {
	Handler string `json:"handler"`
	By      string `json:"by"`    // who deletes the row
	Times   int    `json:"times"` // how often a row stood and was gone
	Looks   int    `json:"looks"` // how often the handler claimed
	Answer  string `json:"answer"`
	Again   string `json:"again"` // what the same request is told a moment later
	Charges int    `json:"charges"`
	Steps   []Step `json:"steps"`
}
