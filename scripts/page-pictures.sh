#!/bin/sh
# Makes docs/images/page*.png with a headless Chromium on the demonstration model; needs what check-browser.sh needs.
set -eu
cd "$(dirname "$0")/.."
RUN=tests/browser/pictures.py exec scripts/check-browser.sh --to docs/images
