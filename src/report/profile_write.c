/* profile_write.c - a profile as files in a folder. */
#include "profile_parts.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static asc_status write_one(asc_ctx *ctx, const char *folder, const char *name,
                            void (*fill)(asc_ctx *ctx, asc_text *t)) {
    char path[4096];
    asc_text *t = NULL;
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (n < 0 || (size_t)n >= sizeof path)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the name of the profile's folder is too long");
    asc_status st = asc_text_create(ctx, &t);
    if (st != ASC_OK) return st;
    fill(ctx, t);
    st = asc_text_status(t);
    if (st == ASC_OK) st = asc_text_write(t, path);
    asc_text_destroy(t);
    return st;
}

asc_status asc_profile_write(asc_ctx *ctx, const char *folder) {
    if (ctx->prof_kept == NULL) {
        ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "no profile was recorded");
        return asc_hint(ctx, "call asc_profile_start before the work");
    }
    if (folder == NULL || folder[0] == '\0')
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a profile needs the name of a folder");
    asc_prof_stop(ctx); /* writing is not part of it */
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return ASC_FAIL(ctx, ASC_UNAVAILABLE, "cannot make the folder '%s': %s", folder, strerror(errno));
    asc_status st = write_one(ctx, folder, "trace.json", asc_profile_trace);
    if (st == ASC_OK) st = write_one(ctx, folder, "profile.txt", asc_profile_table);
    if (st == ASC_OK) st = write_one(ctx, folder, "profile.html", asc_profile_page);
    return st;
}
