package idem_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// pageOfCharges looks like a page of a list of charges: the same members in each, names and words that recur, and ids, times and
// amounts that do not.
func pageOfCharges(r *rand.Rand, size int) []byte {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	id := func(prefix string) string {
		random := make([]byte, 24)
		for i := range random {
			random[i] = letters[r.IntN(len(letters))]
		}
		return prefix + "_" + string(random)
	}
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	page := fmt.Appendf(nil, `{"object":"list","url":"/v1/charges","has_more":true,"request_id":%q,"data":[`, id("req"))
	for len(page) < size {
		first, last := one("Ada", "Zoé", "Jun", "Maria", "Ola", "Yusuf", "Chidi"), one("Novak", "Okafor", "Lindgren", "Sato", "Smith", "Costa")
		charge := id("ch")
		page = fmt.Appendf(page, `{"id":%q,"object":"charge","amount":%d,"amount_captured":%d,"amount_refunded":0,"currency":%q,`+
			`"created":%d,"customer":{"id":%q,"name":"%s %s","email":"%s.%s%d@example.com"},"description":"Order %d: %s",`+
			`"payment_method":{"id":%q,"type":"card","card":{"brand":%q,"last4":"%04d","exp_month":%d,"exp_year":%d,"country":%q}},`+
			`"status":%q,"paid":true,"disputed":false,"failure_code":null,"metadata":{"cart":%q,"ip":"%d.%d.%d.%d"},`+
			`"receipt_url":"https://pay.example.com/receipts/%s"},`,
			charge, 100+r.IntN(99_900), 100+r.IntN(99_900), one("usd", "eur", "sek", "jpy"), 1_767_225_600+r.IntN(31_536_000),
			id("cus"), first, last, strings.ToLower(first), strings.ToLower(last), r.IntN(1000), r.IntN(1_000_000),
			one("2 × coffee, 250 g", "monthly plan, next period", "return shipping", "gift card", "spare parts and fitting"),
			id("pm"), one("visa", "mastercard", "amex"), r.IntN(10_000), 1+r.IntN(12), 2027+r.IntN(6), one("DE", "SE", "NG", "JP", "BR", "US"),
			one("succeeded", "succeeded", "succeeded", "pending"), id("cart"), r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256), charge)
	}
	return page[:size] // cut off anywhere: the server does not look
}

// noise is what does not compress, as images and answers that are compressed already.
func noise(r *rand.Rand, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}
