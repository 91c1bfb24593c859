/* test_shell_docs.c - docs/shell.md has the table of commands as the program has it. */
#include "../harness.h"
#include "commands.h"

static void test_table(void **state) {
    char path[4096];
    const char *root = getenv("ASC_SOURCE_ROOT");
    asc_ctx *ctx = test_ctx(NULL, NULL);
    asc_text *page = NULL, *table = NULL;
    (void)state;
    snprintf(path, sizeof path, "%s/docs/shell.md", root != NULL ? root : ".");
    assert_ok(ctx, asc_text_create(ctx, &page));
    assert_ok(ctx, asc_text_create(ctx, &table));
    assert_ok(ctx, asc_text_read(page, path, 1 << 20));
    shell_commands_markdown(table);
    if (strstr(asc_text_view(page).ptr, asc_text_view(table).ptr) == NULL) {
        puts(asc_text_view(table).ptr);
        fail_msg("docs/shell.md lacks the table above");
    }
    asc_text_destroy(page);
    asc_text_destroy(table);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
