/* disk_cache.c - the folder of executables; see disk.h. A file's name is the SHA-256 of its whole key and
 * build; what is in it is compared word by word all the same. Files appear by rename and go by unlink, so a
 * reader sees whole files only, whatever other processes do or wherever they are stopped. */
#include "disk.h"
#include "disk_folder.h"
#include "env.h"
#include "file.h"
#include "hash.h"
#include "strbuf.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t MOST_FILE = (size_t)1 << 30;

static asc_disk *disk_of(const asc_ctx *ctx) { return &asc_runtime_of(ctx)->disk; }

static asc_status set_dir(asc_ctx *ctx, const char *a, const char *b) {
    asc_disk *d = disk_of(ctx);
    int n = snprintf(d->dir, sizeof d->dir, "%s%s", a, b);
    if (n >= 0 && (size_t)n + 80 < sizeof d->dir) return ASC_OK;
    d->dir[0] = '\0';
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the path of the program cache is too long: '%.60s...'", a);
    return asc_hint(ctx, "set ASC_CACHE_DIR to a shorter one, or ASC_CACHE=0");
}

asc_status asc_disk_init(asc_ctx *ctx) {
    disk_of(ctx)->max_bytes = (size_t)256 << 20;
    disk_of(ctx)->worth_ns = 1000000;
    const char *dir = asc_env_text(ASC_ENV_CACHE_DIR);
    return dir[0] == '\0' || !asc_env_flag(ASC_ENV_CACHE) ? ASC_OK : set_dir(ctx, dir, "");
}

asc_status asc_disk_cache_use(asc_ctx *ctx, const char *dir) {
    asc_disk *d = disk_of(ctx);
    d->dir[0] = '\0';
    if (!asc_env_flag(ASC_ENV_CACHE)) return ASC_OK;
    if (dir != NULL) return set_dir(ctx, dir, "");
    const char *given = asc_env_text(ASC_ENV_CACHE_DIR), *base = asc_env_text(ASC_ENV_XDG_CACHE_HOME);
    if (given[0] != '\0') return set_dir(ctx, given, "");
    if (base[0] == '/') return set_dir(ctx, base, "/ascribe/v1");
    const char *home = asc_env_text(ASC_ENV_HOME);
    return home[0] == '/' ? set_dir(ctx, home, "/.cache/ascribe/v1") : ASC_OK;
}

const char *asc_disk_cache_dir(const asc_ctx *ctx) { return disk_of(ctx)->dir; }
asc_disk_stats asc_disk_cache_stats(const asc_ctx *ctx) { return disk_of(ctx)->stats; }

/* Path of the program with this key. The key is long: its own digest and the build's are what is named. */
static void path_of(asc_ctx *ctx, const uint64_t *key, size_t n_key, char out[ASC_DISK_MOST_PATH]) {
    char build[ASC_DISK_MOST_BUILD], named[ASC_DISK_MOST_BUILD + 80], hex[65];
    asc_sha256_hex(key, n_key * sizeof *key, hex);
    asc_disk_build_text(ctx, build);
    snprintf(named, sizeof named, "%s %s", build, hex);
    asc_sha256_hex(named, strlen(named), hex);
    snprintf(out, ASC_DISK_MOST_PATH, "%s/%.40s.prog", disk_of(ctx)->dir, hex);
}

static void complain(asc_ctx *ctx, const char *what) {
    asc_disk *d = disk_of(ctx);
    if (!d->complained)
        asc_logf(ctx, ASC_LOG_WARN, "program cache: %s: %s; going on without it", what,
                 asc_error_message(ctx));
    d->complained = true;
}

asc_exe *asc_disk_load(asc_ctx *ctx, const uint64_t *key, size_t n_key) {
    asc_disk *d = disk_of(ctx);
    const asc_error before = ctx->error;
    char path[ASC_DISK_MOST_PATH], *bytes = NULL;
    size_t n = 0;
    asc_exe *e = NULL;
    if (d->dir[0] == '\0') return NULL;
    path_of(ctx, key, n_key, path);
    if (access(path, R_OK) != 0) {
        d->stats.misses++;
        return NULL;
    }
    asc_status st = asc_file_read(ctx, path, MOST_FILE, &bytes, &n);
    if (st == ASC_OK) st = asc_disk_unpack(ctx, bytes, n, key, n_key, &e);
    if (st == ASC_OK) {
        d->stats.hits++;
        (void)utimensat(AT_FDCWD, path, NULL,
                        0); /* used just now; a folder that is read-only stays as it is */
    } else {
        d->stats.misses++;
        d->stats.bad += st != ASC_NOT_FOUND;
        if (st != ASC_NOT_FOUND)
            asc_logf(ctx, ASC_LOG_WARN, "program cache: '%s': %s; made anew", path, asc_error_message(ctx));
    }
    asc_free(ctx, bytes);
    ctx->error = before;
    return e;
}

/* Least recently used files go until the bound holds. */
static asc_status shrink(asc_ctx *ctx, const asc_disk *d) {
    asc_folder f;
    asc_status st = asc_folder_read(ctx, d->dir, ".prog", &f);
    for (size_t i = f.n; st == ASC_OK && i-- > 0 && f.bytes > d->max_bytes;) {
        f.bytes -= f.files[i].bytes;
        asc_folder_remove(d->dir, &f.files[i]);
    }
    asc_folder_free(ctx, &f);
    return st;
}

/* What the last processes had to make, a line each, the newest last; bounded. */
static asc_status note_miss(asc_ctx *ctx, const char *why, const asc_exe *e) {
    enum { MOST = 64 << 10 };
    char path[ASC_DISK_MOST_PATH], *old = NULL;
    size_t n = 0;
    asc_strbuf b;
    snprintf(path, sizeof path, "%s/misses.txt", disk_of(ctx)->dir);
    asc_strbuf_init(&b, ctx);
    if (asc_file_read(ctx, path, MOST, &old, &n) == ASC_OK) {
        const char *from = old;
        if (n > MOST / 2) { /* the older half goes */
            from = strchr(old + n - MOST / 2, '\n');
            from = from != NULL ? from + 1 : old + n;
        }
        asc_strbuf_add(&b, from, (size_t)(old + n - from));
    }
    asc_strbuf_addf(&b, "%lld %zu nodes made in %.1f ms: %s\n", (long long)asc_folder_now(),
                    e->program.n_nodes, 1e-6 * (double)e->compile_ns, why);
    asc_status st = asc_strbuf_status(&b);
    if (st == ASC_OK) st = asc_folder_write(ctx, path, b.ptr, b.len);
    asc_strbuf_deinit(&b);
    asc_free(ctx, old);
    return st;
}

void asc_disk_store(asc_ctx *ctx, const uint64_t *key, size_t n_key, const asc_exe *e, const char *why) {
    asc_disk *d = disk_of(ctx);
    const asc_error before = ctx->error;
    char path[ASC_DISK_MOST_PATH];
    asc_strbuf b;
    if (d->dir[0] == '\0' || e->compile_ns < d->worth_ns) return;
    asc_strbuf_init(&b, ctx);
    asc_status st = asc_disk_pack(ctx, key, n_key, e, &b);
    if (st == ASC_UNIMPLEMENTED) goto done;
    path_of(ctx, key, n_key, path);
    if (st == ASC_OK) st = asc_folder_make(ctx, d->dir);
    if (st == ASC_OK && !d->cleaned) {
        asc_folder_clean(ctx, d->dir, 3600.0);
        d->cleaned = true;
    }
    if (st == ASC_OK) st = asc_folder_write(ctx, path, b.ptr, b.len);
    if (st == ASC_OK) d->stats.written++;
    if (st == ASC_OK) st = note_miss(ctx, why, e);
    if (st == ASC_OK) st = shrink(ctx, d);
    if (st != ASC_OK) complain(ctx, "cannot write");
done:
    asc_strbuf_deinit(&b);
    ctx->error = before;
}

/* ---- for people ---- */

static void describe(asc_ctx *ctx, const char *bytes, size_t n, bool check, asc_disk_entry *e,
                     char build[ASC_DISK_MOST_BUILD], char problem[256]) {
    asc_disk_parts f;
    char ours[ASC_DISK_MOST_BUILD];
    asc_program p;
    build[0] = problem[0] = '\0';
    asc_status st = asc_disk_read_parts(ctx, bytes, n, check, &f);
    if (st == ASC_OK) {
        e->nodes = f.n_nodes;
        e->recorded = f.n_recorded;
        e->compile_seconds = 1e-9 * (double)f.compile_ns;
        snprintf(build, ASC_DISK_MOST_BUILD, "%.*s", (int)f.build.len, f.build.ptr);
        if (check) {
            st = asc_program_parse(ctx, f.text, &p);
            asc_program_deinit(&p);
        }
    }
    asc_disk_build_text(ctx, ours);
    e->damaged = st != ASC_OK && st != ASC_UNIMPLEMENTED;
    e->usable = st == ASC_OK && strcmp(build, ours) == 0;
    if (st != ASC_OK)
        snprintf(problem, 256, "%s", asc_error_message(ctx));
    else if (!e->usable)
        snprintf(problem, 256, "of another build, device or instruction set");
}

asc_status asc_disk_cache_list(asc_ctx *ctx, bool check, bool (*visit)(void *self, const asc_disk_entry *e),
                               void *self) {
    const asc_disk *d = disk_of(ctx);
    asc_folder f;
    asc_status st = asc_folder_read(ctx, d->dir, ".prog", &f);
    for (size_t i = 0; st == ASC_OK && i < f.n; i++) {
        char path[ASC_DISK_MOST_PATH], build[ASC_DISK_MOST_BUILD], problem[256], *bytes = NULL;
        size_t n = 0;
        asc_disk_entry e = {
            .file = f.files[i].name, .bytes = f.files[i].bytes, .age_seconds = f.files[i].age};
        snprintf(path, sizeof path, "%s/%s", d->dir, f.files[i].name);
        const asc_error before = ctx->error;
        if (asc_file_read(ctx, path, MOST_FILE, &bytes, &n) != ASC_OK) {
            if (asc_error_code(ctx) == ASC_RESOURCE_EXHAUSTED) st = ASC_RESOURCE_EXHAUSTED;
            if (st == ASC_OK) ctx->error = before; /* another process removed it */
            continue;
        }
        describe(ctx, bytes, n, check, &e, build, problem);
        ctx->error = before;
        e.build = build;
        e.problem = problem;
        asc_free(ctx, bytes);
        if (!visit(self, &e)) break;
    }
    asc_folder_free(ctx, &f);
    return st;
}

typedef struct removal {
    asc_ctx *ctx;
    bool damaged_only;
    size_t files, bytes;
} removal;

static bool remove_one(void *self, const asc_disk_entry *e) {
    removal *r = self;
    asc_folder_file f;
    if (r->damaged_only && !e->damaged) return true;
    snprintf(f.name, sizeof f.name, "%s", e->file);
    if (!asc_folder_remove(disk_of(r->ctx)->dir, &f)) return true;
    r->files++;
    r->bytes += e->bytes;
    return true;
}

asc_status asc_disk_cache_clear(asc_ctx *ctx, bool damaged_only, size_t *out_files, size_t *out_bytes) {
    asc_disk *d = disk_of(ctx);
    removal r = {.ctx = ctx, .damaged_only = damaged_only};
    asc_status st = asc_disk_cache_list(ctx, damaged_only, remove_one, &r);
    asc_folder_clean(ctx, d->dir, damaged_only ? 3600.0 : 0.0);
    if (!damaged_only) {
        asc_folder_file f = {.name = "misses.txt"};
        asc_folder_remove(d->dir, &f);
    }
    *out_files = r.files;
    *out_bytes = r.bytes;
    return st;
}

asc_status asc_disk_cache_why(asc_ctx *ctx, char **out_text) {
    char path[ASC_DISK_MOST_PATH], *text = NULL;
    size_t n = 0;
    *out_text = NULL;
    snprintf(path, sizeof path, "%s/misses.txt", disk_of(ctx)->dir);
    if (disk_of(ctx)->dir[0] == '\0' || access(path, R_OK) != 0) {
        *out_text = asc_calloc(ctx, ASC_MEM_GENERAL, 1, 1);
        return *out_text != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
    }
    asc_status st = asc_file_read(ctx, path, 1 << 20, &text, &n);
    if (st != ASC_OK) return st;
    asc_strbuf b;
    asc_strbuf_init(&b, ctx);
    asc_strbuf_adds(&b, "");
    for (size_t end = n; end > 0;) { /* the newest line first */
        size_t stop = text[end - 1] == '\n' ? end - 1 : end, start = stop;
        while (start > 0 && text[start - 1] != '\n') start--;
        if (stop > start) {
            asc_strbuf_add(&b, text + start, stop - start);
            asc_strbuf_addc(&b, '\n');
        }
        end = start;
    }
    asc_free(ctx, text);
    size_t len;
    st = asc_strbuf_status(&b);
    *out_text = asc_strbuf_take(&b, &len);
    if (st == ASC_OK && *out_text == NULL) *out_text = asc_calloc(ctx, ASC_MEM_GENERAL, 1, 1);
    return st != ASC_OK ? st : *out_text != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

void asc_disk_cache_why_free(asc_ctx *ctx, char *text) { asc_free(ctx, text); }
