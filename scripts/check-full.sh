#!/bin/sh
# Everything that `make check` is too short for. Steps run one after the other and all of them run, also after a
# failure; the last line counts steps. check-full.sh [STEP...] runs some of: gcc clang variants san tsan valgrind fuzz openai browser package python clone
set -u
cd "$(dirname "$0")/.." || exit 1
scripts/install-deps.sh --full || exit 1
steps=${*:-gcc clang variants san tsan valgrind fuzz openai browser package python clone}
: "${ASC_MODEL:=$PWD/models/SmolLM2-135M-Instruct.Q4_1.gguf}"
export ASC_MODEL
tiny=$(find tests/data -path '*llama-q4_1*' -name '*.gguf' | head -n 1)

# Tarball and Debian packages: built twice, the same bytes, lintian without a word.
run_package() { scripts/check-reproducible.sh; }

run_gcc() { scripts/build.sh build && scripts/check.sh; }

run_clang() { CC=clang scripts/build.sh build-clang && scripts/run-tests.sh --build build-clang; }

# As users have it who chose another mode, other kernels or more threads than there are processors; who may not write to
# their home, keep temporary files elsewhere and have numbers with a comma (where such a locale is installed).
run_variants() {
    scripts/build.sh build || return 1
    comma=$(locale -a | grep -m 1 -e '^de_.*utf8' -e '^fr_.*utf8') || comma=C
    place=$(mktemp -d) || return 1
    bad=0
    for set in ASC_MODE=eager ASC_ISA=avx2 ASC_THREADS=64; do
        echo "--- $set"
        (unset ASC_MODEL && scripts/run-tests.sh --set $set) || bad=1
    done
    echo "--- TMPDIR, HOME, LC_ALL"
    scripts/run-tests.sh --set TMPDIR="$place" --set HOME=/proc/none --set LC_ALL="$comma" || bad=1
    left=$(ls -A "$place")
    [ -z "$left" ] || { echo "tests left in TMPDIR: $left"; bad=1; }
    rm -rf "$place"
    return $bad
}

# The address and undefined-behaviour sanitizers end the program at the first finding. A leak is a finding. Warnings
# are no errors here: the instrumentation makes gcc see overflows that cannot happen.
run_san() {
    CC=gcc scripts/build.sh build-san -Dwerror=false -Dbuildtype=debug -Doptimization=1 -Db_sanitize=address,undefined \
        -Dc_args=-fno-sanitize-recover=undefined || return 1
    # without the real model, whose attributions would take half an hour here; the tiny ones walk the same code
    (unset ASC_MODEL && UBSAN_OPTIONS=print_stacktrace=1 scripts/run-tests.sh --build build-san -- --timeout-multiplier 10)
}

# Several contexts at once, with clang: GCC's OpenMP runtime orders its threads by futexes that the sanitizer does not
# see, and every parallel loop would be reported. Archer tells the sanitizer what clang's runtime orders. oneDNN (with
# GCC's runtime inside) is not instrumented and left out.
run_tsan() {
    archer=$(find /usr/lib/llvm-*/lib -name libarcher.so 2>/dev/null | sort | tail -n 1)
    [ -n "$archer" ] || { echo "no libarcher.so; it comes with libomp-dev"; return 1; }
    [ -f build-tsan/build.ninja ] || CC=clang meson setup build-tsan -Dwerror=false -Dbuildtype=debug -Doptimization=1 \
        -Db_sanitize=thread -Db_lundef=false >/dev/null || return 1
    ninja -C build-tsan --quiet test_threads test_cancel ascribe || return 1
    for name in test_threads test_cancel; do
        OMP_TOOL_LIBRARIES=$archer TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=9" \
            ASC_TEST_DATA="$PWD/tests/data" build-tsan/"$name" || return 1
    done
    # Lines of a batch side by side.
    batch=$(mktemp -d) || return 1
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        echo "{\"prompt\": \"The capital $i of\"}"
    done >"$batch/in.jsonl"
    OMP_TOOL_LIBRARIES=$archer TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=9" ASC_CACHE=0 build-tsan/ascribe explain \
        "$tiny" --prompts "$batch/in.jsonl" --out "$batch/out.jsonl" --threads 4 --quiet
    rc=$?
    [ "$(grep -c '"threads":1' "$batch/out.jsonl")" = 19 ] || rc=1
    rm -rf "$batch"
    return $rc
}

# Two whole explanations of a tiny model, forwards only and with gradients. Valgrind's processor has no AVX-512, which
# also tries that choice; oneDNN's kernels are made at run time, hence --smc-check.
run_valgrind() {
    [ -n "$tiny" ] || { echo "no tiny model under tests/data"; return 1; }
    scripts/build.sh build || return 1
    for options in "" "--method integrated-gradients --rule gauss-legendre --steps 3 --baseline eos"; do
        # shellcheck disable=SC2086 # options are words
        valgrind --quiet --smc-check=all --leak-check=full --errors-for-leak-kinds=definite --error-exitcode=9 \
            build/ascribe explain "$tiny" --prompt "The capital" --target " of" --threads 1 $options --json - >/dev/null ||
            return 1
    done
}

# Each target runs on its seeds and on what earlier runs found; a crash leaves its input in build-fuzz/.
run_fuzz() {
    CC=clang scripts/build.sh build-fuzz -Dfuzz=true -Dtests=false -Db_sanitize=address,undefined -Db_lundef=false \
        -Dwerror=false -Dbuildtype=debug -Doptimization=1 -Dc_args=-fno-sanitize-recover=undefined || return 1
    bad=0
    for source in $(scripts/sources.sh fuzz); do
        name=$(basename "$source" .c)
        mkdir -p "build-fuzz/corpus/$name"
        printf '%s: ' "$name"
        if build-fuzz/"$name" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=300 -rss_limit_mb=3000 -verbosity=0 \
            -print_final_stats=1 -artifact_prefix="build-fuzz/$name-" "build-fuzz/corpus/$name" \
            "tests/fuzz/seeds/$name" >"build-fuzz/$name.log" 2>&1; then
            sed -n 's/^stat::number_of_executed_units: */inputs tried: /p' "build-fuzz/$name.log"
        else
            echo "FAILED; see build-fuzz/$name.log"
            tail -n 25 "build-fuzz/$name.log"
            bad=1
        fi
    done
    return $bad
}

# OpenAI's client library and schemathesis, both from PyPI, talk to the server.
run_openai() { scripts/build.sh build && scripts/check-openai.sh; }

# The page in a headless Chromium; says so and passes where there is none.
run_browser() { scripts/build.sh build && scripts/check-browser.sh; }

# What a newcomer and continuous integration do: a fresh clone of what is committed.
run_clone() {
    dir=$(mktemp -d) || return 1
    git clone --quiet . "$dir/ascribe" && (unset ASC_MODEL && cd "$dir/ascribe" && bash .ci/run)
    status=$?
    rm -rf "$dir"
    return $status
}

# Types of the Python package; the wheel with the libraries inside, twice: the same bytes.
run_python() {
    scripts/check-python-types.sh || return 1
    first=$(mktemp -d) && second=$(mktemp -d) || return 1
    scripts/build-wheel.sh "$first" bundle=1 build-dir=build-python >/dev/null &&
        scripts/build-wheel.sh "$second" bundle=1 build-dir=build-python-2 >/dev/null &&
        cmp "$first"/*.whl "$second"/*.whl
    status=$?
    rm -rf "$first" "$second"
    return $status
}

passed=0 failed=0
for step in $steps; do
    echo "=== $step"
    start=$(date +%s)
    if "run_$step"; then
        verdict=passed passed=$((passed + 1))
    else
        verdict=FAILED failed=$((failed + 1))
    fi
    summary="${summary-}$(printf '%-9s %s after %s s' "$step" "$verdict" $(($(date +%s) - start)))
"
done
printf '=== steps\n%s' "$summary"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
