package main

// experiments are the lab's, in the order of the report.
func experiments() []*command {
	return []*command{
		raceCommand(),
		mismatchCommand(),
		dirtyPoolCommand(),
		cleanupCommand(),
		stormCommand(),
		crashCommand(),
		throughputCommand(),
		webhookCommand(),
		timeoutCommand(),
		keysCommand(),
		failoverCommand(),
		benchCommand(),
		sweepCommand(),
	}
}
