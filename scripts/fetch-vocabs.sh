#!/bin/sh
# Puts llama.cpp's vocabularies, with texts and the ids that belong to them, into models/vocabs (73 MB, MIT). They travel
# in the source package of llama-cpp-python on PyPI; it is downloaded and three kinds of files are taken out, nothing is built
# or installed. Then: make goldens DIR=models/vocabs. Does nothing when they are there.
set -eu
cd "$(dirname "$0")/.."
package=llama-cpp-python==0.3.36
archive=llama_cpp_python-0.3.36.tar.gz
sha256=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/ascribe
to=models/vocabs

die() {
    echo "fetch-vocabs: $1" >&2
    exit 1
}
good() { [ -f "$cache/$archive" ] && [ "$(sha256sum "$cache/$archive" | cut -d' ' -f1)" = $sha256 ]; }
[ ! -f $to/complete ] || exit 0
mkdir -p "$cache" $to || die "cannot create $cache or $to"

if ! good; then
    rm -f "$cache/$archive"
    echo "fetch-vocabs: downloading $package (77 MB) from PyPI"
    # pip asks a source package for its metadata, which takes the package's build back-end.
    python3 -m venv "$cache/venv-vocabs" && "$cache/venv-vocabs/bin/pip" install --quiet scikit-build-core &&
        "$cache/venv-vocabs/bin/pip" download --quiet --no-deps --no-binary :all: --no-build-isolation --dest "$cache" "$package" ||
        die "pip could not download $package. Check the network and pip's settings (pip config list), or put a file with
  SHA-256 $sha256 at $cache/$archive yourself."
    rm -rf "$cache/venv-vocabs"
    good || die "$archive is not the expected file; wanted SHA-256 $sha256. Nothing was kept."
fi
tar -xzf "$cache/$archive" -C $to --strip-components=4 --wildcards '*/vendor/llama.cpp/models/ggml-vocab-*.gguf' \
    '*/vendor/llama.cpp/models/ggml-vocab-*.inp' '*/vendor/llama.cpp/models/ggml-vocab-*.out' || die "cannot unpack $archive into $to"
: >$to/complete
echo "fetch-vocabs: $to is ready"
