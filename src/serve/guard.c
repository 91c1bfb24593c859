/* guard.c - who may ask: the checks of a request's headers before anything else looks at it.
 *
 * Host: a page of another name that resolves to us (DNS rebinding) is refused. Origin and Sec-Fetch-Site: a
 * page of another site cannot make its visitors post here. Token: compared by digest, in constant time.
 */
#include "server.h"
#include <arpa/inet.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>
#include <string.h>
#include <strings.h>

/* "name", "name:port", "[v6]:port" into name; false when it reads like none of these. */
static bool split_host(const char *host, char *name, size_t size) {
    size_t len;
    const char *rest;
    if (host[0] == '[') {
        const char *close = strchr(host, ']');
        if (close == NULL) return false;
        len = (size_t)(close - host - 1);
        rest = close + 1;
        host++;
    } else {
        len = strcspn(host, ":");
        rest = host + len;
    }
    if (len == 0 || len >= size) return false;
    memcpy(name, host, len);
    name[len] = '\0';
    if (*rest == '\0') return true;
    if (*rest++ != ':') return false;
    size_t digits = strspn(rest, "0123456789");
    return digits <= 5 && rest[digits] == '\0';
}

static bool in_list(const char *list, const char *name) {
    for (size_t n; list != NULL && *list != '\0'; list += n) {
        list += strspn(list, ", ");
        n = strcspn(list, ", ");
        if (n > 0 && n == strlen(name) && strncasecmp(list, name, n) == 0) return true;
    }
    return false;
}

bool guard_host(const guard_names *n, const char *host) {
    char name[256];
    struct in_addr v4;
    struct in6_addr v6;
    if (!split_host(host, name, sizeof name)) return false;
    size_t len = strlen(name);
    if (len > 1 && name[len - 1] == '.') name[len - 1] = '\0'; /* the same name, written in full */
    if (strcasecmp(name, "localhost") == 0 || in_list(n->more, name)) return true;
    if (n->host != NULL && strcasecmp(name, n->host) == 0) return true;
    if (strcasecmp(name, n->numeric) == 0) return true;
    /* No name has to be resolved to get here by number, so none can be rebound. */
    if (inet_pton(AF_INET, name, &v4) == 1) return n->any_address || (ntohl(v4.s_addr) >> 24) == 127;
    if (inet_pton(AF_INET6, name, &v6) == 1) return n->any_address || IN6_IS_ADDR_LOOPBACK(&v6);
    return !n->loopback && n->machine[0] != '\0' && strcasecmp(name, n->machine) == 0;
}

bool guard_origin(const char *origin, const char *host) {
    const char *rest = NULL;
    if (strncasecmp(origin, "http://", 7) == 0) rest = origin + 7;
    if (strncasecmp(origin, "https://", 8) == 0) rest = origin + 8; /* of a proxy before us */
    return rest != NULL && host != NULL && strcasecmp(rest, host) == 0;
}

static void digest(asc_view v, uint8_t out[SHA256_DIGEST_SIZE]) {
    struct sha256_ctx h;
    sha256_init(&h);
    sha256_update(&h, v.len, (const uint8_t *)v.ptr);
    sha256_digest(&h, SHA256_DIGEST_SIZE, out);
}

bool guard_same(asc_view a, asc_view b) {
    uint8_t x[SHA256_DIGEST_SIZE], y[SHA256_DIGEST_SIZE];
    digest(a, x);
    digest(b, y);
    return memeql_sec(x, y, sizeof x) != 0;
}

asc_view guard_bearer(const char *authorization) {
    if (authorization == NULL || strncasecmp(authorization, "Bearer ", 7) != 0) return (asc_view){NULL, 0};
    authorization += 7 + strspn(authorization + 7, " ");
    return (asc_view){authorization, strcspn(authorization, " ")};
}

static bool is_type(const char *type, const char *wanted) {
    size_t n = strlen(wanted);
    if (type == NULL || strncasecmp(type, wanted, n) != 0) return false;
    type += n + strspn(type + n, " \t");
    return *type == '\0' || *type == ';';
}

bool guard_is_json(const char *type) {
    if (!is_type(type, "application/json")) return false;
    const char *charset = strcasestr(type, "charset=");
    if (charset == NULL) return true;
    charset += 8 + (charset[8] == '"');
    return strncasecmp(charset, "utf-8", 5) == 0 || strncasecmp(charset, "utf8", 4) == 0;
}

bool guard_is_form(const char *type) {
    return is_type(type, "application/x-www-form-urlencoded") || is_type(type, "multipart/form-data");
}

bool guard_id(const char *id) { return strlen(id) == 16 && strspn(id, "0123456789abcdef") == 16; }

static enum MHD_Result count_hosts(void *cls, enum MHD_ValueKind kind, const char *key, const char *value) {
    (void)kind;
    (void)value;
    if (strcasecmp(key, "Host") == 0) ++*(size_t *)cls;
    return MHD_YES;
}

static bool refuse(exchange *x, int status, const char *code, const char *message, const char *hint) {
    exchange_fail(x, status, code, NULL, message, hint, 0);
    return false;
}

static bool check_host(exchange *x, const char *version) {
    size_t hosts = 0;
    const char *host = exchange_header(x, "Host");
    MHD_get_connection_values(x->mhd, MHD_HEADER_KIND, count_hosts, &hosts);
    if (hosts > 1) return refuse(x, 400, "bad_host", "the request has several Host headers", "send one");
    if (host == NULL) /* browsers speak 1.1, where it is compulsory */
        return strcmp(version, "HTTP/1.0") == 0 ||
               refuse(x, 400, "bad_host", "the request has no Host header", "HTTP/1.1 wants one");
    if (guard_host(&x->s->names, host)) return true;
    return refuse(x, 421, "wrong_host", "this server does not go by the name in the Host header",
                  "use the address it printed, or start it with --allow-host NAME");
}

static bool changes_state(const char *method) {
    return strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0 && strcmp(method, "OPTIONS") != 0;
}

static bool check_origin(exchange *x) {
    const char *origin = exchange_header(x, "Origin"), *site = exchange_header(x, "Sec-Fetch-Site");
    if (!changes_state(x->method)) return true;
    bool fine = (site == NULL || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0) &&
                (origin == NULL || guard_origin(origin, exchange_header(x, "Host")));
    return fine || refuse(x, 403, "cross_site", "a page of another site may not send this request",
                          "send it from this server's own page, or from a program");
}

bool exchange_is_trusted(const exchange *x) { return x->trusted; }

static bool check_token(exchange *x) {
    const server *s = x->s;
    const char *cookie = MHD_lookup_connection_value(x->mhd, MHD_COOKIE_KIND, "ascribe");
    asc_view sent = guard_bearer(exchange_header(x, "Authorization"));
    x->trusted = s->o.token == NULL;
    if (!x->trusted && sent.ptr != NULL)
        x->trusted = guard_same(sent, (asc_view){s->o.token, strlen(s->o.token)});
    if (!x->trusted && cookie != NULL)
        x->trusted = guard_same((asc_view){cookie, strlen(cookie)}, (asc_view){s->cookie, 64});
    if (x->trusted || (x->route != NULL && x->route->open)) return true;
    exchange_reply_header(x, "WWW-Authenticate", "Bearer realm=\"ascribe\"");
    return refuse(x, 401, sent.ptr != NULL ? "wrong_token" : "no_token",
                  sent.ptr != NULL ? "the token is not this server's" : "this server wants its token",
                  "send \"Authorization: Bearer TOKEN\" with the token it was started with");
}

static bool check_route(exchange *x, bool found) {
    char allow[160];
    if (strcmp(x->method, "OPTIONS") == 0 && (x->route != NULL || strcmp(x->path, "*") == 0)) {
        route_allow(x->s->routes, x->path, allow, sizeof allow);
        exchange_reply_header(x, "Allow", x->route != NULL ? allow : "GET, HEAD, POST, DELETE, OPTIONS");
        exchange_reply(x, 204, NULL, (asc_view){NULL, 0});
        return false;
    }
    if (x->route == NULL)
        return refuse(x, 404, "no_such_path", "there is nothing at this path",
                      "/openapi.json lists the paths");
    if (found) return true;
    route_allow(x->s->routes, x->path, allow, sizeof allow);
    exchange_reply_header(x, "Allow", allow);
    return refuse(x, 405, "wrong_method", "this path does not know this method",
                  "the Allow header lists those it knows");
}

/* What another reader of the same bytes could understand otherwise. */
typedef struct framing {
    size_t lengths, codings, spaced;
    size_t bytes; /* of all headers */
} framing;

static enum MHD_Result count_framing(void *cls, enum MHD_ValueKind kind, const char *key, const char *value) {
    framing *n = cls;
    (void)kind;
    n->bytes += strlen(key) + (value != NULL ? strlen(value) : 0) + 4;
    n->lengths += strcasecmp(key, "Content-Length") == 0;
    n->codings += strcasecmp(key, "Transfer-Encoding") == 0;
    n->spaced += key[strcspn(key, " \t")] != '\0';
    return MHD_YES;
}

/* A proxy before us may take another of two lengths, or read "Content-Length : 5" as a length: then one
 * request is smuggled inside another. */
static bool check_framing(exchange *x) {
    framing n = {0};
    MHD_get_connection_values(x->mhd, MHD_HEADER_KIND, count_framing, &n);
    x->close = n.lengths + n.codings > 1 || n.spaced > 0 || n.bytes > SERVE_HEADER_BYTES;
    if (n.bytes > SERVE_HEADER_BYTES) /* the library has room for twice that, and its own refusal says less */
        return refuse(x, 431, "headers_too_large", "the headers are larger than this server takes (32 kB)",
                      "send fewer cookies, or a shorter header");
    if (n.spaced > 0)
        return refuse(x, 400, "bad_header", "the name of a header has a space in it",
                      "write \"Name: value\"");
    return !x->close || refuse(x, 400, "two_lengths", "the request says more than once how long its body is",
                               "send one Content-Length, or one Transfer-Encoding");
}

static bool check_body(exchange *x) {
    const char *length = exchange_header(x, "Content-Length"),
               *coding = exchange_header(x, "Transfer-Encoding"), *type = exchange_header(x, "Content-Type");
    if (coding != NULL && strcasecmp(coding, "chunked") != 0) {
        x->close = true; /* where the body ends is not known */
        return refuse(x, 501, "unknown_coding", "the only Transfer-Encoding known here is chunked", NULL);
    }
    const char *packed = exchange_header(x, "Content-Encoding");
    if (packed != NULL && strcasecmp(packed, "identity") != 0)
        return refuse(x, 415, "packed_body", "compressed bodies are not read here", "send it as it is");
    bool has_body = coding != NULL || (length != NULL && strspn(length, "0") != strlen(length));
    if (!has_body || !changes_state(x->method) || !x->route) return true;
    if (x->route->page ? guard_is_form(type) : guard_is_json(type)) return true;
    return refuse(x, 415, "wrong_type",
                  x->route->page ? "this path reads forms" : "the Content-Type is to be application/json",
                  x->route->page ? "application/x-www-form-urlencoded or multipart/form-data"
                                 : "curl: -H 'Content-Type: application/json'");
}

bool guard_check(exchange *x, const char *version) {
    bool found = false;
    x->route = route_find(x->s->routes, x->method, x->path, x->parts, &x->n_parts, &found);
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0) {
        x->close = true;
        return refuse(x, 505, "http_version", "this server speaks HTTP/1.0 and HTTP/1.1", NULL);
    }
    return check_framing(x) && check_host(x, version) && check_origin(x) && check_route(x, found) &&
           check_token(x) && check_body(x);
}
