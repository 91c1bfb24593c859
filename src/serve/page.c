/* page.c - the page: its frame filled in, its files, what its script needs to know, saved results. */
#include "page.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

void page_put(FILE *f, asc_view v) {
    for (size_t i = 0; i < v.len; i++) {
        unsigned char c = (unsigned char)v.ptr[i];
        if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
            fprintf(f, "&#%d;", c);
        else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
            fputs("\xef\xbf\xbd", f);
        else
            fputc(c, f);
    }
}

void page_puts(FILE *f, const char *s) { page_put(f, (asc_view){s, strlen(s)}); }

const char *page_kind_name(asc_subject_kind kind) {
    return kind == ASC_SUBJECT_NET ? "net" : kind == ASC_SUBJECT_ENCODER ? "encoder" : "decoder";
}

bool page_key_known(const asc_question_key *k, asc_subject_kind kind) {
    unsigned bit = kind == ASC_SUBJECT_NET       ? ASC_KEY_NETS
                   : kind == ASC_SUBJECT_ENCODER ? ASC_KEY_ENCODERS
                                                 : ASC_KEY_PROMPTS;
    return (k->subjects & bit) != 0;
}

bool page_method_known(size_t i, asc_subject_kind kind) {
    asc_method_traits t = asc_method_traits_at(i);
    return kind == ASC_SUBJECT_NET ? t.nets : t.prompts;
}

bool page_is_chat(asc_subject *s) {
    asc_model *m = asc_subject_model(s);
    return asc_subject_get_kind(s) == ASC_SUBJECT_DECODER && m != NULL && asc_model_chat_template(m).len > 0;
}

/* [batch, 1 or 3, rows, columns] or [batch, rows, columns, 1 or 3]; an open size may be anything. */
int page_picture_input(asc_subject *s) {
    asc_net *net = asc_subject_net(s);
    size_t n = net != NULL ? asc_net_n_inputs(net) : 0;
    for (size_t i = 0; i < n; i++) {
        asc_shape d = asc_net_input(net, i).shape;
        if (d.rank != 4) continue;
        bool first = d.dims[1] == 1 || d.dims[1] == 3 || d.dims[1] < 0;
        if (first || d.dims[3] == 1 || d.dims[3] == 3 || asc_net_image_prep(net) != NULL) return (int)i;
    }
    return -1;
}

static const page_file *find(const char *path) {
    for (size_t i = 0; i < page_n_files; i++)
        if (strcmp(page_files[i].path, path) == 0) return &page_files[i];
    return NULL;
}

static const char *base_name(const char *path) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    size_t from = n;
    while (from > 0 && path[from - 1] != '/') from--;
    return path + from;
}

/* One {{name}} of the frame. */
static void fill(FILE *f, asc_view name, asc_subject *s, bool trusted) {
    char key[16] = "";
    if (name.len < sizeof key) memcpy(key, name.ptr, name.len);
    if (strcmp(key, "kind") == 0) fputs(page_kind_name(asc_subject_get_kind(s)), f);
    if (strcmp(key, "fields") == 0) page_fields(f, s, !trusted);
    if (strcmp(key, "version") == 0) fprintf(f, "ascribe %s", asc_version());
    if (strcmp(key, "model") == 0 && trusted) { /* strangers are not told which model it is */
        fputs(" Here: <b>", f);
        page_puts(f, base_name(asc_subject_path(s)));
        fputs("</b>.", f);
    }
}

void page_index(exchange *x) {
    const page_file *frame = find("/page/index.html");
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (f == NULL || frame == NULL) {
        if (f != NULL) fclose(f);
        free(text);
        exchange_fail(x, 500, "internal", NULL, "the page could not be made", "ask again", 0);
        return;
    }
    serve_bench *b = server_lock_bench(exchange_server(x));
    const char *p = (const char *)frame->bytes, *end = p + frame->len;
    while (p < end) {
        const char *open = memmem(p, (size_t)(end - p), "{{", 2);
        const char *close = open != NULL ? memmem(open, (size_t)(end - open), "}}", 2) : NULL;
        if (close == NULL) break;
        fwrite(p, 1, (size_t)(open - p), f);
        fill(f, (asc_view){open + 2, (size_t)(close - open - 2)}, b->subject, exchange_is_trusted(x));
        p = close + 2;
    }
    server_unlock_bench(exchange_server(x));
    fwrite(p, 1, (size_t)(end - p), f);
    if (fclose(f) != 0) {
        exchange_fail(x, 500, "internal", NULL, "the page could not be made", "ask again", 0);
    } else {
        exchange_reply_header(x, "Content-Security-Policy", PAGE_POLICY);
        /* With no-referrer browsers say "Origin: null" of the form, as strangers' pages would. */
        exchange_reply_header(x, "Referrer-Policy", "same-origin");
        exchange_reply(x, 200, "text/html; charset=utf-8", (asc_view){text, len});
    }
    free(text);
}

void page_file_get(exchange *x) {
    const page_file *file = find(exchange_path(x));
    if (file == NULL || strcmp(file->path, "/page/index.html") == 0) {
        exchange_fail(x, 404, "not_found", NULL, "the page has no such file", "the page is at /", 0);
        return;
    }
    const char *have = exchange_header(x, "If-None-Match");
    exchange_reply_header(x, "ETag", file->etag);
    exchange_reply_header(x, "Cache-Control", "no-cache");
    if (have != NULL && strstr(have, file->etag) != NULL)
        exchange_reply(x, 304, file->type, (asc_view){"", 0});
    else
        exchange_reply(x, 200, file->type, (asc_view){(const char *)file->bytes, file->len});
}

/* ---- what the script needs to know ----------------------------------------------------------------------
 */

static json_t *methods_json(asc_subject_kind kind) {
    json_t *list = json_array();
    const asc_method_info *m;
    for (size_t i = 0; (m = asc_method_at(i)) != NULL; i++) {
        if (!page_method_known(i, kind)) continue;
        json_array_append_new(list, json_pack("{ssssssss}", "name", m->name, "doc", m->doc, "cost", m->cost,
                                              "options", m->options));
    }
    return list;
}

static json_t *picture_json(asc_subject *s) {
    int i = page_picture_input(s);
    if (i < 0) return json_null();
    asc_net *net = asc_subject_net(s);
    asc_port p = asc_net_input(net, (size_t)i);
    const asc_image_prep *prep = asc_net_image_prep(net);
    bool nhwc = prep != NULL ? prep->nhwc
                             : p.shape.dims[1] != 1 && p.shape.dims[1] != 3 && p.shape.dims[3] > 0 &&
                                   p.shape.dims[3] <= 3;
    json_t *o = json_pack("{sssb}", "input", p.name, "nhwc", nhwc);
    if (o == NULL || prep == NULL) return o != NULL ? o : json_null();
    json_object_set_new(o, "resize_short", json_integer(prep->resize_short));
    json_object_set_new(o, "width", json_integer(prep->width));
    json_object_set_new(o, "height", json_integer(prep->height));
    json_object_set_new(o, "crop_width", json_integer(prep->crop_width));
    json_object_set_new(o, "crop_height", json_integer(prep->crop_height));
    return o;
}

void page_config(exchange *x) {
    serve_bench *b = server_lock_bench(exchange_server(x));
    asc_subject_kind kind = asc_subject_get_kind(b->subject);
    const asc_method_info *first = asc_method_at(0);
    json_t *o =
        json_pack("{sssssssbsoso}", "kind", page_kind_name(kind), "version", asc_version(), "default_method",
                  first != NULL ? first->name : "", "chat", page_is_chat(b->subject), "methods",
                  methods_json(kind), "picture", picture_json(b->subject));
    server_unlock_bench(exchange_server(x));
    char *text = o != NULL ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    if (text == NULL)
        exchange_fail(x, 500, "internal", NULL, "the page's settings could not be made", "ask again", 0);
    else
        exchange_reply(x, 200, "application/json", (asc_view){text, strlen(text)});
    free(text);
}

/* ---- saved results ----------------------------------------------------------------------------------------
 */

void page_result_policy(asc_view html, char *out, size_t size) {
    static const char before[] = "http-equiv=\"Content-Security-Policy\" content=\"",
                      sandbox[] = "sandbox allow-scripts; frame-ancestors 'none'";
    size_t look = html.len < 4096 ? html.len : 4096, n = 0;
    const char *p = memmem(html.ptr, look, before, sizeof before - 1);
    if (p != NULL) {
        p += sizeof before - 1;
        const char *end = memchr(p, '"', (size_t)(html.ptr + html.len - p));
        if (end != NULL) n = (size_t)(end - p);
        for (size_t i = 0; i < n; i++)
            if (p[i] < 0x20 || p[i] > 0x7e) n = 0; /* not a header */
    }
    if (n == 0 || n + sizeof sandbox + 2 > size)
        snprintf(out, size, "default-src 'none'; %s", sandbox);
    else
        snprintf(out, size, "%.*s; %s", (int)n, p, sandbox);
}

void page_result(exchange *x) {
    serve_fault fault = {0};
    char policy[1024];
    asc_text *t = NULL;
    serve_bench *b = server_lock_bench(exchange_server(x));
    asc_status st = asc_text_create(b->ctx, &t);
    if (st != ASC_OK) {
        exchange_fail_status(x, b->ctx, st);
    } else if (!store_get(exchange_server(x), exchange_part(x, "id"), "html", t, &fault)) {
        exchange_fail_fault(x, &fault);
    } else if ((st = asc_text_status(t)) != ASC_OK) {
        exchange_fail_status(x, b->ctx, st);
    } else {
        page_result_policy(asc_text_view(t), policy, sizeof policy);
        exchange_reply_header(x, "Content-Security-Policy", policy);
        exchange_reply(x, 200, "text/html; charset=utf-8", asc_text_view(t));
    }
    asc_text_destroy(t);
    server_unlock_bench(exchange_server(x));
}
