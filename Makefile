# Thin: each target is one line or one script. Everything runs on a fresh Debian 12, as root.
.PHONY: deps build demo test unit kernel format lint generate fuzz bench-apply bench-reclaim image e2e clean

PRESET ?= release
export CCACHE_SLOPPINESS := pch_defines,time_macros,include_file_mtime,include_file_ctime
# By content, not by time: the same compiler in the image's build, whose layers have other times, is the same.
export CCACHE_COMPILERCHECK := content

deps:
	scripts/deps.sh

build: deps
	cmake --preset $(PRESET) --log-level=NOTICE
	cmake --build --preset $(PRESET)

demo: deps
	cmake --preset release --log-level=NOTICE
	cmake --build --preset release --target memqos-agent memqos-helper
	e2e/demo/run

test: build
	scripts/test $(PRESET) unit kernel

unit: build
	scripts/test $(PRESET) unit

kernel: build
	scripts/test $(PRESET) kernel

format:
	git ls-files '*.cpp' '*.h' | xargs clang-format-16 -i

lint: deps
	scripts/lint

generate: build
	scripts/generate build/$(PRESET)

FUZZ_SECONDS ?= 300
fuzz: deps
	cmake --preset asan --log-level=NOTICE
	cmake --build --preset asan --target fuzz_targets
	scripts/fuzz $(FUZZ_SECONDS)

bench-apply: deps
	cmake --preset release --log-level=NOTICE
	cmake --build --preset release --target apply_bench memqos-agent memqos-helper
	e2e/bench/apply

bench-reclaim: deps
	cmake --preset release --log-level=NOTICE
	cmake --build --preset release --target reclaim_bench memqos-agent memqos-helper
	e2e/bench/reclaim

image:
	scripts/image

E2E_FLAGS ?=
e2e: deps
	e2e/cluster/run $(E2E_FLAGS)

clean:
	rm -rf build
