/* route.c - which handler a path belongs to. Paths are compared byte by byte; {name} stands for one run of
 * a-z, 0-9 and -, so nothing that walks through folders ever reaches a handler as a part. */
#include "server.h"
#include <string.h>

const serve_route serve_routes[] = {
#define ROUTE(method, path, handle, page, open, doc) {#method, path, doc, handle, page, open},
#include "routes.def"
#undef ROUTE
};
const size_t serve_n_routes = sizeof serve_routes / sizeof *serve_routes;

static bool in_part(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

bool route_match(const char *pattern, const char *path, part *parts, size_t *n) {
    *n = 0;
    while (*pattern != '\0') {
        if (*pattern != '{') {
            if (*pattern++ != *path++) return false;
            continue;
        }
        const char *close = strchr(pattern, '}');
        size_t len = 0;
        while (in_part(path[len])) len++;
        if (close == NULL || len == 0 || len > SERVE_MAX_PART || *n == SERVE_MAX_PARTS) return false;
        part *p = &parts[(*n)++];
        p->name = pattern + 1;
        p->name_len = (size_t)(close - pattern - 1);
        memcpy(p->value, path, len);
        p->value[len] = '\0';
        pattern = close + 1;
        path += len;
    }
    return *path == '\0';
}

const serve_route *route_find(route_table t, const char *method, const char *path, part *parts, size_t *n,
                              bool *found) {
    const serve_route *near = NULL;
    part own[SERVE_MAX_PARTS];
    size_t n_own;
    *found = false;
    *n = 0;
    for (size_t i = 0; i < t.n; i++) {
        const serve_route *r = &t.v[i];
        if (!route_match(r->path, path, own, &n_own)) continue;
        near = near != NULL ? near : r;
        if (strcmp(r->method, method) != 0 && !(strcmp(method, "HEAD") == 0 && strcmp(r->method, "GET") == 0))
            continue;
        memcpy(parts, own, n_own * sizeof *own);
        *n = n_own;
        *found = true;
        return r;
    }
    return near;
}

void route_allow(route_table t, const char *path, char *out, size_t size) {
    part parts[SERVE_MAX_PARTS];
    size_t n, used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < t.n; i++) {
        const serve_route *r = &t.v[i];
        if (!route_match(r->path, path, parts, &n)) continue;
        int w = snprintf(out + used, size - used, "%s%s, ", r->method,
                         strcmp(r->method, "GET") == 0 ? ", HEAD" : "");
        if (w > 0 && (size_t)w < size - used) used += (size_t)w;
    }
    snprintf(out + used, size - used, "OPTIONS");
}
