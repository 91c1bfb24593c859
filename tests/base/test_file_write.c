/* test_file_write.c - where a written file ends up: through links, under the longest names, and nothing left
 * behind. */
#include "file.h"
#include "harness.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static void in_folder(char *dir, size_t n) {
    snprintf(dir, n, "write-test-%ld", (long)getpid());
    assert_int_equal(mkdir(dir, 0777), 0);
    assert_int_equal(chdir(dir), 0);
}

static int entries(void) {
    int n = 0;
    DIR *d = opendir(".");
    while (readdir(d) != NULL) n++;
    closedir(d);
    return n - 2;
}

static void links_names_and_failures(void **state) {
    (void)state;
    char dir[64], name[256], back[8] = "", *text = NULL;
    size_t n = 0;
    struct stat s;
    in_folder(dir, sizeof dir);
    asc_ctx *ctx = test_ctx("cpu", NULL);
    assert_ok(ctx, asc_file_write(ctx, "real", "old", 3));
    assert_int_equal(symlink("real", "link"), 0);
    assert_ok(ctx, asc_file_write(ctx, "link", "new", 3));
    assert_int_equal(lstat("link", &s), 0);
    assert_true(S_ISLNK(s.st_mode));
    assert_ok(ctx, asc_file_read(ctx, "real", 100, &text, &n));
    assert_int_equal(n, 3);
    memcpy(back, text, 3);
    asc_free(ctx, text);
    assert_string_equal(back, "new");
    memset(name, 'n', 255); /* the longest name of common file systems */
    name[255] = '\0';
    assert_ok(ctx, asc_file_write(ctx, name, "x", 1));
    assert_int_equal(entries(), 3);
    assert_int_not_equal(asc_file_write(ctx, "absent/file", "x", 1), ASC_OK);
    assert_int_not_equal(asc_file_write(ctx, ".", "x", 1), ASC_OK);
    assert_int_equal(entries(), 3);
    test_ctx_end(ctx);
    unlink("real"), unlink("link"), unlink(name);
    assert_int_equal(chdir(".."), 0);
    assert_int_equal(rmdir(dir), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(links_names_and_failures)};
    return cmocka_run_group_tests_name("file_write", tests, NULL, NULL);
}
