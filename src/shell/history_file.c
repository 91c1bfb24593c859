/* history_file.c - reading and replacing the file of lines. */
#include "history_file.h"
#include "shell.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

bool shell_history_path(char *out, size_t size) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (state != NULL && state[0] == '/')
        n = snprintf(out, size, "%s/ascribe/history", state);
    else if (home != NULL && home[0] == '/')
        n = snprintf(out, size, "%s/.local/state/ascribe/history", home);
    return n > 0 && (size_t)n < size;
}

void history_escape(asc_text *out, asc_view line) {
    for (size_t i = 0; i < line.len; i++) {
        char c = line.ptr[i];
        if (c == '\n')
            asc_text_adds(out, "\\n");
        else if (c == '\\')
            asc_text_adds(out, "\\\\");
        else if (c != '\0' && c != '\r')
            asc_text_add(out, (asc_view){&line.ptr[i], 1});
    }
}

void history_unescape(asc_text *out, asc_view line) {
    for (size_t i = 0; i < line.len; i++) {
        if (line.ptr[i] != '\\' || i + 1 == line.len) {
            asc_text_add(out, (asc_view){&line.ptr[i], 1});
            continue;
        }
        i++;
        asc_text_add(out, line.ptr[i] == 'n' ? (asc_view){"\n", 1} : (asc_view){&line.ptr[i], 1});
    }
}

/* The file's text; nothing when there is none. */
static asc_status slurp(asc_ctx *ctx, const char *path, asc_text *into) {
    if (access(path, F_OK) != 0) return ASC_OK;
    asc_status st = asc_text_read(into, path, HISTORY_BYTES);
    (void)ctx;
    return st;
}

asc_status history_read(asc_ctx *ctx, const char *path, void (*take)(void *self, asc_view line), void *self) {
    asc_text *all = NULL, *line = NULL;
    asc_status st = asc_text_create(ctx, &all);
    if (st == ASC_OK) st = asc_text_create(ctx, &line);
    if (st == ASC_OK) st = slurp(ctx, path, all);
    asc_view v = st == ASC_OK ? asc_text_view(all) : (asc_view){0};
    for (size_t i = 0; i < v.len;) {
        const char *end = memchr(v.ptr + i, '\n', v.len - i);
        size_t n = end != NULL ? (size_t)(end - v.ptr) - i : v.len - i;
        asc_text_clear(line);
        history_unescape(line, (asc_view){v.ptr + i, n});
        if (n > 0 && asc_text_status(line) == ASC_OK) take(self, asc_text_view(line));
        i += n + 1;
    }
    asc_text_destroy(all);
    asc_text_destroy(line);
    return st;
}

/* Makes the folders above `path`, readable by the owner only. */
static bool make_folders(char *path) {
    for (char *p = path + 1; *p != '\0'; p++) {
        if (*p != '/') continue;
        *p = '\0';
        bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
        *p = '/';
        if (!ok) return false;
    }
    return true;
}

/* The last lines of v that may stay when one more is added. */
static asc_view newest(asc_view v) {
    size_t lines = 1, i = v.len;
    while (i > 0) {
        if (v.ptr[i - 1] == '\n' && i < v.len && ++lines >= HISTORY_LINES) break;
        if (v.len - i >= HISTORY_BYTES - 2 * HISTORY_LONGEST - 2) break;
        i--;
    }
    while (i > 0 && i < v.len && v.ptr[i - 1] != '\n') i++;
    return (asc_view){v.ptr + i, v.len - i};
}

static bool write_all(int fd, asc_view v) {
    while (v.len > 0) {
        ssize_t n = write(fd, v.ptr, v.len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        v = (asc_view){v.ptr + n, v.len - (size_t)n};
    }
    return true;
}

asc_status history_add(asc_ctx *ctx, const char *path, asc_view line) {
    asc_text *all = NULL, *one = NULL;
    char folder[4096], temporary[4200];
    int lock = -1, fd = -1;
    bool ok = false;
    if (line.len == 0 || line.len > HISTORY_LONGEST || line.ptr[0] == ' ') return ASC_OK;
    if (strlen(path) >= sizeof folder) return ASC_OK;
    snprintf(folder, sizeof folder, "%s", path);
    asc_status st = asc_text_create(ctx, &all);
    if (st == ASC_OK) st = asc_text_create(ctx, &one);
    if (st != ASC_OK || !make_folders(folder)) goto done;
    char *slash = strrchr(folder, '/');
    snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
    if (slash != NULL) slash[slash == folder] = '\0';
    lock = open(slash != NULL ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX) != 0) goto done; /* two shells take turns */
    st = slurp(ctx, path, all);
    history_escape(one, line);
    asc_text_adds(one, "\n");
    if (st == ASC_OK) st = asc_text_status(one);
    if (st != ASC_OK) goto done;
    asc_view old = asc_text_view(all), added = asc_text_view(one);
    bool again = old.len >= added.len && memcmp(old.ptr + old.len - added.len, added.ptr, added.len) == 0 &&
                 (old.len == added.len || old.ptr[old.len - added.len - 1] == '\n');
    ok = again;
    if (again) goto done;
    unlink(temporary);
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ok = fd >= 0 && write_all(fd, newest(old)) && write_all(fd, added) && rename(temporary, path) == 0;
    if (fd >= 0 && !ok) unlink(temporary);
done:
    if (fd >= 0) close(fd);
    if (lock >= 0) close(lock);
    asc_text_destroy(all);
    asc_text_destroy(one);
    return st != ASC_OK ? st : ok ? ASC_OK : ASC_UNAVAILABLE;
}
