# Everything that is done to this repository, by name. "make help" lists it.

GO          ?= go
# The tools that gate/go.mod names, in its versions.
TOOL        := $(GO) tool -modfile=gate/go.mod
TESTFLAGS   ?=
# With the race detector, the originals and other work on the machine a package may take longer
# than the ten minutes of Go.
GATEFLAGS   ?= -timeout 30m
VERSIONS    ?= 14 15 16 17 18
# The folders whose tests know SQL.
SQL         := . ./tests/... ./schema ./migrate ./internal/core ./internal/statement ./internal/upkeep ./session/...
PACKAGES    ?= ./...

.DEFAULT_GOAL := help
.PHONY: help build quick test test-gate test-long test-oldest-newest test-postgres test-citus test-clients test-clients-few test-browser \
	test-modules test-bench hunt flaky nightly screenshots lint fuzz generate bench regress compare ci

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/howdah
	$(GO) build -trimpath -o bin/howdah ./cmd/howdah

quick: lint ## at each save: linters, and the packages whose tests need no PostgreSQL
	$(GO) test $(TESTFLAGS) $$($(GO) list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | \
		grep -Ev 'pgtest|backendtest|/embedded |/examples/|\[\] \[\]' | cut -d ' ' -f 1)

test: ## the tests; need only Go (and PostgreSQL, which is downloaded if it is not installed)
	$(GO) test $(TESTFLAGS) ./...

test-gate: ## the tests once, under the race detector, beside the originals; few failures run a second time, and are listed
	cd gate && $(GO) build -o ../bin/gate .
	bin/gate run -- -count=1 -race -tags peers $(GATEFLAGS)

test-long: ## as test-gate, with the tests that take long
	cd gate && $(GO) build -o ../bin/gate .
	HOWDAH_TEST_LONG=1 bin/gate run -- -count=1 -race -tags peers -timeout 60m

test-oldest-newest: ## what knows SQL and the contract, on PostgreSQL 14 and 18
	@for v in 14 18; do \
		echo "PostgreSQL $$v"; \
		HOWDAH_TEST_PG_VERSION=$$v $(GO) test -count=1 $(GATEFLAGS) ./schema ./migrate ./tests/contract || exit 1; \
	done

test-postgres: ## the tests that know SQL, on PostgreSQL 14 to 18 (downloaded)
	@for v in $(VERSIONS); do \
		echo "PostgreSQL $$v"; \
		HOWDAH_TEST_PG_VERSION=$$v $(GO) test -count=1 $(GATEFLAGS) $(SQL) || exit 1; \
	done

test-citus: ## the tests over several machines; needs PostgreSQL 15.20 or newer with the Citus engine, and redis-server
	HOWDAH_TEST_PG_BINDIR=$${HOWDAH_TEST_PG_BINDIR:-/usr/lib/postgresql/15/bin} \
		$(GO) test -count=1 -tags citus,peers $(GATEFLAGS) ./tests/citus ./internal/test/pgtest ./schema ./internal/cluster ./internal/core ./internal/redisapi ./internal/doctor ./internal/figures ./internal/server ./cmd/howdah -run Citus

test-clients: ## unmodified clients in other languages; CONTRIBUTING.md has what it needs
	$(GO) test -count=1 -tags clients $(GATEFLAGS) ./deploy ./internal/server ./internal/test/coherence -run TestClients -v

test-clients-few: ## four of these clients: redis-py, Celery, ioredis, Bull and Bee-Queue
	$(GO) test -count=1 -tags clients $(GATEFLAGS) ./internal/server -run 'TestClients/^(python|node)$$/^(redis_py|celery_queue|ioredis|queues)\.'

test-modules: ## the tests of two other modules: OpenTelemetry, the gate
	cd otelhowdah && $(GO) test -race $(GATEFLAGS) ./...
	cd gate && $(GO) test $(GATEFLAGS) ./...

test-bench: ## the tests of the benchmark harness, which run each experiment small
	cd bench && $(GO) test -tags peers $(GATEFLAGS) ./...

hunt: ## random tests of PACKAGES with 20 new seeds each
	HOWDAH_SEED=random $(GO) test -tags peers -timeout 60m -count=20 -run 'Random|Fuzz|Money|Race|Concurren|Model|History|Stream' $(PACKAGES)

flaky: ## the tests of docs/flaky.md, 50 times each, under load
	cd gate && $(GO) build -o ../bin/gate .
	bin/gate flaky

nightly: ## everything: all PostgreSQLs, Citus, all clients, browser, long tests, fuzzing, speed; writes docs/nightly.md
	cd gate && $(GO) build -o ../bin/gate .
	bin/gate nightly

test-browser: ## the console in a real browser; needs chromium
	cd browser && $(GO) test -count=1 $(GATEFLAGS) ./...

screenshots: ## photograph the console for docs/console.md; needs chromium
	cd browser && $(GO) run ./cmd/screenshots --out ../docs/img

lint: ## gofmt, vet, staticcheck, with and without the build tags; builds for other systems
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these files"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags peers,clients,citus ./...
	$(TOOL) staticcheck -tags peers,clients,citus ./...
	for m in bench browser otelhowdah gate; do (cd $$m && $(GO) vet ./... && $(GO) tool -modfile=../gate/go.mod staticcheck ./...) || exit 1; done
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
