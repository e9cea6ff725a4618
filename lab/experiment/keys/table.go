package keys

import _ "embed"

// table is one that keys are inserted into.
type table struct {
	name   string
	create string // empty: it is there
	insert string // of $1, an array of keys; it explains what it did
	size   string
}

var (
	//go:embed article_create.sql
	articleCreateSQL string
	//go:embed article_insert.sql
	articleInsertSQL string
	//go:embed article_size.sql
	articleSizeSQL string
	//go:embed product_insert.sql
	productInsertSQL string
	//go:embed product_size.sql
	productSizeSQL string
)

// The product's table comes last: payments are then made in it.
var tables = []table{
	{"article 003's table", articleCreateSQL, articleInsertSQL, articleSizeSQL},
	{"idem.keys", "", productInsertSQL, productSizeSQL},
}
