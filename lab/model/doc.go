// Package model says what pgidem promises about one key as a sequential program, and holds recorded histories of concurrent clients
// against it (porcupine's linearizability check).
//
// What is recorded is what a client sees: when it asked, and what it was told. A claim, what happens at the downstream, a completion
// are operations of their own, so that a call of Hold is several. The model knows nothing of SQL. It lets an effect happen at most
// once in the life of a key, an answer stand for the rest of that life, a replay return that answer and no other, and an error change
// nothing; and it lets a key be taken from its holder only once the holder's lease is over.
//
// An operation whose client died has no result: it stays open until the end of the history, so that it may take effect at any later
// time, or last of all, where nobody sees it.
package model
