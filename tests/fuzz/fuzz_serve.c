/* fuzz_serve.c - what the server reads by hand: the first byte chooses what, the rest is what a client sent.
 */
#include "server.h"
#include <stdlib.h>
#include <string.h>

static void check(bool fine) {
    if (!fine) abort();
}

static void paths(const char *text) {
    part parts[SERVE_MAX_PARTS];
    size_t n;
    bool found;
    char allow[160];
    const route_table t = {serve_routes, serve_n_routes};
    const serve_route *r = route_find(t, "GET", text, parts, &n, &found);
    for (size_t i = 0; r != NULL && i < n; i++)
        check(strspn(parts[i].value, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(parts[i].value));
    check(r != NULL || !found);
    route_allow(t, text, allow, sizeof allow);
    check(strlen(allow) < sizeof allow);
}

static void hosts(const char *text) {
    const guard_names home = {.loopback = true, .host = "127.0.0.1", .numeric = "127.0.0.1"},
                      open = {.any_address = true,
                              .host = "0.0.0.0",
                              .more = "a.example",
                              .machine = "box",
                              .numeric = "0.0.0.0"};
    bool a = guard_host(&home, text), b = guard_host(&open, text);
    check(!a || b); /* whoever is let in at home is let in everywhere */
    check(!guard_origin(text, "localhost:1") || strlen(text) == strlen("http://localhost:1") ||
          strlen(text) == strlen("https://localhost:1"));
    asc_view v = guard_bearer(text);
    check(v.ptr == NULL || (v.ptr >= text && v.ptr + v.len <= text + strlen(text)));
    guard_is_json(text);
    guard_is_form(text);
}

static void ids(store *st, const char *text) {
    char *out = NULL;
    size_t len = 0;
    serve_fault f = {0};
    bool there = store_find(st, text, "json", &out, &len, &f);
    check(!there && out == NULL && f.status == 404);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static store *st;
    if (st == NULL) st = store_open(NULL, 1000);
    if (size < 1 || st == NULL) return 0;
    char *text = malloc(size);
    if (text == NULL) return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] % 3 == 0) paths(text);
    if (data[0] % 3 == 1) hosts(text);
    if (data[0] % 3 == 2) ids(st, text);
    free(text);
    return 0;
}
