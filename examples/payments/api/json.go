package main

import (
	"encoding/json"
	"net/http"
)

// read reads the body into into; where it cannot, it answers and returns false.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(into); err != nil {
		writeError(w, http.StatusBadRequest, "the body is not the JSON that this takes: "+err.Error())
		return false
	}
	return true
}

func encode(body any) []byte {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // only strings and numbers are answered
	}
	return append(text, '\n')
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(body)) // a client that has gone comes back for it
}

// writeRetry is an error after which the same request is to be sent again, under the same key.
func writeRetry(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Retry-After", "1")
	writeError(w, status, why)
}

func writeError(w http.ResponseWriter, status int, why string) {
	write(w, status, map[string]string{"error": why})
}
