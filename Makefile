.PHONY: up build test prove test-aws interop lint fmt generate bench microbench fuzz mutate vuln sbom clean

# Run the whole service on this machine. Options: make up UP="--plan demo=50".
UP ?=
up: bin/sekisho
	bin/sekisho up $(UP)

.PHONY: bin/sekisho
bin/sekisho:
	@mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w $$(scripts/version --ldflags)" -o $@ ./functions/cmd/sekisho

# Lambda zips in dist/, for terraform. With a contract of your own: make build CONTRACT=api.yaml.
CONTRACT ?=
build:
	CONTRACT=$(CONTRACT) scripts/build

test:
	scripts/test

# What takes hours rather than minutes: many fault seeds, many kills, every fuzz target.
prove:
	scripts/prove

# The end-to-end suite against a real AWS account: says what it costs, and asks first.
test-aws:
	scripts/test-aws

# Official conformance suites, real clients, and the page in a real browser; needs npm.
interop:
	scripts/interop

lint:
	scripts/lint

fmt:
	gofmt -w functions tests scripts
	terraform fmt -recursive .

# Files that are made from others: the merged contract, and what other packages say in it.
generate:
	go generate ./...

# Counts, ratios and latencies beside others, with the aims: make bench BENCH=mcp BENCH_ROUNDS=3.
# scripts/bench says what else there is to choose, functions/internal/bench what the parts are.
BENCH ?= all
bench:
	@scripts/bench $(BENCH)

# The benchmarks beside the code.
microbench:
	go test -run '^$$' -bench . -benchmem ./functions/...

# Every fuzz target for a while: make fuzz FUZZTIME=30s.
FUZZTIME ?= 10s
fuzz:
	scripts/fuzz $(FUZZTIME)

# Small faults in what decides about money and secrets, one at a time: do the tests notice? Options:
# make mutate MUTATE="-only apikey -for 10m".
MUTATE ?=
mutate:
	SEKISHO_MOTO_SERVER=$$(scripts/moto) go run ./scripts/mutate $(MUTATE)

# Known vulnerabilities of what is called. Exit code 3 of scripts/vuln is a finding.
vuln:
	scripts/vuln

# What is linked into each function and the program, with licences, in dist/sbom.
sbom:
	go run ./scripts/sbom dist/sbom "$$(scripts/version)"

clean:
	rm -rf bin dist .cache
