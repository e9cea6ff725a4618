// Package house looks after the repository itself. Its tests hold what may import what, where SQL may stand, and what the
// Go code and the schema must agree on; its programs serve make generate and make verify.
package house
