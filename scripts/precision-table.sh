#!/bin/sh
# Writes docs/PRECISION.md: what the levels of products mean, and what each does to attributions, measured against f64.
#   precision-table.sh [MODEL.gguf]   (without a model its table is kept as it is)
set -eu
cd "$(dirname "$0")/.."
program=build/ascribe page=docs/PRECISION.md model=${1-}
[ -x $program ] || { echo "precision-table: $program is not built; run 'make build'" >&2; exit 1; }
new=$(mktemp)
trap 'rm -f "$new"' EXIT
levels=highest,bf16x6,high,medium,int8
table() { # MODEL OPTIONS...: method by level
    $program compare "$@" --devices reference,cpu --precision $levels --modes deferred --threads 2 --emulate --markdown || [ $? = 1 ]
}
old_model_table() { # the lines of the page as it is
    sed -n '/^## SmolLM2/,$p' $page 2>/dev/null
}
cat >"$new" <<'TEXT'
# Precision
Written by `scripts/precision-table.sh`. A level says how matrix products and convolutions multiply; sums are f32 at
every level, and everything else is f32 throughout. The reference device computes every level in f64.

| level | a product of two f32 numbers | u | for |
|---|---|---|---|
| `highest` | as f32 multiplies (the default) | 2^-24 | final numbers |
| `bf16x6` | six products of bf16 pieces: hh hm mh mm hl lh | 2^-24 | what matrix units call their highest |
| `high` | three: hh hm mh | 2^-16 | numbers to three or four digits |
| `medium` | one: hh | 2^-8 | a first look; orders of features that are clearly apart |
| `int8` | 8-bit integers with a step for each row and column | 2^-7 | rankings only; refused for final numbers without `--force-int8` |

A number x is split into pieces x = h + m + l, each rounded to bf16, that is to 8 significant bits. u is the largest
relative error of one product that follows from what is left out; for `int8` it is relative to the largest number of the
row. Errors of scores are computed with it (docs/errors.md), so a coarser level shows in every result.

- `--precision LEVEL` for everything; `--precision-at SITE=LEVEL` for a part: a site prefix of a language model
  (`blocks.3`, `head`), a site of a net, the name of an ONNX value; several times for several. The longest site that fits
  decides; the products of a gradient have the level of the product they belong to.
- A result names its levels; `ascribe rerun` uses them again, `ascribe compare` names them when they differ.
- `ascribe compare MODEL --against tpu-default` (also `tpu-high`, `tpu-highest`) computes with the products that matrix
  units make, one, three and six, and says by how much attributions differ from those of f32 products.
- What the processor computes at a level without `--emulate`: numbers at least as exact as the level's. With matrix tiles,
  products of nine rows and more with one matrix, f32 or stored (`a W`, `a W^T`; rows of a batch count together, and rows that
  a pass left of a larger product), are made of the level's pieces. All else at `bf16x6`, `high` and `medium` is computed in
  f32, finer than asked for: fewer rows, convolutions, attention, batches of matrices, products with a turned left factor
  (gradients of weights), and on processors without tiles everything, since their f32 products are the fastest
  ([levels-without-tiles.md](decisions/levels-without-tiles.md)): there these levels have the numbers and the speed of `highest`.
- `int8` is made of 8-bit integers on every processor, with the same bits, in all but attention and the gradients of
  convolutions. Faster than `highest` are products of nine rows and more with one matrix: with sums of products of bytes
  (AVX512-VNNI, AVX-VNNI) 1.4 to 3 times, with AVX2 alone 1.2; few rows (generation) are slower than `highest`.
- `highest` is f32 multiplication, or, where there are matrix tiles and sums have 64 terms and more, the products of
  `bf16x6`, whose errors are no larger (docs/decisions/highest-by-tiles.md); stored weights [n,k] are multiplied as whole numbers,
  with errors alike (docs/decisions/stored-by-tiles.md).
- At `int8` a row of the left factor and a column of the right one have a step for every 256 values of k, the largest of
  those over 127; sums of 256 products are exact. What has no kernel has one step for all of k, as with `--emulate`.
- `ascribe compare --emulate` (and `--against`, which implies it) makes every product of its pieces, as a matrix unit does,
  convolutions and their gradients too; attention then rounds its operands and keeps the weights between them in f32 (at
  `int8` it is left as it is). Stored weights are multiplied by the processor's own kernel of the level, also in few rows.
  The tables below are of that kind.
- `ascribe bench MODEL --modes deferred --precision highest,high,medium` says what a level costs on this machine.

The tables: largest difference of a score from f64 over the largest score, with the same draws for sampled methods.
Numbers of one machine; others sum in another order and differ in the last digit of `highest`.

TEXT
for net in mlp cnn transformer; do
    printf '## Built-in %s\n' $net
    table $net
    echo
done >>"$new"
if [ -n "$model" ]; then
    printf '## SmolLM2-135M, "The capital of France is", target " Paris"\n'
    printf 'Weights are Q4_1 in the file: they are expanded, then split or rounded. Integrated gradients have 4 points on the path\n'
    printf 'from end tokens; a difference above 1 says that these scores are noise at that level.\n\n'
    for method in saliency input-x-gradient integrated-gradients feature-ablation; do
        table "$model" --prompt 'The capital of France is' --target ' Paris' --method $method --steps 4 |
            if [ $method = saliency ]; then cat; else sed 1,2d; fi
    done
else
    old_model_table
fi >>"$new"
cat "$new" >$page
