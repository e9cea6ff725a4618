// Package idem runs work under idempotency keys on PostgreSQL: many callers may ask for the same payment, and it happens once.
package idem
