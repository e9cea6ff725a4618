#!/bin/sh
# Checks the tree and changes nothing in it: make verify. The arguments are the modules. Every check runs, whatever the others
# find; the failed ones are named at the end.
set -u
modules="$*"
tools=$PWD/tools/go.mod
failed=

check() {
    name=$1
    shift
    echo "verify: $name"
    "$@" || failed="$failed
  $name"
}

formatted() {
    unformatted=$(gofmt -l .) || return
    [ -z "$unformatted" ] || { echo "gofmt would change:"; echo "$unformatted"; return 1; }
}

applies() {
    status=0
    for patch; do
        git apply --check "$patch" || { echo "$patch no longer applies: the code that it breaks has changed"; status=1; }
    done
    return $status
}

check "gofmt" formatted
for module in $modules; do
    check "go.mod and go.sum of $module are tidy" go -C "$module" mod tidy -diff
    check "go vet in $module" go -C "$module" vet ./...
    check "staticcheck in $module" go -C "$module" tool -modfile="$tools" staticcheck ./...
done
check "every mutant's patch applies" applies testdata/mutants/*.patch
check "sql/schema.sql is what the migrations make" go run ./internal/house/dump -compare sql/schema.sql
check "gen is what sqlc makes of sql" go tool -modfile="$tools" sqlc diff
check "every query is prepared on a server" \
    go run ./internal/devpg/run -- go run ./internal/house/migrated -- go tool -modfile="$tools" sqlc vet

if [ -n "$failed" ]; then
    echo "verify: FAILED:$failed"
    exit 1
fi
echo "verify: ok"
