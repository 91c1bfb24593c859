/* api_test.h - a server inside the test, and a small HTTP client that knows no library of the server's. */
#ifndef ASC_API_TEST_H
#define ASC_API_TEST_H

#include "harness.h"
#include "server.h"
#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct reply {
    int status;
    char *head, *body; /* NUL-terminated */
    size_t len;
    json_t *json; /* NULL: the body is none */
} reply;

static inline server *api_up(const char *model, serve_options o) {
    server *s = NULL;
    o.model_path = model;
    o.quiet = true;
    if (o.max_seconds == 0.0) o.max_seconds = 1e6; /* slow machines are no fault of what is tested */
    if (o.idle_seconds == 0.0) o.idle_seconds = 1000;
    o.ctx.struct_size = sizeof o.ctx;
    if (o.ctx.device == NULL) o.ctx.device = "cpu";
    o.ctx.isa = suite_isa(); /* as the programs do whose answers are compared */
    if (o.ctx.n_threads == 0) o.ctx.n_threads = suite_threads();
    o.model.struct_size = sizeof o.model;
    assert_int_equal(server_start(&o, (route_table){serve_routes, serve_n_routes}, &s), 0);
    return s;
}

static inline void api_down(server *s) {
    server_stop_jobs(s, true);
    assert_true(server_is_idle(s, 300));
    server_stop(s);
}

static inline char *read_all(int fd, size_t *len) {
    size_t cap = 1 << 16, n = 0;
    char *t = malloc(cap + 1);
    for (ssize_t k; (k = read(fd, t + n, cap - n)) > 0;) {
        n += (size_t)k;
        if (n == cap) t = realloc(t, (cap *= 2) + 1);
    }
    t[n] = '\0';
    *len = n;
    return t;
}

/* Pieces of a chunked body, put together in place. */
static inline size_t unchunk(char *p, size_t len) {
    size_t in = 0, out = 0;
    while (in < len) {
        char *end;
        const size_t n = strtoul(p + in, &end, 16);
        in = (size_t)(end - p) + 2;
        if (n == 0 || in + n > len) break;
        memmove(p + out, p + in, n);
        out += n;
        in += n + 2;
    }
    p[out] = '\0';
    return out;
}

static inline reply api_call_bytes(server *s, const char *method, const char *path, const char *body,
                                   size_t len) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->port)};
    char head[512];
    reply r = {0};
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    const int n = snprintf(head, sizeof head,
                           "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n"
                           "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                           method, path, s->port, len);
    assert_int_equal(write(fd, head, (size_t)n), n);
    for (size_t at = 0; at < len;) {
        const ssize_t k = write(fd, body + at, len - at);
        if (k <= 0) break;
        at += (size_t)k;
    }
    r.head = read_all(fd, &r.len);
    close(fd);
    char *end = strstr(r.head, "\r\n\r\n");
    assert_non_null(end);
    end[2] = '\0';
    r.body = end + 4;
    r.len -= (size_t)(r.body - r.head);
    r.status = atoi(r.head + 9);
    if (strcasestr(r.head, "transfer-encoding: chunked") != NULL) r.len = unchunk(r.body, r.len);
    r.json = json_loadb(r.body, r.len, JSON_ALLOW_NUL, NULL);
    return r;
}

static inline reply api_call(server *s, const char *method, const char *path, const char *body) {
    return api_call_bytes(s, method, path, body != NULL ? body : "", body != NULL ? strlen(body) : 0);
}

static inline void reply_free(reply *r) {
    json_decref(r->json);
    free(r->head);
}

/* A header's value; "" without one. Lives until the next call. */
static inline const char *reply_header(const reply *r, const char *name) {
    static char value[256];
    char key[80];
    snprintf(key, sizeof key, "\r\n%s: ", name);
    const char *at = strcasestr(r->head, key);
    value[0] = '\0';
    if (at != NULL) sscanf(at + strlen(key), "%255[^\r]", value);
    return value;
}

/* "choices.0.message.content"; NULL when it is not there. */
static inline json_t *at(json_t *v, const char *path) {
    char step[64];
    while (v != NULL && *path != '\0') {
        const size_t n = strcspn(path, ".");
        snprintf(step, sizeof step, "%.*s", (int)n, path);
        v = json_is_array(v) ? json_array_get(v, (size_t)atoi(step)) : json_object_get(v, step);
        path += n + (path[n] == '.');
    }
    return v;
}
static inline const char *text_at(json_t *v, const char *path) { return json_string_value(at(v, path)); }

/* Calls f with the data of each server-sent event (name "" without one). */
static inline void each_event(reply *r, void (*f)(void *self, const char *name, const char *data),
                              void *self) {
    char *p = r->body;
    while (*p != '\0') {
        char *end = strstr(p, "\n\n"), name[32] = "";
        assert_non_null(end);
        *end = '\0';
        if (strncmp(p, "event: ", 7) == 0) {
            sscanf(p + 7, "%31[a-z]", name);
            p = strchr(p, '\n') + 1;
        }
        assert_int_equal(strncmp(p, "data: ", 6), 0);
        assert_null(strchr(p, '\n')); /* one line: some clients read no more */
        f(self, name, p + 6);
        p = end + 2;
    }
}

/* The zoo's model with a chat template put in front of its metadata (lengths of whole 32 bytes keep the
 * tensors aligned), written to a file of its own; its path lives until the next call. */
static inline const char *chat_model(void) {
    static const char template[] = "{% if tools %}tools {{ tools|tojson }}\n{% endif %}"
                                   "{% for m in messages %}{{ m.role }}: {{ m.content }}"
                                   "{% for c in m.tool_calls or [] %} {{ c.function.name }} "
                                   "{{ c.function.arguments|tojson }}{% endfor %}{{ '\\n' }}{% endfor %}"
                                   "{% if add_generation_prompt %}assistant:{% endif %}{#";
    static const char key[] = "tokenizer.chat_template";
    static char path[TEST_TMP];
    unsigned char kv[512];
    FILE *in = fopen(test_data("goldens/zoo_gguf/llama-q4_1/model.gguf"), "rb");
    assert_non_null(in);
    size_t len = 0, n = 8 + sizeof key - 1 + 4 + 8, text = sizeof template - 1;
    char *file = read_all(fileno(in), &len);
    fclose(in);
    while ((n + text + 2) % 32 != 0) text++;
    memset(kv, ' ', sizeof kv);
    memcpy(kv, &(uint64_t){sizeof key - 1}, 8);
    memcpy(kv + 8, key, sizeof key - 1);
    memcpy(kv + 8 + sizeof key - 1, &(uint32_t){8}, 4);
    memcpy(kv + 12 + sizeof key - 1, &(uint64_t){text + 2}, 8);
    memcpy(kv + n, template, sizeof template - 1);
    memcpy(kv + n + text, "#}", 2);
    uint64_t n_kv;
    memcpy(&n_kv, file + 16, 8);
    n_kv++;
    memcpy(file + 16, &n_kv, 8);
    const int fd = mkstemps(test_tmp_name(path, "asc-chat-XXXXXX.gguf"), 5);
    assert_true(fd >= 0);
    FILE *out = fdopen(fd, "wb");
    assert_non_null(out);
    fwrite(file, 1, 24, out);
    fwrite(kv, 1, n + text + 2, out);
    fwrite(file + 24, 1, len - 24, out);
    assert_int_equal(fclose(out), 0);
    free(file);
    return path;
}

/* A server of the chat model for all tests of a program. */
typedef struct fixture {
    server *s;
    char path[TEST_TMP];
} fixture;

static inline int chat_up(void **state) {
    static fixture f;
    snprintf(f.path, sizeof f.path, "%s", chat_model());
    f.s = api_up(f.path, (serve_options){0});
    *state = &f;
    return 0;
}

static inline int chat_down(void **state) {
    fixture *f = *state;
    api_down(f->s);
    unlink(f->path);
    return 0;
}

#endif
