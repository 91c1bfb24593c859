/* do_model.c - commands about the model and the shell itself. */
#include "ascribe/net.h"
#include "line.h"
#include "settings.h"
#include "shell_parts.h"
#include <stdlib.h>
#include <string.h>

static void shape(asc_text *t, const asc_port *p) {
    asc_text_adds(t, " ");
    for (int k = 0; k < p->shape.rank; k++) {
        if (p->shape.dims[k] > 0)
            asc_text_addf(t, "%s%lld", k > 0 ? " x " : "", (long long)p->shape.dims[k]);
        else
            asc_text_addf(t, "%s?", k > 0 ? " x " : "");
    }
    asc_text_adds(t, "\n");
}

bool do_model(shell *s, const shell_command *c, asc_view rest) {
    asc_model *m = asc_subject_model(s->subject);
    const asc_net *net = asc_subject_net(s->subject);
    const char *path = asc_subject_path(s->subject);
    (void)c;
    (void)rest;
    asc_text_adds(s->out, "  file          ");
    asc_text_shown(s->out, (asc_view){path, strlen(path)}, 0);
    asc_text_adds(s->out, "\n");
    for (size_t i = 0; net != NULL && i < asc_net_n_inputs(net); i++) {
        asc_port p = asc_net_input(net, i);
        asc_text_addf(s->out, "  input         %s", p.name);
        shape(s->out, &p);
    }
    for (size_t i = 0; net != NULL && i < asc_net_n_outputs(net); i++) {
        asc_port p = asc_net_output(net, i);
        asc_text_addf(s->out, "  output        %s", p.name);
        shape(s->out, &p);
    }
    if (m != NULL) {
        asc_model_info i = asc_model_get_info(m);
        asc_text_addf(s->out, "  architecture  %s, %s\n", i.architecture,
                      i.encoder ? "a text encoder" : "a language model");
        asc_text_addf(
            s->out, "  size          %.1f million parameters, %lld layers, width %lld, %lld heads\n",
            (double)i.n_params / 1e6, (long long)i.n_layers, (long long)i.d_model, (long long)i.n_heads);
        asc_text_addf(s->out, "  vocabulary    %lld tokens; context of %lld\n", (long long)i.n_vocab,
                      (long long)i.context_length);
        if (!i.encoder)
            asc_text_addf(s->out, "  chat          %s\n",
                          asc_model_chat_template(m).len > 0 ? "it has a template" : "it has no template");
        for (size_t k = 0; k < i.n_adapters; k++)
            asc_text_addf(s->out, "  adapter       %s, times %g\n", i.adapters[k].path, i.adapters[k].scale);
        for (size_t k = 0; asc_model_class_name(m, k) != NULL && k < 20; k++)
            asc_text_addf(s->out, "  class         %s\n", asc_model_class_name(m, k));
    }
    shell_flush(s);
    return true;
}

bool do_sites(shell *s, const shell_command *c, asc_view rest) {
    char name[512];
    asc_model *m = asc_subject_model(s->subject);
    const asc_net *net = asc_subject_net(s->subject);
    size_t found = 0;
    (void)c;
    for (size_t i = 0;; i++) {
        const char *site = net != NULL ? asc_net_site(net, i) : name;
        if (m != NULL && !asc_model_site(m, i, name, sizeof name)) break;
        if (site == NULL) break;
        if (rest.len > 0 && memmem(site, strlen(site), rest.ptr, rest.len) == NULL) continue;
        asc_text_adds(s->out, "  ");
        asc_text_shown(s->out, (asc_view){site, strlen(site)}, 0);
        asc_text_adds(s->out, "\n");
        found++;
    }
    if (found == 0) return shell_fail(s, ":sites lists all", "no inner value has such a name");
    shell_flush(s);
    return true;
}

bool do_tokens(shell *s, const shell_command *c, asc_view rest) {
    const asc_tokenizer *tk = shell_tokenizer(s);
    asc_tokenize_options o = {.struct_size = sizeof o, .add_bos_eos = true};
    asc_token *v = NULL;
    const char *why;
    size_t n = 0, len;
    (void)c;
    if (rest.len == 0) return shell_fail(s, "", ":tokens needs a text");
    char *text = line_value(rest, &len, &why);
    if (text == NULL) return shell_fail(s, "", ":tokens: %s", why);
    asc_status st = asc_tokenize(s->ctx, tk, (asc_view){text, len}, &o, &v, &n);
    for (size_t i = 0; i < n; i++) {
        asc_text_addf(s->out, "%8d  \"", v[i].id);
        asc_text_shown(s->out, asc_token_piece(tk, v[i].id), 60);
        asc_text_adds(s->out, "\"\n");
    }
    if (st == ASC_OK) asc_text_addf(s->out, "  %zu tokens\n", n);
    asc_tokens_free(s->ctx, v);
    shell_flush(s);
    free(text);
    return st == ASC_OK || shell_error(s, st);
}

bool do_help(shell *s, const shell_command *c, asc_view rest) {
    char why[200];
    size_t columns = shell_style(s).columns;
    (void)c;
    if (columns > 100) columns = 100;
    if (rest.len > 0 && rest.ptr[0] == ':') rest = (asc_view){rest.ptr + 1, rest.len - 1};
    const shell_command *one = rest.len > 0 ? shell_command_find(rest, why, sizeof why) : NULL;
    const asc_question_key *k = one == NULL && rest.len > 0 ? settings_key(rest, s->kind) : NULL;
    if (one != NULL && one->key[0] != '\0') k = settings_key((asc_view){one->key, strlen(one->key)}, s->kind);
    if (rest.len > 0 && one == NULL && k == NULL) return shell_fail(s, ":help", "%s, and no such key", why);
    if (one != NULL) {
        asc_text_addf(s->out, "  :%s %s\n      ", one->name, one->args);
        asc_text_wrap(s->out, one->doc, 6, columns);
    }
    if (k != NULL) {
        asc_text_addf(s->out, "  key %s (%s)\n      ", k->name, asc_key_type_name(k->type));
        asc_text_wrap(s->out, k->doc, 6, columns);
        if (k->choices[0] != '\0') asc_text_addf(s->out, "      one of %s\n", k->choices);
    }
    if (rest.len == 0) {
        asc_text_wrap(s->out,
                      s->kind == ASC_KEY_NETS
                          ? "Commands begin with a colon."
                          : "A line is a prompt; commands begin with a colon. A line that ends "
                            "in \\ goes on, \"\"\" begins and ends a prompt of several lines.",
                      0, columns);
        shell_commands_text(s->out, s->kind, columns);
    }
    shell_flush(s);
    return true;
}

bool do_quit(shell *s, const shell_command *c, asc_view rest) {
    (void)c;
    (void)rest;
    s->quit = true;
    return true;
}
