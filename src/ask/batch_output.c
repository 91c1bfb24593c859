/* batch_output.c - the results file of a batch: one process writes it, whole lines only. What a killed run
 * left half-written is cut off when the next one opens it. */
#include "alloc.h"
#include "batch_parts.h"
#include "ctx.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static asc_status io_failed(asc_batch_output *o, const char *what) {
    int e = errno;
    asc_status st = e == ENOENT                                        ? ASC_NOT_FOUND
                    : e == EACCES || e == EPERM || e == EROFS          ? ASC_PERMISSION_DENIED
                    : e == ENOSPC || e == EDQUOT || e == EFBIG         ? ASC_RESOURCE_EXHAUSTED
                    : e == EISDIR || e == ENOTDIR || e == ENAMETOOLONG ? ASC_INVALID_ARGUMENT
                                                                       : ASC_INTERNAL;
    ASC_FAIL(o->ctx, st, "'%s': cannot %s: %s", o->path, what, strerror(e));
    return asc_hint(o->ctx,
                    st == ASC_RESOURCE_EXHAUSTED
                        ? "make room on the disk, then run the same command again: it goes on where this "
                          "one stopped"
                        : "name a file that can be written");
}

static asc_status no_results(asc_batch_output *o, size_t line) {
    ASC_FAIL(o->ctx, ASC_INVALID_ARGUMENT, "'%s': line %zu is no result of a batch", o->path, line);
    return asc_hint(o->ctx, "name another file for the results; nothing was changed in this one");
}

static asc_status made_otherwise(asc_batch_output *o, const char *what) {
    ASC_FAIL(o->ctx, ASC_FAILED_PRECONDITION, "'%s' holds results of %s", o->path, what);
    return asc_hint(o->ctx, "name another file for the results, or remove this one to begin anew");
}

/* One line that is there: which prompt it belongs to. */
static asc_status note(asc_batch_output *o, asc_view line, size_t number, size_t n_lines, const char *keys,
                       const char *run) {
    asc_json *root = NULL;
    asc_status st = asc_json_parse(o->ctx, line.ptr, line.len, &root);
    if (st == ASC_RESOURCE_EXHAUSTED) return st;
    asc_view input = asc_json_str(asc_json_get(root, "input_key")),
             made = asc_json_str(asc_json_get(root, "run_key")),
             status = asc_json_str(asc_json_get(root, "status"));
    int64_t at = asc_json_int(asc_json_get(root, "line"), 0);
    if (st != ASC_OK || input.ptr == NULL || made.ptr == NULL || status.ptr == NULL || at < 1) {
        st = no_results(o, number);
    } else if (!asc_view_eqs(made, run)) {
        st = made_otherwise(o, "another model or of other options");
    } else if ((uint64_t)at > n_lines ||
               !asc_view_eqs(input, keys + (size_t)(at - 1) * (ASC_BATCH_KEY + 1))) {
        st = made_otherwise(o, "other prompts");
    } else {
        o->seen[(size_t)(at - 1) / 64] |= 1ull << ((size_t)(at - 1) % 64);
        o->n_failed += asc_view_eqs(status, "ok") ? 0 : 1;
    }
    asc_json_free(root);
    return st;
}

static asc_status read_back(asc_batch_output *o, size_t n_lines, const char *keys, const char *run) {
    asc_map map;
    asc_status st = asc_map_open(o->ctx, o->path, &map);
    if (st != ASC_OK) return st;
    asc_view text = asc_view_make((const char *)map.data, map.size), line;
    size_t pos = 0, number = 0;
    bool ended;
    while (st == ASC_OK && asc_batch_next_line(text, &pos, &line, &ended)) {
        number++;
        if (!ended) break; /* half-written; it is cut off */
        st = note(o, line, number, n_lines, keys, run);
        if (st == ASC_OK) o->size = (int64_t)pos;
    }
    /* a file without a single whole line is only ours if it looks like a line that was being written */
    if (st == ASC_OK && o->size == 0 && !asc_view_starts(text, asc_view_of("{\"line\":")) &&
        !asc_view_starts(asc_view_of("{\"line\":"), text))
        st = no_results(o, 1);
    asc_map_close(o->ctx, &map);
    return st;
}

asc_status asc_batch_output_open(asc_ctx *ctx, const char *path, size_t n_lines, const char *keys,
                                 const char *run, asc_batch_output *out) {
    struct stat s;
    *out = (asc_batch_output){.ctx = ctx, .path = path};
    out->seen = asc_calloc(ctx, ASC_MEM_GENERAL, n_lines / 64 + 1, sizeof *out->seen);
    out->fd = out->seen != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644) : -1;
    if (out->seen == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (out->fd < 0) return io_failed(out, "open it");
    if (flock(out->fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) return io_failed(out, "lock it");
        ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "'%s' is being written by another process", path);
        return asc_hint(ctx, "wait for that run, or name another file");
    }
    if (fstat(out->fd, &s) != 0) return io_failed(out, "look at it");
    if (!S_ISREG(s.st_mode)) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s' is no regular file", path);
        return asc_hint(ctx, "results are kept in a file, so that a run can be continued");
    }
    asc_status st = s.st_size > 0 ? read_back(out, n_lines, keys, run) : ASC_OK;
    if (st == ASC_OK && out->size < s.st_size && ftruncate(out->fd, out->size) != 0)
        st = io_failed(out, "cut off its unfinished last line");
    if (st == ASC_OK && lseek(out->fd, out->size, SEEK_SET) < 0) st = io_failed(out, "write to it");
    return st;
}

bool asc_batch_output_has(const asc_batch_output *o, size_t line) {
    return (o->seen[line / 64] >> (line % 64) & 1) != 0;
}

asc_status asc_batch_output_add(asc_batch_output *o, asc_view line) {
    for (size_t at = 0; at < line.len;) {
        ssize_t n = write(o->fd, line.ptr + at, line.len - at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            asc_status st = io_failed(o, "write to it");
            if (ftruncate(o->fd, o->size) != 0) return st; /* the next run cuts the rest off */
            (void)lseek(o->fd, o->size, SEEK_SET);
            return st;
        }
        at += (size_t)n;
    }
    o->size += (int64_t)line.len;
    return ASC_OK;
}

void asc_batch_output_close(asc_batch_output *o) {
    if (o->fd >= 0) {
        (void)fsync(o->fd);
        close(o->fd);
    }
    if (o->ctx != NULL) asc_free(o->ctx, o->seen);
    *o = (asc_batch_output){.fd = -1};
}
