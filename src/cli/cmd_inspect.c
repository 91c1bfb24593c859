/* cmd_inspect.c - ascribe inspect: metadata, tensors, sites, memory, and what cannot be run. */
#include "ascribe/inspect.h"
#include "cli.h"
#include <stdio.h>
#include <string.h>

enum { SHOWN_VALUES = 5, SHOWN_TENSORS = 20, SHOWN_SITES = 8, JSON_VALUES = 16 };

static void value_text(asc_text *t, const asc_meta_value *v) {
    switch (v->kind) {
    case ASC_META_STRING:
        asc_text_adds(t, "\"");
        asc_text_shown(t, v->s, 56);
        asc_text_adds(t, "\"");
        break;
    case ASC_META_REAL:
        asc_text_addf(t, "%g", v->x);
        break;
    case ASC_META_BOOL:
        asc_text_adds(t, v->i != 0 ? "true" : "false");
        break;
    case ASC_META_INT:
        asc_text_addf(t, "%lld", (long long)v->i);
        break;
    default:
        asc_text_adds(t, "[...]");
    }
}

static void metadata(asc_text *t, const asc_inspect *f) {
    asc_meta_key k;
    asc_meta_value v;
    asc_text_adds(t, "\nMetadata\n");
    for (size_t i = 0; asc_inspect_key(f, i, &k); i++) {
        asc_text_adds(t, "  ");
        size_t w = asc_text_shown(t, k.key, 44);
        asc_text_blanks(t, w < 40 ? 42 - w : 2);
        if (k.is_array) asc_text_addf(t, "%zu x %s: ", k.count, k.type);
        for (size_t j = 0; j < (k.is_array ? SHOWN_VALUES : 1) && asc_inspect_value(f, i, j, &v); j++) {
            if (j > 0) asc_text_adds(t, ", ");
            if (k.is_array && v.kind == ASC_META_STRING && v.s.len > 12) v.s.len = 12;
            value_text(t, &v);
        }
        if (k.is_array && k.count > SHOWN_VALUES) asc_text_adds(t, ", ...");
        asc_text_adds(t, "\n");
    }
}

static void tensor_line(asc_text *t, const asc_tensor_entry *e) {
    char shape[128] = "";
    for (int k = 0; k < e->rank; k++) {
        size_t n = strlen(shape);
        snprintf(shape + n, sizeof shape - n, k > 0 ? " x %lld" : "%lld", (long long)e->dims[k]);
    }
    asc_text_adds(t, "  ");
    size_t w = asc_text_shown(t, e->name, 40);
    asc_text_blanks(t, w < 40 ? 41 - w : 1);
    asc_text_addf(t, "%-8s %-22s %14zu\n", e->type, shape, e->bytes);
}

typedef struct kind {
    const char *type;
    size_t n, bytes;
} kind;

static void tensors(asc_text *t, const asc_inspect *f, bool all) {
    kind kinds[64];
    size_t n_kinds = 0, n = asc_inspect_get_info(f).n_tensors;
    asc_tensor_entry e;
    asc_text_addf(t, "\nTensors (%zu)\n  %-40s %-8s %-22s %14s\n", n, "name", "type", "shape", "bytes");
    for (size_t i = 0; asc_inspect_tensor(f, i, &e); i++) {
        size_t k = 0;
        while (k < n_kinds && strcmp(kinds[k].type, e.type) != 0) k++;
        if (k == n_kinds && n_kinds < 64) kinds[n_kinds++] = (kind){.type = e.type};
        if (k < n_kinds) {
            kinds[k].n++;
            kinds[k].bytes += e.bytes;
        }
        if (all || i < SHOWN_TENSORS) tensor_line(t, &e);
    }
    if (!all && n > SHOWN_TENSORS) asc_text_addf(t, "  and %zu more (--all lists them)\n", n - SHOWN_TENSORS);
    asc_text_adds(t, "  by type:");
    for (size_t k = 0; k < n_kinds; k++)
        asc_text_addf(t, "%s %zu x %s (%.1f MB)", k > 0 ? "," : "", kinds[k].n, kinds[k].type,
                      (double)kinds[k].bytes / 1e6);
    asc_text_adds(t, "\n");
}

/* What an encoder says of a text: its classes, or an embedding. */
static void classes_part(asc_text *t, const asc_model *m) {
    enum { SHOWN_CLASSES = 8 };
    size_t n = asc_model_n_classes(m);
    const char *head = asc_model_get_info(m).head;
    if (n == 0 && head != NULL) {
        bool words = strcmp(head, "words") == 0;
        asc_text_addf(t, "  a text encoder that %s; embeddings of %zu numbers (--similar-to)\n",
                      words ? "guesses masked words (--text with the mask token, --target WORD)"
                            : "finds answers (--text QUESTION --second TEXT --target PART)",
                      asc_model_embedding_width(m));
        return;
    }
    if (n == 0) {
        asc_text_addf(t, "  a text encoder without classes: embeddings of %zu numbers (--similar-to)\n",
                      asc_model_embedding_width(m));
        return;
    }
    asc_text_addf(t, "  a text encoder with %zu class%s: ", n, n == 1 ? "" : "es");
    for (size_t i = 0; i < n && i < SHOWN_CLASSES; i++) {
        const char *name = asc_model_class_name(m, i);
        if (i > 0) asc_text_adds(t, ", ");
        asc_text_shown(t, (asc_view){name, strlen(name)}, 40);
    }
    if (n > SHOWN_CLASSES) asc_text_addf(t, " and %zu more", n - SHOWN_CLASSES);
    asc_text_adds(t, "\n");
}

static void model_part(asc_text *t, const asc_model *m, bool all) {
    asc_model_info i = asc_model_get_info(m);
    char site[96];
    size_t n = 0;
    asc_text_addf(
        t,
        "\nModel\n  %lld layers, width %lld, %lld heads (%lld for keys and values) of %lld, MLP %lld\n"
        "  vocabulary %lld, context %lld tokens, %.1f million parameters (%.1f without embedding and head)\n",
        (long long)i.n_layers, (long long)i.d_model, (long long)i.n_heads, (long long)i.n_kv_heads,
        (long long)i.head_dim, (long long)i.d_ff, (long long)i.n_vocab, (long long)i.context_length,
        (double)i.n_params / 1e6, (double)i.n_params_blocks / 1e6);
    if (i.encoder)
        classes_part(t, m);
    else
        asc_text_addf(t, "  %s head; %s\n", i.tied_head ? "tied" : "own",
                      i.scale_free ? "RMS norms without biases: the zero baseline has no meaning here"
                                   : "has biases: the zero baseline has a meaning");
    for (size_t a = 0; a < i.n_adapters; a++) {
        asc_text_adds(t, "  adapter ");
        asc_text_shown(t, (asc_view){i.adapters[a].path, strlen(i.adapters[a].path)}, 70);
        asc_text_addf(t, ", times %g\n", i.adapters[a].scale);
    }
    asc_tokenizer_info tk = asc_tokenizer_get_info(asc_model_tokenizer(m));
    asc_text_addf(t, "  tokenizer %s%s%s, begin %d, end %d, pad %d; chat template: %s\n", tk.model,
                  tk.pre[0] ? " / " : "", tk.pre, tk.bos, tk.eos, tk.pad,
                  asc_model_chat_template(m).ptr != NULL ? "yes" : "none");
    double copy = 4.0 * (double)i.n_params;
    asc_text_addf(t,
                  "\nMemory\n  the file, mapped: %.1f MB; an f32 copy of the weights (--weights expanded): "
                  "%.1f MB more\n  ",
                  (double)i.file_bytes / 1e6, copy / 1e6);
    if (!i.encoder)
        asc_text_addf(t, "keys and values: %.1f kB a token; ",
                      2 * 4e-3 * (double)i.n_layers * (double)i.n_kv_heads * (double)i.head_dim);
    asc_text_adds(t, "intermediate values: bounded by --memory (400M)\n");
    while (asc_model_site(m, n, site, sizeof site)) n++;
    asc_text_addf(t, "\nSites (%zu; for --site)\n", n);
    for (size_t s = 0; s < n && (all || s < SHOWN_SITES); s++) {
        if (asc_model_site(m, s, site, sizeof site)) asc_text_addf(t, "  %s\n", site);
    }
    if (!all && n > SHOWN_SITES) asc_text_addf(t, "  and %zu more (--all lists them)\n", n - SHOWN_SITES);
}

static void json_value(asc_text *t, const char *key, const asc_meta_value *v) {
    switch (v->kind) {
    case ASC_META_STRING:
        asc_text_str(t, key, v->s);
        break;
    case ASC_META_REAL:
        asc_text_num(t, key, v->x);
        break;
    case ASC_META_BOOL:
        asc_text_bool(t, key, v->i != 0);
        break;
    case ASC_META_INT:
        asc_text_int(t, key, v->i);
        break;
    default:
        asc_text_null(t, key);
    }
}

static void json_file(asc_text *t, const asc_inspect *f) {
    asc_meta_key k;
    asc_meta_value v;
    asc_tensor_entry e;
    asc_text_array(t, "metadata");
    for (size_t i = 0; asc_inspect_key(f, i, &k); i++) {
        asc_text_object(t, NULL);
        asc_text_str(t, "key", k.key);
        asc_text_strz(t, "type", k.type);
        if (k.is_array) {
            asc_text_int(t, "count", (int64_t)k.count);
            asc_text_array(t, "first");
            for (size_t j = 0; j < JSON_VALUES && asc_inspect_value(f, i, j, &v); j++)
                json_value(t, NULL, &v);
            asc_text_end(t);
        } else if (asc_inspect_value(f, i, 0, &v)) {
            json_value(t, "value", &v);
        }
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_array(t, "tensors");
    for (size_t i = 0; asc_inspect_tensor(f, i, &e); i++) {
        asc_text_object(t, NULL);
        asc_text_str(t, "name", e.name);
        asc_text_strz(t, "type", e.type);
        asc_text_array(t, "shape");
        for (int d = 0; d < e.rank; d++) asc_text_int(t, NULL, e.dims[d]);
        asc_text_end(t);
        asc_text_int(t, "bytes", (int64_t)e.bytes);
        asc_text_int(t, "offset", (int64_t)e.file_offset);
        asc_text_end(t);
    }
    asc_text_end(t);
}

static void json(cli *c, const asc_inspect *f, const asc_model *m, const char *unsupported) {
    asc_text *t = c->out;
    asc_inspect_info info = asc_inspect_get_info(f);
    char site[96];
    asc_text_object(t, NULL);
    asc_text_str(t, "file", (asc_view){c->operand[0], strlen(c->operand[0])});
    asc_text_strz(t, "format", info.format);
    asc_text_int(t, "version", info.version);
    asc_text_int(t, "file_bytes", (int64_t)info.file_bytes);
    asc_text_int(t, "alignment", (int64_t)info.alignment);
    if (info.architecture.ptr != NULL)
        asc_text_str(t, "architecture", info.architecture);
    else
        asc_text_null(t, "architecture");
    asc_text_bool(t, "supported", m != NULL);
    asc_text_strz(t, "unsupported", unsupported);
    if (m != NULL) {
        asc_model_info i = asc_model_get_info(m);
        asc_text_int(t, "parameters", i.n_params);
        asc_text_int(t, "layers", i.n_layers);
        asc_text_int(t, "width", i.d_model);
        asc_text_int(t, "vocabulary", i.n_vocab);
        asc_text_int(t, "context_length", i.context_length);
        asc_text_bool(t, "scale_free", i.scale_free);
        asc_text_array(t, "adapters");
        for (size_t a = 0; a < i.n_adapters; a++) {
            asc_text_object(t, NULL);
            asc_text_str(t, "path", (asc_view){i.adapters[a].path, strlen(i.adapters[a].path)});
            asc_text_num(t, "scale", i.adapters[a].scale);
            asc_text_end(t);
        }
        asc_text_end(t);
        asc_text_array(t, "sites");
        for (size_t s = 0; asc_model_site(m, s, site, sizeof site); s++) asc_text_strz(t, NULL, site);
        asc_text_end(t);
    }
    json_file(t, f);
    asc_text_end(t);
}

int cmd_inspect(cli *c) {
    asc_inspect *f = NULL;
    asc_model *m = NULL;
    char unsupported[1600] = "";
    if (cli_is_net(c->operand[0])) return cli_inspect_net(c);
    int rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    if (rc != EXIT_DONE) return rc;
    cli_watch_file(c->operand[0]);
    asc_status st = asc_inspect_open(c->ctx, c->operand[0], &f);
    if (st != ASC_OK) return cli_error(c, st);
    asc_inspect_info info = asc_inspect_get_info(f);
    cli_adapters a;
    if ((rc = cli_read_adapters(c, &a)) != EXIT_DONE) return rc;
    asc_model_options o = {.struct_size = sizeof o, .adapters = a.v, .n_adapters = a.n};
    st = asc_model_open(c->ctx, c->operand[0], &o, &m);
    if (st != ASC_OK && a.n > 0) {
        asc_inspect_close(f);
        return cli_error(c, st);
    }
    if (st != ASC_OK)
        snprintf(unsupported, sizeof unsupported, "%s%s%s", asc_error_message(c->ctx),
                 asc_error_hint(c->ctx)[0] ? "; " : "", asc_error_hint(c->ctx));
    if (cli_wants_json(c)) {
        json(c, f, m, m == NULL ? unsupported : NULL);
        rc = cli_write_json(c, c->out);
    } else {
        asc_text *t = c->out;
        asc_text_adds(t, "File ");
        asc_text_shown(t, (asc_view){c->operand[0], strlen(c->operand[0])}, 80);
        asc_text_addf(t, "\n  %s version %u, %zu bytes, %zu metadata entries, %zu tensors, architecture ",
                      info.format, info.version, info.file_bytes, info.n_keys, info.n_tensors);
        asc_text_shown(t, info.architecture.ptr != NULL ? info.architecture : (asc_view){"not named", 9}, 40);
        asc_text_adds(t, "\n");
        if (m != NULL) {
            model_part(t, m, cli_has(c, OPT_ALL));
        } else {
            asc_text_adds(t, "\nCannot be run\n  ");
            asc_text_wrap(t, unsupported, 2, 100);
        }
        metadata(t, f);
        tensors(t, f, cli_has(c, OPT_ALL));
        rc = cli_has(c, OPT_QUIET) ? EXIT_DONE : cli_flush(c);
    }
    asc_model_close(m);
    asc_inspect_close(f);
    return rc;
}
