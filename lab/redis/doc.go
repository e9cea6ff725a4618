// Package redis runs a redis-server of an experiment's own: on a free port of 127.0.0.1, as an unprivileged account, without a
// disk, and gone when it is closed or when its process ends in whatever way.
package redis
