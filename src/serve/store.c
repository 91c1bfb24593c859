/* store.c - saved results, found again by an id made of their content (the first 16 digits of its SHA-256).
 *
 * In memory the newest 64 are kept and older ones forgotten. In a folder nothing is ever forgotten or
 * replaced: both documents are written beside their places, made durable and renamed, the JSON last, so that
 * whoever finds it finds all. When the disk or the allowance is full, the new result is refused and what is
 * there stays.
 */
#include "server.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_KEPT = 64 };
static const size_t MAX_DOCUMENT = (size_t)256 << 20; /* bytes that are read back */

typedef struct kept {
    char id[17];
    char *text[2]; /* json, html */
    size_t len[2];
} kept;

struct store {
    pthread_mutex_t lock;
    char *folder; /* NULL: in memory */
    int dir;
    size_t max_bytes, bytes, n;
    kept ring[MAX_KEPT]; /* newest last */
};

static const char *const kinds[2] = {"json", "html"};

/* ---- opening ---- */

static bool is_result(const char *name) {
    char id[17];
    size_t n = strlen(name);
    if (n != 21 || (strcmp(name + 16, ".json") != 0 && strcmp(name + 16, ".html") != 0)) return false;
    memcpy(id, name, 16);
    id[16] = '\0';
    return guard_id(id);
}

/* Pieces of a write that was interrupted: nobody writes for so long. Another server may share the folder, so
 * younger ones stay. */
static bool is_abandoned(const store *st, const char *name) {
    enum { OLD_SECONDS = 600 };
    struct stat info;
    return strncmp(name, ".new-", 5) == 0 && fstatat(st->dir, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
           time(NULL) - info.st_mtime > OLD_SECONDS;
}

/* What is there counts against the allowance. */
static bool survey(store *st) {
    struct stat info;
    int fd = dup(st->dir);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (d == NULL) {
        if (fd >= 0) close(fd);
        return false;
    }
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        if (is_abandoned(st, e->d_name)) unlinkat(st->dir, e->d_name, 0);
        if (!is_result(e->d_name) || fstatat(st->dir, e->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
        st->bytes += (size_t)info.st_size;
        st->n += strcmp(e->d_name + 16, ".json") == 0;
    }
    closedir(d);
    return true;
}

static bool open_folder(store *st, const char *folder) {
    st->folder = strdup(folder);
    if (st->folder == NULL) return false;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) return false;
    st->dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return st->dir >= 0 && faccessat(st->dir, ".", R_OK | W_OK | X_OK, 0) == 0 && survey(st);
}

store *store_open(const char *folder, size_t max_bytes) {
    store *st = calloc(1, sizeof *st);
    if (st == NULL || pthread_mutex_init(&st->lock, NULL) != 0) {
        free(st);
        return NULL;
    }
    st->dir = -1;
    st->max_bytes = max_bytes;
    if (folder == NULL || open_folder(st, folder)) return st;
    fprintf(stderr, "ascribe: cannot keep results in '%.300s': %s\n  try: a folder that may be written to\n",
            folder, strerror(errno));
    store_close(st);
    return NULL;
}

static void forget(store *st, kept *k) {
    for (int i = 0; i < 2; i++) {
        st->bytes -= k->len[i];
        free(k->text[i]);
    }
    memset(k, 0, sizeof *k);
}

void store_close(store *st) {
    if (st == NULL) return;
    for (size_t i = 0; st->folder == NULL && i < st->n; i++) forget(st, &st->ring[i]);
    if (st->dir >= 0) close(st->dir);
    pthread_mutex_destroy(&st->lock);
    free(st->folder);
    free(st);
}

void store_size(store *st, size_t *n, size_t *bytes) {
    pthread_mutex_lock(&st->lock);
    *n = st->n;
    *bytes = st->bytes;
    pthread_mutex_unlock(&st->lock);
}

/* ---- adding ---- */

static void name_it(asc_view json, asc_view html, char id[17]) {
    struct sha256_ctx h;
    uint8_t d[SHA256_DIGEST_SIZE];
    const uint64_t lens[2] = {json.len, html.len};
    sha256_init(&h);
    sha256_update(&h, sizeof lens, (const uint8_t *)lens);
    sha256_update(&h, json.len, (const uint8_t *)json.ptr);
    sha256_update(&h, html.len, (const uint8_t *)html.ptr);
    sha256_digest(&h, sizeof d, d);
    for (int i = 0; i < 8; i++) snprintf(id + 2 * i, 3, "%02x", d[i]);
}

static bool full(serve_fault *f, const char *why) {
    serve_fault_set(f, 507, "store_full", NULL, why,
                    "remove old results, or start the server with another --store");
    return false;
}

static bool keep(store *st, const asc_view v[2], const char *id, serve_fault *f) {
    kept k = {0};
    for (size_t i = 0; i < st->n; i++)
        if (strcmp(st->ring[i].id, id) == 0) return true;
    if (v[0].len + v[1].len > st->max_bytes) return full(f, "the result is larger than all that may be kept");
    for (int i = 0; i < 2; i++) {
        k.text[i] = malloc(v[i].len + 1);
        if (k.text[i] == NULL) {
            free(k.text[0]);
            return full(f, "no memory to keep the result");
        }
        if (v[i].len > 0) memcpy(k.text[i], v[i].ptr, v[i].len);
        k.len[i] = v[i].len;
    }
    memcpy(k.id, id, sizeof k.id);
    while (st->n == MAX_KEPT || (st->n > 0 && st->bytes + k.len[0] + k.len[1] > st->max_bytes)) {
        forget(st, &st->ring[0]);
        memmove(&st->ring[0], &st->ring[1], --st->n * sizeof *st->ring);
    }
    st->ring[st->n++] = k;
    st->bytes += k.len[0] + k.len[1];
    return true;
}

static bool write_all(int fd, asc_view v) {
    for (size_t at = 0; at < v.len;) {
        ssize_t n = write(fd, v.ptr + at, v.len - at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += (size_t)n;
    }
    return true;
}

static bool write_new(const store *st, const char *name, asc_view v) {
    int fd = openat(st->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return false;
    bool fine = write_all(fd, v) && fsync(fd) == 0;
    int error = errno;
    fine = close(fd) == 0 && fine;
    if (!fine) {
        unlinkat(st->dir, name, 0);
        errno = error;
    }
    return fine;
}

static bool add_files(store *st, const asc_view v[2], const char *id, serve_fault *f) {
    char names[2][32], news[2][40], why[200];
    struct stat info;
    for (int i = 0; i < 2; i++) {
        snprintf(names[i], sizeof names[i], "%s.%s", id, kinds[i]);
        snprintf(news[i], sizeof news[i], ".new-%s", names[i]);
    }
    if (fstatat(st->dir, names[0], &info, AT_SYMLINK_NOFOLLOW) == 0) return true;
    if (st->bytes + v[0].len + v[1].len > st->max_bytes)
        return full(f, "the folder of results holds all that it may (--max-store)");
    bool fine = write_new(st, news[1], v[1]) && write_new(st, news[0], v[0]) &&
                renameat(st->dir, news[1], st->dir, names[1]) == 0 &&
                renameat(st->dir, news[0], st->dir, names[0]) == 0;
    if (fine) {
        fsync(st->dir);
        st->bytes += v[0].len + v[1].len;
        st->n++;
        return true;
    }
    int error = errno;
    for (int i = 0; i < 2; i++) unlinkat(st->dir, news[i], 0);
    snprintf(why, sizeof why, "the result cannot be saved: %s", strerror(error));
    return full(f, why);
}

bool store_add(store *st, asc_view json, asc_view html, char id[17], serve_fault *fault) {
    const asc_view v[2] = {json, html};
    name_it(json, html, id);
    pthread_mutex_lock(&st->lock);
    bool fine = st->folder != NULL ? add_files(st, v, id, fault) : keep(st, v, id, fault);
    pthread_mutex_unlock(&st->lock);
    return fine;
}

/* ---- finding ---- */

static bool missing(serve_fault *f) {
    serve_fault_set(f, 404, "no_such_result", NULL, "no result of this id is kept",
                    "ask again; without --store only the newest are kept");
    return false;
}

static bool read_file(const store *st, const char *name, char **out, size_t *len) {
    struct stat info;
    int fd = openat(st->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return false;
    bool fine = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (size_t)info.st_size <= MAX_DOCUMENT;
    char *text = fine ? malloc((size_t)info.st_size + 1) : NULL;
    size_t n = 0;
    while (text != NULL && n < (size_t)info.st_size) {
        ssize_t got = read(fd, text + n, (size_t)info.st_size - n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        n += (size_t)got;
    }
    close(fd);
    *out = text;
    *len = n;
    return text != NULL;
}

static bool copy(const kept *k, int kind, char **out, size_t *len) {
    *out = malloc(k->len[kind] + 1);
    if (*out == NULL) return false;
    memcpy(*out, k->text[kind], k->len[kind]);
    *len = k->len[kind];
    return true;
}

bool store_find(store *st, const char *id, const char *kind, char **out, size_t *len, serve_fault *fault) {
    char name[32];
    int which = strcmp(kind, kinds[0]) == 0 ? 0 : 1;
    bool fine = false;
    *out = NULL;
    *len = 0;
    if (!guard_id(id) || strcmp(kind, kinds[which]) != 0) return missing(fault);
    pthread_mutex_lock(&st->lock);
    if (st->folder != NULL) {
        snprintf(name, sizeof name, "%s.%s", id, kind);
        fine = read_file(st, name, out, len);
    }
    for (size_t i = 0; st->folder == NULL && i < st->n; i++)
        if (strcmp(st->ring[i].id, id) == 0) fine = copy(&st->ring[i], which, out, len);
    pthread_mutex_unlock(&st->lock);
    return fine || missing(fault);
}

bool store_put(server *s, asc_view json, asc_view html, char id[17], serve_fault *fault) {
    return store_add(s->store, json, html, id, fault);
}

bool store_get(server *s, const char *id, const char *kind, asc_text *out, serve_fault *fault) {
    char *text = NULL;
    size_t len = 0;
    if (!store_find(s->store, id, kind, &text, &len, fault)) return false;
    asc_text_add(out, (asc_view){text, len});
    free(text);
    return true;
}
