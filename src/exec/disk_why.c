/* disk_why.c - the nearest program on disk, to say why the one at hand was not there. */
#include "disk.h"
#include "disk_folder.h"
#include "file.h"
#include "packed.h"
#include <stdio.h>
#include <string.h>

/* Keys from files may be anything: every node must end inside. */
static bool sound(const uint64_t *key, size_t n_key) {
    const size_t n = (size_t)(uint32_t)key[2];
    size_t at = ASC_KEY_HEAD;
    for (size_t i = 0; i < n; i++) {
        if (at >= n_key) return false;
        const uint64_t w = key[at];
        const size_t opcode = w & 0xffff, n_in = w >> 16 & 0xff, rank = w >> 32 & 0xff, n_i = w >> 48 & 0xff,
                     n_f = w >> 56;
        if (opcode > ASC_N_OPS || n_in > ASC_MAX_IN || rank > ASC_MAX_RANK || n_i > ASC_N_IATTR ||
            n_f > ASC_N_FATTR || (opcode == 0 && n_in + n_i + n_f > 0) || (w >> 24 & 0xff) >= ASC_N_DTYPES ||
            (w >> 40 & 0xff) >= ASC_N_PRECISIONS)
            return false;
        at += 1 + (n_in + 1) / 2 + rank + n_i + n_f;
    }
    return at + (size_t)(key[2] >> 32) == n_key;
}

static uint64_t *key_of(asc_ctx *ctx, const char *path) {
    static const size_t most = (size_t)64 << 20;
    char *bytes = NULL;
    size_t n = 0;
    asc_disk_parts f;
    uint64_t *key = NULL;
    if (asc_file_read(ctx, path, most, &bytes, &n) != ASC_OK) return NULL;
    if (asc_disk_read_parts(ctx, bytes, n, false, &f) == ASC_OK) {
        key = asc_calloc(ctx, ASC_MEM_PROGRAM, f.n_key + 1, sizeof *key);
        for (size_t i = 0; key != NULL && i < f.n_key; i++) key[i] = asc_unpack_u64_at(f.key + 8 * i);
        if (key != NULL && !sound(key, f.n_key)) {
            asc_free(ctx, key);
            key = NULL;
        }
    }
    asc_free(ctx, bytes);
    return key;
}

uint64_t *asc_disk_nearest(asc_ctx *ctx, const uint64_t *key) {
    enum { LOOK_AT = 8 };
    const asc_disk *d = &asc_runtime_of(ctx)->disk;
    const asc_error before = ctx->error;
    uint64_t *best = NULL;
    asc_folder f;
    if (d->dir[0] == '\0') return NULL;
    if (asc_folder_read(ctx, d->dir, ".prog", &f) == ASC_OK) {
        for (size_t i = 0; i < f.n && i < LOOK_AT; i++) {
            char path[ASC_DISK_MOST_PATH];
            snprintf(path, sizeof path, "%s/%s", d->dir, f.files[i].name);
            uint64_t *other = key_of(ctx, path);
            if (other == NULL) continue;
            if (best == NULL || asc_key_nearer(key, other, best)) {
                asc_free(ctx, best);
                best = other;
            } else {
                asc_free(ctx, other);
            }
        }
    }
    asc_folder_free(ctx, &f);
    ctx->error = before;
    return best;
}
