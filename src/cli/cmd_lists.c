/* cmd_lists.c - ascribe methods, ops, env, completions: what the program knows about itself. */
#include "ascribe/env.h"
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Is "saliency, norm signed" that method? */
static bool is_of(const char *entry, const char *method) {
    size_t n = strlen(method);
    return strncmp(entry, method, n) == 0 && (entry[n] == '\0' || entry[n] == ',');
}

static void methods_json(asc_text *t) {
    asc_text_array(t, NULL);
    for (size_t i = 0; asc_method_at(i) != NULL; i++) {
        const asc_method_info *m = asc_method_at(i);
        asc_text_object(t, NULL);
        asc_text_strz(t, "name", m->name);
        asc_text_strz(t, "captum", m->captum);
        asc_text_strz(t, "doc", m->doc);
        asc_text_strz(t, "formula", m->formula);
        asc_text_strz(t, "paper", m->paper);
        asc_text_strz(t, "axioms", m->axioms);
        asc_text_strz(t, "cost", m->cost);
        asc_text_strz(t, "options", m->options);
        asc_text_strz(t, "differences", m->differences);
        asc_method_traits traits = asc_method_traits_at(i);
        asc_text_bool(t, "prompts", traits.prompts);
        asc_text_bool(t, "nets", traits.nets);
        asc_text_bool(t, "by_gradient", traits.by_gradient);
        asc_text_bool(t, "takes_integers", traits.takes_integers);
        asc_text_bool(t, "needs_site", traits.needs_site);
        asc_text_bool(t, "stochastic", traits.stochastic);
        asc_text_bool(t, "complete", traits.complete);
        asc_text_array(t, "captum_classes");
        for (size_t k = 0; asc_captum_name_at(k) != NULL; k++) {
            if (is_of(asc_captum_name_at(k)->method, m->name))
                asc_text_strz(t, NULL, asc_captum_name_at(k)->captum);
        }
        asc_text_end(t);
        asc_text_end(t);
    }
    asc_text_end(t);
}

static void line_item(asc_text *t, const char *name, const char *text) {
    if (text == NULL || text[0] == '\0') return;
    asc_text_addf(t, "    %-10s", name);
    asc_text_wrap(t, text, 14, 100);
}

static const char *works_on(size_t i) {
    asc_method_traits traits = asc_method_traits_at(i);
    return traits.nets && traits.prompts ? "nets and prompts" : traits.nets ? "nets" : "prompts";
}

/* Captum's classes that are this method, in one line. */
static const char *captum_names(const char *method, const char *fallback, char *out, size_t size) {
    size_t n = 0;
    for (size_t k = 0; asc_captum_name_at(k) != NULL && n < size; k++) {
        if (is_of(asc_captum_name_at(k)->method, method))
            n +=
                (size_t)snprintf(out + n, size - n, "%s%s", n > 0 ? ", " : "", asc_captum_name_at(k)->captum);
    }
    return n > 0 ? out : fallback;
}

/* Runs `json` if --json was given, else writes what is in c->out. */
static int finish(cli *c, void (*json)(asc_text *)) {
    if (!cli_wants_json(c)) return cli_has(c, OPT_QUIET) ? EXIT_DONE : cli_flush(c);
    asc_text_clear(c->out);
    json(c->out);
    return cli_write_json(c, c->out);
}

int cmd_methods(cli *c) {
    char names[512];
    int rc = cli_open_context(c);
    if (rc != EXIT_DONE) return rc;
    if (cli_has(c, OPT_MARKDOWN)) {
        asc_methods_markdown(c->out);
        return cli_flush(c);
    }
    for (size_t i = 0; asc_method_at(i) != NULL; i++) {
        const asc_method_info *m = asc_method_at(i);
        asc_text_addf(c->out, "%s%s\n", i > 0 ? "\n" : "", m->name);
        line_item(c->out, "tells", m->doc);
        line_item(c->out, "formula", m->formula);
        line_item(c->out, "promises", m->axioms);
        line_item(c->out, "cost", m->cost);
        line_item(c->out, "options", m->options);
        line_item(c->out, "paper", m->paper);
        line_item(c->out, "works on", works_on(i));
        line_item(c->out, "Captum", captum_names(m->name, m->captum, names, sizeof names));
        line_item(c->out, "differs", m->differences);
    }
    return finish(c, methods_json);
}

static void ops_json(asc_text *t) {
    asc_op_info op;
    asc_text_array(t, NULL);
    for (size_t i = 0; asc_op_at(i, &op); i++) {
        asc_text_object(t, NULL);
        asc_text_strz(t, "name", op.name);
        asc_text_int(t, "min_inputs", op.min_inputs);
        asc_text_int(t, "max_inputs", op.max_inputs);
        asc_text_bool(t, "differentiable", op.differentiable);
        asc_text_strz(t, "formula", op.formula);
        asc_text_strz(t, "doc", op.doc);
        asc_text_end(t);
    }
    asc_text_end(t);
}

int cmd_ops(cli *c) {
    asc_op_info op;
    if (!cli_has(c, OPT_PROBE) && (cli_has(c, OPT_OP) || cli_has(c, OPT_SAMPLE)))
        return cli_usage("--op and --sample go with --probe");
    int rc = cli_open_context(c);
    if (rc != EXIT_DONE) return rc;
    if (cli_has(c, OPT_PROBE)) return cli_ops_probe(c);
    if (cli_has(c, OPT_MARKDOWN)) {
        asc_ops_page(c->out);
        return cli_flush(c);
    }
    asc_text_addf(c->out, "%-17s %-4s %-4s  %s\n", "op", "in", "grad", "what it does");
    for (size_t i = 0; asc_op_at(i, &op); i++) {
        char in[32];
        snprintf(in, sizeof in, op.min_inputs == op.max_inputs ? "%d" : "%d-%d", op.min_inputs,
                 op.max_inputs);
        asc_text_addf(c->out, "%-17s %-4s %-4s  ", op.name, in, op.differentiable ? "yes" : "no");
        asc_text_wrap(c->out, op.doc, 29, 100);
    }
    return finish(c, ops_json);
}

static const char *variable_value(const cli_variable *v) {
    const char *s = getenv(v->name);
    return s != NULL && s[0] != '\0' ? s : NULL;
}

static void env_row_json(asc_text *t, const char *name, const char *value, const char *fallback,
                         const char *option, const char *meaning) {
    asc_text_object(t, NULL);
    asc_text_strz(t, "name", name);
    asc_text_strz(t, "value", value);
    asc_text_strz(t, "origin", value != NULL ? "environment" : "default");
    asc_text_strz(t, "default", fallback);
    asc_text_strz(t, "option", option);
    asc_text_strz(t, "meaning", meaning);
    asc_text_end(t);
}

static void env_json(asc_text *t) {
    asc_env_info e;
    asc_text_array(t, NULL);
    for (size_t i = 0; i < cli_n_variables; i++) {
        const cli_variable *v = &cli_variables[i];
        env_row_json(t, v->name, variable_value(v), NULL,
                     v->option != OPT_NONE ? cli_options[v->option].name : NULL, v->doc);
    }
    for (size_t i = 0; asc_env_at(i, &e); i++) env_row_json(t, e.name, e.value, e.fallback, NULL, e.help);
    asc_text_end(t);
}

static void env_row(asc_text *t, const char *name, const char *value, const char *fallback,
                    const char *meaning) {
    const char *shown = value != NULL ? value : fallback != NULL && fallback[0] != '\0' ? fallback : "-";
    asc_text_addf(t, "%-16s ", name);
    size_t n = asc_text_shown(t, (asc_view){shown, strlen(shown)}, 16);
    asc_text_blanks(t, n < 16 ? 17 - n : 1);
    asc_text_addf(t, "%-12s ", value != NULL ? "environment" : "default");
    asc_text_wrap(t, meaning, 47, 100);
}

int cmd_env(cli *c) {
    asc_env_info e;
    int rc = cli_open_context(c);
    if (rc != EXIT_DONE) return rc;
    asc_text_addf(c->out, "%-16s %-16s %-12s %s\n", "variable", "value", "origin", "meaning");
    for (size_t i = 0; i < cli_n_variables; i++)
        env_row(c->out, cli_variables[i].name, variable_value(&cli_variables[i]), NULL, cli_variables[i].doc);
    for (size_t i = 0; asc_env_at(i, &e); i++) env_row(c->out, e.name, e.value, e.fallback, e.help);
    return finish(c, env_json);
}

int cmd_completions(cli *c) {
    int rc = cli_open_context(c);
    if (rc != EXIT_DONE) return rc;
    if (!cli_shell_script(c->out, c->operand[0]))
        return cli_usage("completions are for bash, zsh and fish, not '%.60s'", c->operand[0]);
    return cli_flush(c);
}
