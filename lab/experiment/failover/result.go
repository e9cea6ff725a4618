package failover

// Result is what the failovers did.
type Result struct {
	Settled   int        `json:"settled"`
	InHand    int        `json:"in_hand"`
	Late      int        `json:"late"`
	Failovers []Failover `json:"failovers"`
}

// System is a key store and how its replica follows.
type System string

const (
	Async System = "PostgreSQL async"
	Sync  System = "PostgreSQL sync"
	Redis System = "Redis"
)

// Failover is one loss of a primary.
type Failover struct {
	System  System  `json:"system"`
	Skipped string  `json:"skipped,omitempty"` // why there are no figures
	Check   *Checks `json:"check,omitempty"`   // nil: no PostgreSQL
	Rows    []Row   `json:"rows"`              // a design each
	Seconds float64 `json:"seconds"`
}

// Checks are what Store.Check says of the servers; empty: nothing is wrong.
type Checks struct {
	Primary  string `json:"primary"`
	Standby  string `json:"standby"` // before it is promoted
	Promoted string `json:"promoted"`
}

// Processor is what carries out the charges.
type Processor string

const (
	Charges Processor = "charges every call" // it knows no keys
	Refuses Processor = "refuses a repeat"   // of the downstream key
	Here    Processor = "a row here"         // the charge is a row beside the key
)

// Row is what one design made of a failover.
type Row struct {
	Design    string    `json:"design"`
	Ours      bool      `json:"ours"`
	Processor Processor `json:"processor"`

	Settled Group `json:"settled"` // answered, and copied to the replica, before the link was parted
	InHand  Group `json:"in_hand"` // claimed and copied before it was parted, charged after
	Late    Group `json:"late"`    // sent after it was parted

	Waiting  int    `json:"waiting"`                 // of Late, those whose commit waited for the standby at the end
	Failure  string `json:"first_failure,omitempty"` // what the first customer was told whom the primary did not answer
	Refused  int    `json:"refused"`                 // repeats of a key that the processor refused
	KeysSent int    `json:"keys_sent"`               // keys that stand in the processor's books, counted payment by payment
}

// Group counts the payments that met the failover in one way.
type Group struct {
	Keys      int `json:"keys"`
	Confirmed int `json:"confirmed"` // claims that the primary showed before it was killed
	Answered  int `json:"answered"`  // customers whom it had answered by then

	Lost          int `json:"lost"`            // of Confirmed, those that the promoted replica does not have
	Forgotten     int `json:"forgotten"`       // of Answered, those whose answer it does not have
	Charged       int `json:"charged"`         // payments that stood as charged when the primary was gone and nobody had come again
	ChargedOfLost int `json:"charged_of_lost"` // of them, those whose claim is lost

	Duplicates   int `json:"duplicates"`   // charges less the payments that were charged, when everybody had come again
	Missing      int `json:"missing"`      // payments that were not charged
	Contradicted int `json:"contradicted"` // customers whose second answer names another charge than the first
	Unknown      int `json:"unknown"`      // payments that were left to an operator
}

// All is the sum of the groups.
func (r Row) All() Group {
	var all Group
	for _, g := range []Group{r.Settled, r.InHand, r.Late} {
		all.Keys += g.Keys
		all.Confirmed += g.Confirmed
		all.Answered += g.Answered
		all.Lost += g.Lost
		all.Forgotten += g.Forgotten
		all.Charged += g.Charged
		all.ChargedOfLost += g.ChargedOfLost
		all.Duplicates += g.Duplicates
		all.Missing += g.Missing
		all.Contradicted += g.Contradicted
		all.Unknown += g.Unknown
	}
	return all
}
