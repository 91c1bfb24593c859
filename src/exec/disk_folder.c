/* disk_folder.c - see disk_folder.h. */
#include "disk_folder.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int64_t asc_folder_now(void) { return (int64_t)time(NULL); }

static bool ends_with(const char *s, const char *ending) {
    size_t n = strlen(s), m = strlen(ending);
    return n >= m && strcmp(s + n - m, ending) == 0;
}

static int by_age(const void *a, const void *b) {
    const asc_folder_file *x = a, *y = b;
    if (x->age < y->age || x->age > y->age) return x->age < y->age ? -1 : 1;
    return strcmp(x->name, y->name);
}

static asc_status from_errno(asc_ctx *ctx, int err, const char *what, const char *path) {
    asc_status st = err == EACCES || err == EPERM || err == EROFS                     ? ASC_PERMISSION_DENIED
                    : err == ENOSPC || err == EDQUOT || err == ENOMEM || err == EFBIG ? ASC_RESOURCE_EXHAUSTED
                    : err == ENOTDIR || err == ENAMETOOLONG || err == ELOOP           ? ASC_INVALID_ARGUMENT
                                                                                      : ASC_UNKNOWN;
    return ASC_FAIL(ctx, st, "cannot %s '%s': %s", what, path, strerror(err));
}

asc_status asc_folder_read(asc_ctx *ctx, const char *dir, const char *ending, asc_folder *out) {
    *out = (asc_folder){0};
    if (dir[0] == '\0') return ASC_OK;
    DIR *d = opendir(dir);
    if (d == NULL) return errno == ENOENT ? ASC_OK : from_errno(ctx, errno, "read", dir);
    asc_status st = ASC_OK;
    struct timespec t = {0};
    clock_gettime(CLOCK_REALTIME, &t);
    const double now = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    for (struct dirent *e = readdir(d); e != NULL && st == ASC_OK; e = readdir(d)) {
        struct stat s;
        if (!ends_with(e->d_name, ending) || strlen(e->d_name) >= sizeof out->files->name) continue;
        if (fstatat(dirfd(d), e->d_name, &s, 0) != 0 || !S_ISREG(s.st_mode)) continue;
        st = asc_grow(ctx, ASC_MEM_GENERAL, (void **)&out->files, &out->cap, out->n + 1, sizeof *out->files);
        if (st != ASC_OK) break;
        asc_folder_file *f = &out->files[out->n++];
        snprintf(f->name, sizeof f->name, "%s", e->d_name);
        f->bytes = (size_t)s.st_size;
        f->age = now - (double)s.st_mtim.tv_sec - 1e-9 * (double)s.st_mtim.tv_nsec;
        if (!(f->age > 0.0)) f->age = 0.0; /* written after we looked at the clock */
        out->bytes += f->bytes;
    }
    closedir(d);
    if (st == ASC_OK && out->n > 1) qsort(out->files, out->n, sizeof *out->files, by_age);
    return st;
}

void asc_folder_free(asc_ctx *ctx, asc_folder *f) {
    asc_free(ctx, f->files);
    *f = (asc_folder){0};
}

bool asc_folder_remove(const char *dir, const asc_folder_file *f) {
    char path[ASC_DISK_MOST_PATH];
    int n = snprintf(path, sizeof path, "%s/%s", dir, f->name);
    return n > 0 && (size_t)n < sizeof path && unlink(path) == 0;
}

asc_status asc_folder_make(asc_ctx *ctx, const char *dir) {
    char path[ASC_DISK_MOST_PATH];
    int n = snprintf(path, sizeof path, "%s", dir);
    if (n <= 0 || (size_t)n >= sizeof path)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the folder's path is too long");
    for (char *p = path + 1;; p++) {
        if (*p != '/' && *p != '\0') continue;
        const char was = *p;
        *p = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST) return from_errno(ctx, errno, "make the folder", path);
        *p = was;
        if (was == '\0') return ASC_OK;
    }
}

asc_status asc_folder_write(asc_ctx *ctx, const char *path, const void *data, size_t n) {
    char tmp[ASC_DISK_MOST_PATH + 40];
    const char *p = data;
    int fd = -1, err = 0;
    for (int i = 0; i < 100; i++) {
        snprintf(tmp, sizeof tmp, "%s.%ld.%d.tmp", path, (long)getpid(), i);
        fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST) break;
    }
    if (fd < 0) return from_errno(ctx, errno, "write", path);
    while (n > 0 && err == 0) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) {
            err = k < 0 ? errno : EIO;
        } else {
            p += k;
            n -= (size_t)k;
        }
    }
    if (close(fd) != 0 && err == 0) err = errno;
    if (err == 0 && rename(tmp, path) != 0) err = errno;
    if (err == 0) return ASC_OK;
    unlink(tmp);
    return from_errno(ctx, err, "write", path);
}

void asc_folder_clean(asc_ctx *ctx, const char *dir, double older_than) {
    asc_folder f;
    if (asc_folder_read(ctx, dir, ".tmp", &f) == ASC_OK) {
        for (size_t i = 0; i < f.n; i++) {
            if (f.files[i].age >= older_than) asc_folder_remove(dir, &f.files[i]);
        }
    }
    asc_folder_free(ctx, &f);
}
