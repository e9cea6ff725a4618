// Package oracle holds the library against programs that others wrote for the same standards: a reader of structured fields, and
// a reader of OpenAPI documents. Its package faults has a program of others break the way to the database. It has tests alone.
//
// It is a module of its own because of what those programs bring along: the module that users require names none of it.
package oracle
