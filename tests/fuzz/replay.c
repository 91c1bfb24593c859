/* replay.c - runs a fuzz target over the files of a folder (its seeds and every past crash), without
 * libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int one(const char *path) {
    FILE *f = fopen(path, "rb");
    if (f == NULL) return 0;
    size_t cap = (size_t)1 << 24, n;
    uint8_t *buf = malloc(cap);
    if (buf == NULL) abort();
    n = fread(buf, 1, cap, f);
    fclose(f);
    uint8_t *exact = malloc(n > 0 ? n : 1); /* exact size, so that a sanitizer sees reads past the end */
    if (exact == NULL) abort();
    for (size_t i = 0; i < n; i++) exact[i] = buf[i];
    free(buf);
    LLVMFuzzerTestOneInput(exact, n);
    for (size_t cut = 0; cut < n && n <= 4096; cut += 1 + n / 64) LLVMFuzzerTestOneInput(exact, cut);
    free(exact);
    return 1;
}

int main(int argc, char **argv) {
    int ran = 0;
    for (int i = 1; i < argc; i++) {
        DIR *d = opendir(argv[i]);
        if (d == NULL) {
            ran += one(argv[i]);
            continue;
        }
        struct dirent *e;
        while ((e = readdir(d)) != NULL) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
            if (e->d_name[0] != '.') ran += one(path);
        }
        closedir(d);
    }
    printf("replayed %d files\n", ran);
    return ran > 0 ? 0 : 1;
}
