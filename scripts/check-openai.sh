#!/bin/sh
# Programs that nobody here wrote talk to the server: OpenAI's own client for Python drives chat, streams, log-probabilities
# and embeddings; schemathesis draws requests from /openapi.json, good ones and bad ones, and checks every reply against it.
# Both come from PyPI into an environment that is thrown away.   check-openai.sh [CASES]   (default 2000, of schemathesis)
# CHECK_OPENAI_VENV=DIR keeps the environment there.
set -eu
cd "$(dirname "$0")/.."
cases=${1:-2000}
: "${ASC_MODEL:=models/SmolLM2-135M-Instruct.Q4_1.gguf}" "${ASC_ENCODER:=models/all-MiniLM-L6-v2}"
dir=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

[ -f "$ASC_MODEL" ] || scripts/fetch-model.sh
[ -d "$ASC_ENCODER" ] || scripts/fetch-minilm.sh
[ -x build/ascribe ] || { echo "check-openai: no build/ascribe; run 'make build'" >&2; exit 1; }
venv=${CHECK_OPENAI_VENV:-$dir/venv}
[ -x "$venv/bin/schemathesis" ] || {
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check openai schemathesis
}

serve() { # MODEL: starts a server on a free port; $address is where
    [ -z "$server" ] || { kill "$server"; wait "$server" || true; }
    build/ascribe serve "$1" --port 0 --quiet >"$dir/log" 2>&1 &
    server=$!
    address=
    while kill -0 "$server" 2>/dev/null; do
        address=$(sed -n 's|^ascribe serves .* at \(http://.*\)/$|\1|p' "$dir/log")
        [ -z "$address" ] || return 0
        sleep 0.1
    done
    cat "$dir/log" >&2
    echo "check-openai: the server does not start" >&2
    exit 1
}
well() { # is the server still there?
    kill -0 "$server" 2>/dev/null || { cat "$dir/log" >&2; echo "check-openai: the server is gone" >&2; exit 1; }
}

# The examples of docs/api.md, word for word but for address and ids; those of an encoder end in "# encoder".
examples() { # KIND
    id=$(curl -s -D - -o /dev/null "$address/v1/explain" -H 'Content-Type: application/json' -d '{"prompt": "a", "save": true}' |
        sed -n 's/^X-Result-Id: *\([0-9a-f]*\).*/\1/p')
    model=$(curl -s "$address/v1/models" | sed -n 's/^ *"id": "\(.*\)".*/\1/p')
    sed -n 's/^    \(curl .*\)/\1/p' docs/api.md | sed -e "s|http://127.0.0.1:8080|$address|; s|/results/ID|/results/$id|; s|/MODEL$|/models/$model|; s|/models/models/|/models/|" >"$dir/all"
    if [ "$1" = encoder ]; then grep '# encoder$' "$dir/all"; else grep -v '# encoder$' "$dir/all"; fi >"$dir/examples"
    n=0
    while read -r example; do
        want=200
        case "$example" in *'# 400') want=400 ;; esac
        status=$(sh -c "$(echo "$example" | sed "s|^curl |curl -o $dir/reply -w %{http_code} |")")
        [ "$status" = "$want" ] || { echo "check-openai: $status of: $example" >&2; cat "$dir/reply" >&2; exit 1; }
        n=$((n + 1))
    done <"$dir/examples"
    echo "docs/api.md ($1): $n examples ran"
}

echo "--- openai $("$venv/bin/python" -c 'import openai; print(openai.__version__)')"
serve "$ASC_MODEL"
"$venv/bin/python" scripts/check-openai.py "$address" generate
examples decoder
well
serve "$ASC_ENCODER"
"$venv/bin/python" scripts/check-openai.py "$address" embed
examples encoder
well

# A tiny model, so that the time goes into requests; with a chat template, so that chats are answered. Schemathesis'
# check that everything the schema allows is accepted is left out: which fields go together no schema says (a target
# or target ids, a prompt shorter than the context).
"$venv/bin/python" scripts/check-openai.py template tests/data/goldens/zoo_gguf/llama-q4_1/model.gguf "$dir/tiny.gguf"
serve "$dir/tiny.gguf"
echo "--- $("$venv/bin/schemathesis" --version), at least $cases cases"
[ "$cases" -gt 0 ] || exit 0
done_cases=0 round=0
while [ "$done_cases" -lt "$cases" ]; do
    round=$((round + 1))
    (cd "$dir" && "$venv/bin/schemathesis" run "$address/openapi.json" --exclude-checks positive_data_acceptance \
        --max-examples 60 --seed "$round" --generation-database none --warnings off --continue-on-failure) >"$dir/report" 2>&1 || {
        cat "$dir/report"
        exit 1
    }
    well
    grep 'generated' "$dir/report"
    done_cases=$((done_cases + $(sed -n 's/^ *\([0-9]*\) generated.*/\1/p' "$dir/report")))
done
echo "check-openai: $done_cases cases, no server error, nothing that the schema does not say"
