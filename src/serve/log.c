/* log.c - one line on standard error for each request. Of what clients wrote it says nothing but sizes,
 * unless it was told to (--log-prompts); then what they wrote is shown with control characters escaped.
 */
#include "server.h"
#include <string.h>
#include <time.h>

enum { MOST_SHOWN = 4000 };

static void put_time(FILE *out) {
    char text[32];
    struct tm tm;
    time_t t = time(NULL);
    if (gmtime_r(&t, &tm) == NULL) return;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    fputs(text, out);
}

static void put_body(FILE *out, const exchange *x) {
    size_t n = x->body_len < MOST_SHOWN ? x->body_len : MOST_SHOWN;
    fputs(" body=\"", out);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)x->body[i];
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            fprintf(out, "\\x%02x", c);
        else
            fputc(c, out);
    }
    fputs(n < x->body_len ? "...\"" : "\"", out);
}

/* Clients choose it. */
static const char *shown_method(const char *method) {
    return method[strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0' ? method : "?";
}

void serve_log(const exchange *x, const job_line *j, double seconds) {
    const serve_options *o = &x->s->o;
    if (o->quiet) return;
    flockfile(stderr); /* lines of several threads stay whole */
    put_time(stderr);
    fprintf(stderr, " %s %s %s %s %d in=%zu out=%zu seconds=%.3f", x->id, x->c != NULL ? x->c->address : "?",
            shown_method(x->method), x->route != NULL ? x->route->path : "-", x->status, x->received,
            x->reply_bytes, seconds);
    if (j != NULL)
        fprintf(stderr, " job=%s waited=%.3f ran=%.3f predicted=%.3f tokens=%zu+%zu%s%s", j->kind, j->waited,
                j->ran, j->predicted, j->tokens_in, j->tokens_out, j->code[0] != '\0' ? " error=" : "",
                j->code);
    if (o->log_prompts && x->body_len > 0) put_body(stderr, x);
    fputc('\n', stderr);
    funlockfile(stderr);
}
