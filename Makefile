# The front door; Meson and Ninja do the work (scripts/build.sh). `make` alone lists the targets.
# Variables: JOBS (parallel compile jobs), FUZZ_SECONDS (per fuzz target), PREFIX and DESTDIR (install).
SHELL := /bin/sh
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
PORT ?= 8080
MODEL ?= models/SmolLM2-135M-Instruct.Q4_1.gguf
export PREFIX DESTDIR JOBS FUZZ_SECONDS

.PHONY: help build model demo demo-image demo-bytes demo-python demo-serve check check-full bench goldens onnx-node-tests format docs install deb release clean
.DEFAULT_GOAL := help

help: ## this list
	@echo 'ascribe: where did this model output come from?'; echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-24s%s\n", $$1, $$2 }'

build: ## install what is needed, compile to build/
	@scripts/build.sh build

model: ## fetch and verify the demonstration model (98 MB)
	@scripts/install-deps.sh && scripts/fetch-model.sh

demo: build model ## build, fetch a model, explain a sentence here and in demo.html
	@scripts/demo.sh $(MODEL)

demo-image: build ## fetch an ONNX model, explain a picture here and in demo-image.html
	@scripts/demo-image.sh

demo-bytes: build ## fetch an ONNX model, explain a file's bytes here and in demo-bytes.html
	@scripts/demo-bytes.sh

demo-serve: build model ## serve the model on this machine: a page and a JSON API (PORT=8080)
	@scripts/demo-serve.sh $(MODEL) --port $(PORT)

demo-python: model ## build the Python wheel, try it in a throw-away environment
	@scripts/demo-python.sh $(MODEL)

check: build ## build, tests and tree checks; minutes on 2 cores
	@scripts/check.sh

check-full: ## also clang, sanitizers, valgrind, fuzzing, client, browser, packages, a clone
	@scripts/check-full.sh

bench: build model ## measured speed and memory, as ratios
	@scripts/bench.sh $(MODEL)

goldens: build ## DIR=folder [MODEL=file]: compare with third-party numbers
	@scripts/goldens.sh "$(DIR)" "$(MODEL)"

onnx-node-tests: build ## ONNX's own 1,072 test models, on cpu and reference
	@scripts/onnx-node-tests.sh

format: ## clang-format over the C sources
	@scripts/install-deps.sh --full && git ls-files '*.c' '*.h' | xargs clang-format -i

docs: build ## regenerate the pages and key lists that come from the program's tables
	@scripts/gen-docs.sh

install: build ## PREFIX=/usr/local DESTDIR=: library, headers, program, man pages
	@scripts/install.sh

deb: ## Debian packages into dist/, looked at by lintian
	@scripts/make-deb.sh

release: ## a tarball with everything it needs into dist/
	@scripts/make-release.sh

clean: ## remove the build folders (the model stays)
	@rm -rf dist build build-python build-clang build-san build-fuzz
