/* ops_doc.c - docs/ops.md from the descriptors, so that the page cannot fall behind the code. */
#include "ops_doc.h"

static const char *kind_name(asc_attr_kind kind) {
    switch (kind) {
    case ASC_ATTR_INT:
        return "int";
    case ASC_ATTR_BOOL:
        return "bool";
    case ASC_ATTR_INTS:
        return "ints";
    case ASC_ATTR_AXES:
        return "3 ints";
    case ASC_ATTR_FLOAT:
        return "float";
    case ASC_ATTR_SCALAR:
        return "run-time float";
    case ASC_ATTR_DTYPE:
        return "type";
    }
    return "";
}

static const char *fuse_name(asc_fuse fuse) {
    switch (fuse) {
    case ASC_FUSE_NONE:
        return "none";
    case ASC_FUSE_POINTWISE:
        return "pointwise";
    case ASC_FUSE_REDUCE:
        return "reduce";
    case ASC_FUSE_GEMM:
        return "gemm";
    case ASC_FUSE_VIEW:
        return "view";
    }
    return "";
}

/* A table cell: a bar would end it, an asterisk or underscore pair could turn italic outside code. */
static void add_code(asc_strbuf *out, const char *text) {
    asc_strbuf_addc(out, '`');
    for (; *text != '\0'; text++) {
        if (*text == '|') asc_strbuf_addc(out, '\\');
        asc_strbuf_addc(out, *text);
    }
    asc_strbuf_addc(out, '`');
}

static void add_row(asc_strbuf *out, const asc_op *op) {
    asc_strbuf_addf(out, "| `%s` | ", op->name);
    if (op->min_in == op->max_in)
        asc_strbuf_addf(out, "%d | ", op->min_in);
    else
        asc_strbuf_addf(out, "%d to %d | ", op->min_in, op->max_in);
    for (int k = 0; k < op->n_attrs; k++)
        asc_strbuf_addf(out, "%s%s (%s)", k > 0 ? ", " : "", op->attrs[k].name, kind_name(op->attrs[k].kind));
    asc_strbuf_adds(out, op->n_attrs > 0 ? " | " : "| ");
    add_code(out, op->formula);
    asc_strbuf_addf(out, " | %s | %s | %s | %s |\n", op->vjp != NULL ? "yes" : "no", fuse_name(op->fuse),
                    op->decompose != NULL ? "yes" : "no", op->doc);
}

void asc_ops_markdown(asc_strbuf *out) {
    asc_strbuf_adds(
        out,
        "# Ops\n\n"
        "Written by `ascribe ops --markdown` from the descriptors in `src/ops/`; change those.\n\n"
        "- **Inputs**: how many arrays it takes. **Attributes**: fixed when the op is recorded; a\n"
        "  run-time float may change without making another program.\n"
        "- **Gradient**: \"no\" means that the result does not vary with small changes (comparisons,\n"
        "  positions) or has no inputs; the gradient is then zero.\n"
        "- **Fusion**: what a fusing pass may join it with. **Decomposes**: the same value can be built\n"
        "  from more primitive ops.\n\n"
        "| Op | Inputs | Attributes | Formula | Gradient | Fusion | Decomposes | What it does |\n"
        "|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < ASC_N_OPS; i++) add_row(out, asc_ops[i]);
}
