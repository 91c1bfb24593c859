/* file.c - see file.h. POSIX only. */
#include "file.h"
#include "view.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static asc_status from_errno(asc_ctx *ctx, int err, const char *what, const char *path) {
    asc_status code = err == ENOENT || err == ENOTDIR                 ? ASC_NOT_FOUND
                      : err == EACCES || err == EPERM || err == EROFS ? ASC_PERMISSION_DENIED
                      : err == ENOMEM || err == ENOSPC || err == EDQUOT || err == EMFILE || err == EFBIG
                          ? ASC_RESOURCE_EXHAUSTED
                      : err == ENAMETOOLONG || err == ELOOP || err == EINVAL ? ASC_INVALID_ARGUMENT
                      : err == EIO                                           ? ASC_DATA_LOSS
                                                                             : ASC_UNAVAILABLE;
    ASC_FAIL(ctx, code, "cannot %s '%s': %s", what, path, strerror(err));
    if (err == ENOENT) asc_hint(ctx, "check the path");
    if (err == EACCES || err == EPERM) asc_hint(ctx, "check the permissions of the file and its folder");
    if (err == ENOMEM) asc_hint(ctx, "free memory, or raise the process's limit (ulimit -v)");
    if (err == EROFS) asc_hint(ctx, "write to a folder that is not read-only");
    if (err == ENOSPC || err == EDQUOT || err == EFBIG) asc_hint(ctx, "free disk space or write elsewhere");
    return code;
}

asc_status asc_map_open(asc_ctx *ctx, const char *path, asc_map *out) {
    asc_status st = ASC_OK;
    *out = (asc_map){.fd = -1};
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return from_errno(ctx, errno, "open", path);
    if (fstat(fd, &s) != 0) {
        st = from_errno(ctx, errno, "read", path);
        goto done;
    }
    if (S_ISDIR(s.st_mode)) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s' is a directory, not a file", path);
        st = asc_hint(ctx, "name the model file inside it");
        goto done;
    }
    if (!S_ISREG(s.st_mode)) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s' is not a regular file", path);
        st = asc_hint(ctx, "copy it to a file first: it is mapped, not streamed");
        goto done;
    }
    if (s.st_size == 0) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s' is empty", path);
        st = asc_hint(ctx, "the download may have been cut; fetch it again");
        goto done;
    }
    out->path = asc_strdup_view(ctx, ASC_MEM_GENERAL, asc_view_of(path));
    if (out->path == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    void *addr = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (addr == MAP_FAILED) {
        st = from_errno(ctx, errno, "map", path);
        goto done;
    }
    out->addr = addr;
    out->data = addr;
    out->size = (size_t)s.st_size;
    out->fd = fd;
    ctx->mem.mapped_bytes += out->size;
    return ASC_OK;
done:
    asc_free(ctx, out->path);
    *out = (asc_map){.fd = -1};
    if (fd >= 0) close(fd);
    return st;
}

void asc_map_close(asc_ctx *ctx, asc_map *m) {
    if (m->addr != NULL) {
        munmap(m->addr, m->size);
        ctx->mem.mapped_bytes -= m->size;
        close(m->fd);
    }
    asc_free(ctx, m->path);
    *m = (asc_map){.fd = -1};
}

asc_status asc_map_check(asc_ctx *ctx, const asc_map *m) {
    struct stat s;
    if (m->addr == NULL) return ASC_OK;
    if (fstat(m->fd, &s) != 0) return from_errno(ctx, errno, "read", m->path);
    if ((size_t)s.st_size >= m->size) return ASC_OK;
    ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "'%s' shrank from %zu to %lld bytes while in use", m->path,
             m->size, (long long)s.st_size);
    return asc_hint(ctx, "leave the file alone while it is in use, then run again");
}

asc_status asc_file_read(asc_ctx *ctx, const char *path, size_t limit, char **out, size_t *out_len) {
    asc_status st = ASC_OK;
    char *buf = NULL;
    size_t len = 0, cap = 0;
    *out = NULL;
    *out_len = 0;
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return from_errno(ctx, errno, "open", path);
    for (;;) {
        ASC_TRY(asc_grow(ctx, ASC_MEM_GENERAL, (void **)&buf, &cap, len + 65536 + 1, 1));
        ssize_t n = read(fd, buf + len, 65536);
        if (n < 0 && errno == EINTR) {
            ASC_TRY(asc_poll_cancel(ctx));
            continue;
        }
        if (n < 0) {
            st = from_errno(ctx, errno, "read", name);
            if (errno == EISDIR) asc_hint(ctx, "name a file, not a folder");
            goto done;
        }
        if (n == 0) break;
        len += (size_t)n;
        if (len > limit) {
            ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "'%s' is larger than the limit of %zu bytes", name, limit);
            st = asc_hint(ctx, "pass a smaller file");
            goto done;
        }
    }
    buf[len] = '\0';
    *out = buf;
    *out_len = len;
    buf = NULL;
done:
    asc_free(ctx, buf);
    if (fd >= 0 && !is_stdin) close(fd);
    return st;
}

static int write_all(int fd, const char *p, size_t n) {
    while (n > 0) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno == EINTR) continue;
        if (w < 0) return errno;
        p += w;
        n -= (size_t)w;
    }
    return 0;
}

asc_status asc_file_write(asc_ctx *ctx, const char *path, const void *data, size_t len) {
    /* A device or pipe (/dev/full, /dev/stdout) cannot be renamed over: write straight through. */
    struct stat s;
    if (stat(path, &s) == 0 && !S_ISREG(s.st_mode)) {
        if (S_ISDIR(s.st_mode)) {
            ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "cannot write '%s': it is a directory", path);
            return asc_hint(ctx, "name a file inside it");
        }
        int dev = open(path, O_WRONLY | O_CLOEXEC);
        if (dev < 0) return from_errno(ctx, errno, "write", path);
        int err = write_all(dev, data, len);
        if (close(dev) != 0 && err == 0) err = errno;
        return err == 0 ? ASC_OK : from_errno(ctx, err, "write", path);
    }
    /* A link is written through: its target is replaced, the link stays. */
    char target[PATH_MAX];
    struct stat link;
    const char *where = path;
    if (lstat(path, &link) == 0 && S_ISLNK(link.st_mode) && realpath(path, target) != NULL) where = target;
    /* The longest name that a folder takes has no room for a suffix, so the name is cut. */
    const char *slash = strrchr(where, '/');
    size_t n = strlen(where), folder = slash != NULL ? (size_t)(slash - where) + 1 : 0;
    size_t shown = n - folder > 200 ? folder + 200 : n;
    char *tmp = asc_alloc(ctx, ASC_MEM_GENERAL, n + 40);
    if (tmp == NULL) return ASC_RESOURCE_EXHAUSTED;
    int fd = -1, err = 0;
    for (int i = 0; i < 100; i++) {
        snprintf(tmp, n + 40, "%.*s.%ld.%d.tmp", (int)shown, where, (long)getpid(), i);
        fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) break;
    }
    if (fd < 0) {
        err = errno;
        asc_free(ctx, tmp);
        return from_errno(ctx, err, "write", path);
    }
    err = write_all(fd, data, len);
    if (err == 0 && fsync(fd) != 0 && errno != EINVAL && errno != ENOSYS) err = errno;
    if (close(fd) != 0 && err == 0) err = errno;
    if (err == 0 && rename(tmp, where) != 0) err = errno;
    if (err != 0) unlink(tmp);
    asc_free(ctx, tmp);
    return err == 0 ? ASC_OK : from_errno(ctx, err, "write", path);
}
