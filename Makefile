# make prints what it can do. Every target works in all MODULES, since ./... stops at the border of a module.

MODULES := . lab tools internal/oracle examples/frameworks

# Programs of tools/go.mod, pinned there and built at need.
tool := go tool -modfile=$(CURDIR)/tools/go.mod

# Runs a command with a PostgreSQL server of its own, unless PGIDEM_TEST_URL names one.
server := go run ./internal/devpg/run --

# What make test tests in each module.
PACKAGES := ./...

# in-modules runs a command in each module, all of them whatever becomes of the first.
in-modules = status=0; for module in $(MODULES); do (cd $$module && $(1)) || status=1; done; exit $$status

ifdef PG
export PGIDEM_PG_MAJOR := $(PG)
endif
export ARGS

.DEFAULT_GOAL := help
.PHONY: help demo lab lab-bench lab-sweep lab-screens test test-race test-modes test-soak test-crash test-model test-faults test-crash-table test-fuzz generate verify mutants build clean

help: ## Print this help.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Watch customers being charged twice, and then not.
	go -C lab run ./cmd/lab demo

lab: ## Run every experiment of the articles and write the report, also to docs. ARGS='--skip-redis'.
	go -C lab run ./cmd/lab all --docs ../docs $(ARGS)

lab-bench: ## Time and count what a key costs, beside Redis and other systems, on a machine that does nothing else. ARGS='--only hold,redis'.
	go -C lab run ./cmd/lab bench $(ARGS)

lab-sweep: ## Delete a million expired keys beside claims, on a machine that does nothing else. ARGS='--beside 10000000'.
	go -C lab run ./cmd/lab sweep $(ARGS)

lab-screens: ## Photograph docs/lab/report.html on a phone and on a desk, by day and by night.
	go -C lab run ./browser/screens ../docs/lab/report.html

test: ## Run all tests. PG=14..18 chooses the server's version, ARGS='-run TestX -v' goes to go test.
	$(server) sh -c '$(call in-modules,go test -timeout 20m $$ARGS $(PACKAGES))'

test-race: ## Run all tests under the race detector.
	$(server) sh -c '$(call in-modules,go test -race -timeout 30m $$ARGS ./...)'

test-modes: ## Run the protocol's tests under each of pgx's query modes, as a role with the least rights, and without coalescing.
	$(server) sh -c 'for mode in cache_statement cache_describe describe_exec exec simple_protocol; do \
		echo "query mode $$mode"; PGIDEM_TEST_EXEC_MODE=$$mode go test -timeout 20m $$ARGS ./idem/... || exit 1; done; \
		echo "least rights"; PGIDEM_TEST_ROLE=least go test -timeout 20m $$ARGS ./idem/... || exit 1; \
		echo "without coalescing"; PGIDEM_TEST_NO_COALESCING=1 go test -timeout 20m $$ARGS ./idem/...'

test-soak: ## Run a storm under random faults for SOAK (10m), over two processes. It prints the seed of its faults.
	PGIDEM_SOAK=$(or $(SOAK),10m) $(server) go test -count=1 -v -timeout 0 -run TestSoak ./idem

test-crash: ## Kill the payments API at every point of the protocol, restart it, retry: a row each.
	PGIDEM_CRASH=$(or $(POINT),all) $(server) go test -count=1 -v -timeout 0 -run TestCrashMatrix ./examples/payments/api

test-model: ## Check 200 histories of 500 operations with crashes for linearizability. Prints the seed of each.
	PGIDEM_MODEL_HISTORIES=$(or $(HISTORIES),200) $(server) go -C lab test -count=1 -v -timeout 0 ./model

test-faults: ## Break the database, and the way to it, under 50 requests a second: a row each.
	PGIDEM_FAULTS=full go -C internal/oracle test -count=1 -v -timeout 0 ./faults

test-crash-table: ## Kill workers between a charge and its completion mark: article 003's table, and ours. ARGS='--keys 100 --kills 10'.
	go -C lab run ./cmd/lab crash $(ARGS)

# fuzz runs one target for a while: module, package, name.
fuzz = nice go -C $(1) test -run '^$$' -fuzz '^$(3)$$' -fuzztime $(or $(FUZZTIME),2m) -timeout 0 $(2)

test-fuzz: ## Fuzz the parsers against other programs and their own rules, FUZZTIME (2m) a target. Needs no database.
	$(call fuzz,internal/oracle,.,FuzzKeyAgainstHTTPSFV)
	$(call fuzz,internal/oracle,.,FuzzKeyIsWhatHTTPSFVWrites)
	$(call fuzz,internal/oracle,.,FuzzKeyPattern)
	$(call fuzz,.,./idem/idemhttp,FuzzParseKey)
	$(call fuzz,.,./idem/idemhttp,FuzzFingerprintsAreEqualExactlyWhenTextsAre)
	$(call fuzz,.,./idem/internal/canonical,FuzzJSON)
	$(call fuzz,.,./idem/internal/canonical,FuzzMeaning)

generate: ## Write gen and sql/schema.sql anew after a change in sql.
	$(tool) sqlc generate
	go run ./internal/house/dump -write sql/schema.sql

verify: ## Fail where something generated, untidy or badly formed is in the tree. Changes nothing.
	@./internal/house/verify.sh $(MODULES)

mutants: ## Break the code on purpose, patch by patch, and see the tests notice. ONLY=word runs some, WITHIN=5m as many as fit.
	$(server) go run ./internal/mutants -only '$(ONLY)' -within '$(or $(WITHIN),0)' $(if $(PROVEN),-proven)

build: ## Compile everything, and the command line tool to bin/idem.
	@$(call in-modules,go build ./...)
	go build -o bin/idem ./cmd/idem

clean: ## Remove what was built.
	rm -rf bin lab/out
