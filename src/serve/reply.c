/* reply.c - what goes back: headers of every reply, errors in words, redirects and logins. */
#include "server.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool header_set(header **list, const char *name, const char *value) {
    size_t n = strlen(name) + 1;
    char *copy = strdup(value);
    if (copy == NULL) return false;
    for (header *h = *list; h != NULL; h = h->next) {
        if (strcasecmp(h->name, name) != 0) continue;
        free(h->value);
        h->value = copy;
        return true;
    }
    header *h = malloc(sizeof *h + n);
    if (h == NULL) {
        free(copy);
        return false;
    }
    memcpy(h->name, name, n);
    h->value = copy;
    h->next = *list;
    *list = h;
    return true;
}

const char *header_get(const header *list, const char *name) {
    for (; list != NULL; list = list->next)
        if (strcasecmp(list->name, name) == 0) return list->value;
    return NULL;
}

void header_free(header **list) {
    while (*list != NULL) {
        header *h = *list;
        *list = h->next;
        free(h->value);
        free(h);
    }
}

#define CSP_NOTHING "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
#define CSP_PAGE                                                                                             \
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data: blob:; "                  \
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/* Referrer-Policy is no stricter than this because browsers would send "Origin: null" with our own forms. */
static const struct {
    const char *name, *value;
} always[] = {{"X-Content-Type-Options", "nosniff"},
              {"Referrer-Policy", "same-origin"},
              {"X-Frame-Options", "DENY"},
              {"Cross-Origin-Resource-Policy", "same-origin"},
              {"Cross-Origin-Opener-Policy", "same-origin"},
              {"Cache-Control", "no-store"}};

void reply_headers(struct MHD_Response *r, const exchange *x, const header *own) {
    bool page = x->route != NULL && x->route->page;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        if (header_get(own, always[i].name) == NULL)
            MHD_add_response_header(r, always[i].name, always[i].value);
    }
    if (header_get(own, "Content-Security-Policy") == NULL)
        MHD_add_response_header(r, "Content-Security-Policy", page ? CSP_PAGE : CSP_NOTHING);
    MHD_add_response_header(r, "X-Request-Id", x->id);
    /* The library sees the end of a half-closed client's requests only if it comes after the reply; else such
     * a connection would wait for its time to run out. */
    if (x->close || (x->c != NULL && conn_has_left(x->c->fd)))
        MHD_add_response_header(r, "Connection", "close");
    for (; own != NULL; own = own->next) MHD_add_response_header(r, own->name, own->value);
}

/* ---- replies of handlers ---- */

void exchange_reply_header(exchange *x, const char *name, const char *value) {
    header_set(&x->headers, name, value); /* without memory the reply goes out without it */
}

void exchange_reply(exchange *x, int status, const char *content_type, asc_view body) {
    if (x->reply != NULL || x->job != NULL) return; /* each handler replies once */
    struct MHD_Response *r =
        MHD_create_response_from_buffer(body.len, (void *)(uintptr_t)body.ptr, MHD_RESPMEM_MUST_COPY);
    if (r == NULL) return; /* the connection is closed */
    if (content_type != NULL) header_set(&x->headers, "Content-Type", content_type);
    reply_headers(r, x, x->headers);
    x->reply = r;
    x->status = status;
    x->reply_bytes = strcmp(x->method, "HEAD") == 0 ? 0 : body.len;
}

void exchange_redirect(exchange *x, const char *path) {
    exchange_reply_header(x, "Location", path);
    exchange_reply(x, 303, NULL, (asc_view){NULL, 0});
}

/* ---- errors ---- */

static void put(char *out, size_t size, const char *s) { snprintf(out, size, "%s", s != NULL ? s : ""); }

void serve_fault_set(serve_fault *f, int status, const char *code, const char *param, const char *message,
                     const char *hint) {
    memset(f, 0, sizeof *f);
    f->status = status;
    put(f->code, sizeof f->code, code);
    put(f->param, sizeof f->param, param);
    put(f->message, sizeof f->message, message);
    put(f->hint, sizeof f->hint, hint);
}

static int status_of(asc_status st) {
    switch (st) {
    case ASC_INVALID_ARGUMENT:
    case ASC_OUT_OF_RANGE:
    case ASC_NOT_FOUND:
    case ASC_UNIMPLEMENTED:
    case ASC_DATA_LOSS: /* a picture or an array that the client sent; of the model see the worker */
        return 400;
    case ASC_RESOURCE_EXHAUSTED:
        return 413;
    case ASC_UNAVAILABLE:
    case ASC_FAILED_PRECONDITION:
        return 503;
    default:
        return 500;
    }
}

void serve_fault_status(serve_fault *f, asc_ctx *ctx, asc_status st) {
    char code[40];
    const char *name = asc_status_name(st), *message = ctx != NULL ? asc_error_message(ctx) : "";
    size_t n = 0;
    for (; name[n] != '\0' && n + 1 < sizeof code; n++)
        code[n] = (char)(name[n] >= 'A' && name[n] <= 'Z' ? name[n] - 'A' + 'a' : name[n]);
    code[n] = '\0';
    if (st == ASC_CANCELLED) { /* in a handler; the worker has its own words */
        serve_fault_set(f, 413, "too_long_to_price", NULL,
                        "what this request would take could not be told in time",
                        "ask for less, such as fewer samples");
        return;
    }
    if (message[0] == '\0') message = st == ASC_RESOURCE_EXHAUSTED ? "out of memory" : code;
    serve_fault_set(f, status_of(st), code, NULL, message, ctx != NULL ? asc_error_hint(ctx) : NULL);
}

void model_changed_fault(serve_fault *f, asc_ctx *ctx, asc_status st) {
    serve_fault_status(f, ctx, st);
    f->status = 503;
    snprintf(f->code, sizeof f->code, "model_changed");
    snprintf(f->hint, sizeof f->hint, "start the server again; until then it answers no questions");
}

static const char *type_of(int status) {
    if (status == 401) return "authentication_error";
    if (status == 403 || status == 421) return "permission_error";
    if (status == 404) return "not_found_error";
    if (status == 429) return "rate_limit_error";
    return status >= 500 ? "server_error" : "invalid_request_error";
}

/* A sentence that was cut may end inside a character; what is no UTF-8 becomes '?'. */
static json_t *text(const char *s) {
    json_t *t = json_string(s);
    char *copy;
    if (t != NULL || (copy = strdup(s)) == NULL) return t;
    for (char *c = copy; *c != '\0'; c++)
        if ((unsigned char)*c >= 0x80) *c = '?';
    t = json_string(copy);
    free(copy);
    return t;
}

static char *json_body(const serve_fault *f, const char *id) {
    json_t *doc = json_pack("{s:{s:o,s:s,s:s,s:o,s:o,s:s}}", "error", "message", text(f->message), "type",
                            type_of(f->status), "code", f->code, "param",
                            f->param[0] != '\0' ? text(f->param) : json_null(), "hint",
                            f->hint[0] != '\0' ? text(f->hint) : json_null(), "request_id", id);
    char *out = doc != NULL ? json_dumps(doc, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    json_decref(doc);
    return out;
}

static void escape(FILE *out, const char *s) {
    for (; *s != '\0'; s++) {
        if (strchr("&<>\"'", *s) != NULL)
            fprintf(out, "&#%d;", *s);
        else if ((unsigned char)*s >= 0x20)
            fputc(*s, out);
    }
}

static char *page_body(const serve_fault *f, const char *id) {
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (out == NULL) return NULL;
    fprintf(out,
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>ascribe: %d</title>"
            "<meta name=\"viewport\" content=\"width=device-width\"><link rel=\"stylesheet\" "
            "href=\"/page/style.css\"></head>\n<body><main><h1>",
            f->status);
    escape(out, f->message);
    fputs("</h1>\n", out);
    if (f->hint[0] != '\0') {
        fputs("<p>", out);
        escape(out, f->hint);
        fputs("</p>\n", out);
    }
    if (f->status == 401)
        fputs(
            "<form method=\"post\" action=\"/login\"><p><label>Token <input type=\"password\" name=\"token\" "
            "autocomplete=\"current-password\" required autofocus></label> <button>Log "
            "in</button></p></form>\n",
            out);
    fprintf(out, "<p><a href=\"/\">Back</a></p><p><small>request %s</small></p></main></body></html>\n", id);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

char *fault_body(const serve_fault *f, bool page, const char *request_id) {
    return page ? page_body(f, request_id) : json_body(f, request_id);
}

void exchange_fail_fault(exchange *x, const serve_fault *f) {
    char seconds[24];
    bool page = x->route != NULL && x->route->page;
    char *body = fault_body(f, page, x->id);
    if (f->retry_after_s > 0) {
        snprintf(seconds, sizeof seconds, "%.0f", ceil(f->retry_after_s));
        exchange_reply_header(x, "Retry-After", seconds);
    }
    const char *type = page ? "text/html; charset=utf-8" : "application/json";
    exchange_reply(x, f->status, body != NULL ? type : NULL,
                   (asc_view){body, body != NULL ? strlen(body) : 0});
    free(body);
}

void exchange_fail(exchange *x, int status, const char *code, const char *param, const char *message,
                   const char *hint, double retry_after_s) {
    serve_fault f;
    serve_fault_set(&f, status, code, param, message, hint);
    f.retry_after_s = retry_after_s;
    exchange_fail_fault(x, &f);
}

void exchange_fail_status(exchange *x, asc_ctx *ctx, asc_status st) {
    serve_fault f;
    serve_fault_status(&f, ctx, st);
    exchange_fail_fault(x, &f);
}

/* ---- logins of browsers ---- */

bool exchange_login(exchange *x, asc_view token) {
    char cookie[160];
    const char *wanted = x->s->o.token;
    if (wanted == NULL) return true;
    if (!guard_same(token, (asc_view){wanted, strlen(wanted)})) return false;
    snprintf(cookie, sizeof cookie, "ascribe=%s; HttpOnly; SameSite=Strict; Path=/", x->s->cookie);
    exchange_reply_header(x, "Set-Cookie", cookie);
    return true;
}

void serve_login(exchange *x) {
    if (exchange_login(x, exchange_field(x, "token")))
        exchange_redirect(x, "/");
    else
        exchange_fail(x, 401, "wrong_token", NULL, "the token is not this server's", "try again", 0);
}
