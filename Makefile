# Everything that is done to this repository, by name. "make help" lists it.

GO          ?= go
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
# Per package. Under the race detector and with the originals the longest takes about six minutes
# on two cores, and more than the default of Go on a machine that others use too.
TESTFLAGS   ?= -timeout 30m
VERSIONS    ?= 14 15 16 17 18

.DEFAULT_GOAL := help
.PHONY: help build test race test-peers test-postgres test-citus test-clients test-browser screenshots lint fuzz generate bench regress compare ci

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/howdah
	$(GO) build -trimpath -o bin/howdah ./cmd/howdah

test: ## all tests; needs only Go (and PostgreSQL, which is downloaded if it is not installed)
	$(GO) test $(TESTFLAGS) ./...

race: ## all tests under the race detector
	$(GO) test -race $(TESTFLAGS) ./...

test-peers: ## compare with the originals; needs redis-server, memcached, pgbouncer, pg_cron and prometheus
	$(GO) test -race -tags peers $(TESTFLAGS) ./...

test-postgres: ## the tests that know SQL, on PostgreSQL 14 to 18 (downloaded)
	@for v in $(VERSIONS); do \
		echo "PostgreSQL $$v"; \
		HOWDAH_TEST_PG_VERSION=$$v $(GO) test -count=1 $(TESTFLAGS) . ./tests/... ./schema ./migrate ./internal/core ./internal/statement ./internal/upkeep ./session/... || exit 1; \
	done

test-citus: ## the tests over several machines; needs PostgreSQL 15.20 or newer with the Citus engine, and redis-server
	$(GO) test -count=1 -tags citus,peers $(TESTFLAGS) ./tests/citus ./internal/test/pgtest ./schema ./internal/cluster ./internal/core ./internal/redisapi ./internal/doctor ./internal/figures ./internal/server ./cmd/howdah -run Citus

test-clients: ## unmodified clients in other languages; CONTRIBUTING.md has what it needs
	$(GO) test -count=1 -tags clients $(TESTFLAGS) ./deploy ./internal/server ./internal/test/coherence -run TestClients -v

test-browser: ## the console in a real browser; needs chromium
	cd browser && $(GO) test -count=1 $(TESTFLAGS) ./...

screenshots: ## photograph the console for docs/console.md; needs chromium
	cd browser && $(GO) run ./cmd/screenshots --out ../docs/img

lint: ## gofmt, vet, staticcheck, with and without the build tags; builds for other systems
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these files"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags peers,clients,citus ./...
	$(GO) run $(STATICCHECK) -tags peers,clients,citus ./...
	for m in bench browser otelhowdah; do (cd $$m && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./...) || exit 1; done
	GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	GOOS=windows $(GO) build -o /dev/null . ./backend/... ./session/... ./migrate ./examples/... ./cmd/...

fuzz: ## fuzz the parsers, 30 s each
	@for t in resp/FuzzParse resp/FuzzInline resp/FuzzReply values/FuzzDecode values/FuzzRestore values/FuzzHyperLogLog; do \
		$(GO) test ./internal/$${t%/*} -run '^$$' -fuzz "^$${t#*/}$$" -fuzztime 30s -fuzzminimizetime 20x || exit 1; \
	done

generate: ## write the generated pages: docs/sql.md, docs/commands.md, docs/doctor.md
	$(GO) test ./schema ./internal/redisapi ./internal/doctor -run 'TestReferenceIsUpToDate|TestDocs' -update

bench: ## measure; see docs/benchmarks.md
	cd bench && $(GO) run ./cmd/howdah-bench run all

regress: ## fail if a published ratio of speed has fallen by nearly half; needs redis-server
	cd bench && $(GO) run ./cmd/howdah-bench regress

compare: ## measure this tree and the commit BEFORE (default HEAD) in turns; needs redis-tools
	cd bench && $(GO) run ./cmd/howdah-bench compare --before $(or $(BEFORE),HEAD)

ci: ## what continuous integration runs
	bash .ci/run
