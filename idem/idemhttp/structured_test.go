package idemhttp_test

import (
	"testing"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// What parameters say is ignored; that they are well formed is not (RFC 9651 sections 3.1.2 and 4.2.3.2): who sends something
// else has another idea of where the key ends.
func TestParametersAreIgnoredWhereTheyAreWellFormed(t *testing.T) {
	for _, good := range []string{
		``, `;a`, `; a`, `;   a`, `;a;b`, `;a;a`, `;*`, `;*a`, `;a_-.*9`, ` `,
		`;a=1`, `;a=-1`, `;a=0`, `;a=00`, `;a=-0`, `;a=999999999999999`, `;a=1.5`, `;a=-999999999999.999`,
		`;a="x"`, `;a=""`, `;a="\"\\;"`, `;a="b";c`,
		`;a=tok`, `;a=*`, `;a=T:/%&'*+-.^_|~#!$` + "`",
		`;a=:aGk=:`, `;a=::`, `;a=?0`, `;a=?1`, `;a=@0`, `;a=@-62135596800`,
		`;a=%"caf%c3%a9"`, `;a=%""`, `;a=%" !#"`,
	} {
		if key, err := idemhttp.ParseKey([]string{`"k"` + good}); key != "k" || err != nil {
			t.Errorf(`"k"%s: %q, %v; want k`, good, key, err)
		}
	}
	for _, bad := range []string{
		`;`, `;;a`, `;a;`, ` ;a`, `;A`, `;1`, `;-a`, `;.`, `;aB`, `;a b`, `;a =1`, `;a= 1`, `;a=`, `;=1`, `;a,b`, `;é`, `,`, `=1`,
		`;a=-`, `;a=--1`, `;a=+1`, `;a=9999999999999999`, `;a=.5`, `;a=1.`, `;a=1.5555`, `;a=1234567890123.1`, `;a=1e5`, `;a=1.2.3`,
		`;a="x`, `;a="\x"`, `;a="é"`, `;a="` + "\t" + `"`, `;a=t,u`, `;a=t"`,
		`;a=:aGk:`, `;a=:aGk=`, `;a=:a k=:`, `;a=:aGk_:`, `;a=?`, `;a=?2`, `;a=?true`, `;a=@`, `;a=@1.5`, `;a=@x`,
		`;a=%"%C3%A9"`, `;a=%"%c3"`, `;a=%"%c"`, `;a=%"%"`, `;a=%"x`, `;a=%x`, `;a=%"é"`, `;a=(1)`, `;a=[1]`, `;a={`,
	} {
		if key, err := idemhttp.ParseKey([]string{`"k"` + bad}); key != "" || err == nil {
			t.Errorf(`"k"%s: %q, %v; want a refusal`, bad, key, err)
		}
	}
}
