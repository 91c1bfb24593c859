/* docs_pages.c - reference pages and tables written from the descriptors of methods and ops. */
#include "op.h"
#include "ops_doc.h"
#include "report_parts.h"

void asc_ops_page(asc_text *out) { asc_ops_markdown(&out->b); }

bool asc_op_at(size_t i, asc_op_info *out) {
    if (i >= ASC_N_OPS) return false;
    const asc_op *op = asc_ops[i];
    *out = (asc_op_info){.name = op->name,
                         .formula = op->formula,
                         .doc = op->doc,
                         .min_inputs = op->min_in,
                         .max_inputs = op->max_in,
                         .differentiable = op->vjp != NULL};
    return true;
}

static void item(asc_text *out, const char *name, const char *text, bool code) {
    if (text == NULL || text[0] == '\0') return;
    asc_text_addf(out, code ? "- **%s**: `%s`\n" : "- **%s**: %s\n", name, text);
}

void asc_methods_markdown(asc_text *out) {
    asc_text_adds(
        out, "# Methods\n\n"
             "Written by `ascribe methods --markdown` from the descriptors in `src/attr/`; change those.\n\n"
             "| Method | What it tells | Cost |\n|---|---|---|\n");
    for (size_t i = 0; asc_method_at(i) != NULL; i++) {
        const asc_method_info *m = asc_method_at(i);
        asc_text_addf(out, "| [`%s`](#%s) | %s | %s |\n", m->name, m->name, m->doc, m->cost);
    }
    for (size_t i = 0; asc_method_at(i) != NULL; i++) {
        const asc_method_info *m = asc_method_at(i);
        asc_text_addf(out, "\n## %s\n%s.\n\n", m->name, m->doc);
        item(out, "Formula", m->formula, true);
        item(out, "Promises", m->axioms, false);
        item(out, "Cost", m->cost, false);
        item(out, "Options", m->options, false);
        item(out, "Paper", m->paper, false);
        item(out, "Captum's name", m->captum, true);
        item(out, "Differs from Captum", m->differences, false);
        asc_method_traits traits = asc_method_traits_at(i);
        asc_text_addf(out, "- **Works on**: %s%s%s\n", traits.nets ? "nets" : "",
                      traits.nets && traits.prompts ? " and " : "", traits.prompts ? "prompts" : "");
    }
    asc_text_adds(
        out, "\n## Captum's classes\nLayer and neuron forms are the same methods, pointed elsewhere: `at` "
             "(`--site`) names what is attributed\nto, `target.value` (`--target-value`) what is "
             "explained.\n\n| Captum | here | `at` | explained |\n|---|---|---|---|\n");
    for (size_t i = 0; asc_captum_name_at(i) != NULL; i++) {
        const asc_captum_name *n = asc_captum_name_at(i);
        asc_text_addf(out, "| `%s` | %s | %s | %s |\n", n->captum, n->method,
                      n->at[0] != '\0' ? n->at : "the inputs",
                      n->neuron[0] != '\0' ? n->neuron : "an output");
    }
}
