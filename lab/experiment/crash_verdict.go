package experiment

import "fmt"

// Problems says what in the result is not as it must be. Empty: the table shows what it is for.
func (c *CrashResult) Problems() []string {
	var all []string
	for _, r := range c.Rows {
		all = append(all, c.problems(r)...)
	}
	return all
}

func (c *CrashResult) problems(r CrashRow) (all []string) {
	say := func(format string, args ...any) {
		all = append(all, r.Design+": "+fmt.Sprintf(format, args...))
	}
	least, most := 0, 0 // keys that are left to an operator
	if r.Operator {
		least, most = c.Kills, c.Kills+r.Failed // an error leaves its key unknown, as a crash does
	}
	if r.Kills != c.Kills {
		say("workers killed: %d, and there were to be %d", r.Kills, c.Kills)
	}
	if r.Once && r.Duplicates > 0 {
		say("duplicate charges: %d, and it promises none", r.Duplicates)
	}
	if !r.Once && r.Duplicates != c.Kills {
		say("duplicate charges: %d, and each of the %d crashes was to bring one: the test has not hit where it aims", r.Duplicates, c.Kills)
	}
	if r.Missing > 0 {
		say("payments that were never charged: %d", r.Missing)
	}
	if r.Answered != c.Keys {
		say("payments that were answered: %d of %d", r.Answered, c.Keys)
	}
	if r.Unresolved < least || r.Unresolved > most {
		say("keys that are left to an operator: %d, and there were to be %d", r.Unresolved, least)
	}
	return all
}
