package keys

// Result is what was measured.
type Result struct {
	Rows               int               `json:"rows"` // inserted into each table
	RowsPerInsert      int               `json:"rows_per_insert"`
	RowsPerCheckpoint  int               `json:"rows_per_checkpoint"`
	SharedBuffersBytes int64             `json:"shared_buffers_bytes"`
	Settings           map[string]string `json:"settings"` // of the servers, which differ from the defaults
	Tables             []Table           `json:"tables"`
	Payments           []Payments        `json:"payments"` // a kind each, through the product
}

// Table is a table that was filled with either kind of keys.
type Table struct {
	Name  string `json:"name"`
	Kinds []Kind `json:"kinds"`
}

// Kind is what one kind of keys made of a table.
type Kind struct {
	Name           string   `json:"kind"`
	Rows           int      `json:"rows"`        // that stand in the table
	IndexBytes     int64    `json:"index_bytes"` // of its primary key
	TableBytes     int64    `json:"table_bytes"` // without its indexes
	WALBytes       int64    `json:"wal_bytes"`
	FullPageImages int64    `json:"full_page_images"` // that are in it: pages logged whole, since a checkpoint had come before
	BlocksRead     int64    `json:"blocks_read"`      // that were not in shared_buffers
	Seconds        float64  `json:"seconds"`
	Inserts        []Insert `json:"inserts"`
}

// Insert is one statement.
type Insert struct {
	WALBytes       int64   `json:"wal_bytes"`
	FullPageImages int64   `json:"full_page_images"`
	BlocksRead     int64   `json:"blocks_read"`
	Seconds        float64 `json:"seconds"`
}

// Payments are what Store.Do made of one kind's payments, in a table that is as large as Result.Rows.
type Payments struct {
	Kind       string    `json:"kind"`
	Payments   int       `json:"payments"` // each sent twice
	Charges    int       `json:"charges"`
	Duplicates int       `json:"duplicates"` // charges less the payments that were charged
	Missing    int       `json:"missing"`    // payments that were not charged
	Replays    int       `json:"replays"`    // answers of an earlier request, given again
	InFlight   int       `json:"in_flight"`  // 409: come back later
	PerSecond  []float64 `json:"requests_per_second"`
}
