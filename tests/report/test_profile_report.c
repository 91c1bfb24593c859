/* test_profile_report.c - the forms of a profile: the trace parses and nests, names are escaped, sums are
 * those of the events, caches give their memory back. */
#include "harness.h"
#include "ascribe/ops.h"
#include "ascribe/profile.h"
#include "json.h"
#include "profile.h"
#include <sys/stat.h>
#include <unistd.h>

/* One step of a method with two ops, a cut around them, by hand: all numbers are known. */
static void record(asc_ctx *ctx, const char *evil) {
    assert_int_equal(asc_profile_start(ctx, NULL), ASC_OK);
    asc_prof *p = ctx->prof;
    const uint64_t t = p->start_ns;
    const int depth = asc_profile_push(ctx, "saliency", -1), inner = asc_profile_push(ctx, evil, 3);
    asc_prof_add(p, (asc_prof_event){.start_ns = t + 1000,
                                     .ns = 2000000,
                                     .flops = 4e6,
                                     .bytes_read = 1000,
                                     .bytes_written = 3000,
                                     .name = asc_prof_name(p, "matmul"),
                                     .label = asc_prof_name(p, "blocks.11.mlp"),
                                     .kind = ASC_PROF_OP,
                                     .threads = 2});
    asc_prof_add(p, (asc_prof_event){.start_ns = t + 2001000,
                                     .ns = 1000000,
                                     .flops = 1e6,
                                     .name = asc_prof_name(p, "exp+mul"),
                                     .label = asc_prof_name(p, "blocks.3.mlp"),
                                     .kind = ASC_PROF_REGION,
                                     .threads = 1});
    asc_prof_add(p, (asc_prof_event){.start_ns = t + 500,
                                     .ns = 3100000,
                                     .name = asc_prof_name(p, "read"),
                                     .kind = ASC_PROF_CUT,
                                     .threads = 1});
    asc_profile_pop(ctx, inner);
    asc_profile_pop(ctx, depth);
    asc_profile_stop(ctx);
}

static const char EVIL[] = "<script>\"&\\\n\x1b[31m\xff";

static const asc_json *find(const asc_json *events, const char *name) {
    for (size_t i = 0; i < asc_json_len(events); i++) {
        const asc_json *e = asc_json_at(events, i);
        asc_view v = asc_json_str(asc_json_get(e, "name"));
        if (v.len == strlen(name) && memcmp(v.ptr, name, v.len) == 0) return e;
    }
    return NULL;
}

static void is_text(const asc_json *o, const char *key, const char *want) {
    asc_view v = asc_json_str(asc_json_get(o, key));
    assert_int_equal(v.len, strlen(want));
    assert_memory_equal(v.ptr, want, v.len);
}

/* What viewers need: an object with traceEvents; every event has ph, pid, tid, name; X has ts and dur in
 * microseconds; metadata and counters have args. */
static void trace_is_valid(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_text *t = NULL;
    asc_json *root = NULL;
    record(ctx, EVIL);
    assert_int_equal(asc_text_create(ctx, &t), ASC_OK);
    asc_profile_trace(ctx, t);
    assert_int_equal(asc_text_status(t), ASC_OK);
    asc_view v = asc_text_view(t);
    if (asc_json_parse(ctx, v.ptr, v.len, &root) != ASC_OK) fail_msg("%s", asc_error_message(ctx));
    is_text(root, "displayTimeUnit", "ms");
    const asc_json *events = asc_json_get(root, "traceEvents");
    assert_true(asc_json_len(events) >= 2 + 5);
    for (size_t i = 0; i < asc_json_len(events); i++) {
        const asc_json *e = asc_json_at(events, i);
        asc_view ph = asc_json_str(asc_json_get(e, "ph"));
        assert_int_equal(ph.len, 1);
        assert_non_null(strchr("XMC", ph.ptr[0]));
        assert_int_equal(asc_json_int(asc_json_get(e, "pid"), -1), 1);
        assert_int_equal(asc_json_int(asc_json_get(e, "tid"), -1), 1);
        assert_true(asc_json_str(asc_json_get(e, "name")).len > 0);
        assert_int_equal(asc_json_typeof(asc_json_get(e, "args")), ASC_JSON_OBJECT);
        if (ph.ptr[0] == 'M') continue;
        assert_true(asc_json_num(asc_json_get(e, "ts"), -1) >= 0);
        if (ph.ptr[0] == 'X') assert_true(asc_json_num(asc_json_get(e, "dur"), -1) >= 0);
    }
    const asc_json *e = find(events, "matmul");
    assert_non_null(e);
    assert_true(asc_json_num(asc_json_get(e, "ts"), 0) == 1.0);
    assert_true(asc_json_num(asc_json_get(e, "dur"), 0) == 2000.0);
    is_text(e, "cat", "op");
    is_text(asc_json_get(e, "args"), "label", "blocks.11.mlp");
    assert_true(asc_json_num(asc_json_get(asc_json_get(e, "args"), "gflop_per_s"), 0) == 2.0);
    assert_non_null(find(events, "read"));
    /* the surrounding event stands first, also where both start together */
    size_t cut = 0, op = 0;
    for (size_t i = 0; i < asc_json_len(events); i++) {
        if (asc_json_at(events, i) == find(events, "read")) cut = i;
        if (asc_json_at(events, i) == find(events, "matmul")) op = i;
    }
    assert_true(cut < op);
    asc_json_free(root);
    asc_text_destroy(t);
    asc_profile_clear(ctx);
    test_ctx_end(ctx);
}

static void page_is_safe(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_text *t = NULL;
    record(ctx, EVIL);
    assert_int_equal(asc_text_create(ctx, &t), ASC_OK);
    asc_profile_page(ctx, t);
    assert_int_equal(asc_text_status(t), ASC_OK);
    const char *s = asc_text_view(t).ptr;
    assert_null(strstr(s, "<script"));
    assert_null(strstr(s, "http:"));
    assert_null(strstr(s, "https:"));
    assert_null(strstr(s, "src="));
    assert_null(strstr(s, "\x1b"));
    assert_non_null(strstr(s, "default-src 'none'"));
    assert_non_null(strstr(s, "&lt;script&gt;"));
    assert_non_null(strstr(s, "prefers-color-scheme:dark"));
    assert_non_null(strstr(s, "<svg class=\"time\""));
    assert_non_null(strstr(s, "blocks.*.mlp"));
    asc_text_destroy(t);
    asc_profile_clear(ctx);
    test_ctx_end(ctx);
}

static void table_sums(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_text *t = NULL;
    record(ctx, "step");
    assert_int_equal(asc_text_create(ctx, &t), ASC_OK);
    asc_profile_table(ctx, t);
    assert_int_equal(asc_text_status(t), ASC_OK);
    const char *s = asc_text_view(t).ptr;
    const char *matmul = strstr(s, "matmul "), *region = strstr(s, "exp+mul ");
    assert_non_null(matmul);
    assert_non_null(region);
    assert_true(matmul < region); /* by falling time */
    unsigned long long calls;
    double ms, share, flops, bytes, threads;
    assert_int_equal(
        sscanf(matmul, "matmul %llu %lf %lf %% %lf %lf %lf", &calls, &ms, &share, &flops, &bytes, &threads),
        6);
    assert_true(calls == 1 && ms == 2.0 && share == 66.7 && flops == 2.0 && threads == 2.0);
    const char *place = strstr(s, "blocks.*.mlp ");
    assert_non_null(place);
    assert_int_equal(sscanf(place, "blocks.*.mlp %llu %lf", &calls, &ms), 2);
    assert_true(calls == 2 && ms == 3.0);
    assert_non_null(strstr(s, "saliency / step "));
    assert_non_null(strstr(s, "cut: read"));
    assert_null(strchr(s, '\x1b'));
    asc_profile_summary d = asc_profile_summary_of(ctx);
    assert_true(d.ops == 1 && d.regions == 1 && d.cuts == 1 && d.flops == 5e6 && d.dropped == 0);
    asc_text_destroy(t);
    asc_profile_clear(ctx);
    test_ctx_end(ctx);
}

static void files_are_written(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    char folder[TEST_TMP], path[TEST_PATH];
    assert_non_null(mkdtemp(test_tmp_name(folder, "ascribe-profile-XXXXXX")));
    assert_int_equal(asc_profile_write(ctx, folder), ASC_FAILED_PRECONDITION);
    record(ctx, "step");
    snprintf(path, sizeof path, "%s/new", folder);
    assert_int_equal(asc_profile_write(ctx, path), ASC_OK);
    static const char *const names[] = {"trace.json", "profile.txt", "profile.html"};
    for (size_t i = 0; i < 3; i++) {
        struct stat st;
        snprintf(path, sizeof path, "%s/new/%s", folder, names[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_true(st.st_size > 100);
        assert_int_equal(unlink(path), 0);
    }
    snprintf(path, sizeof path, "%s/new", folder);
    assert_int_equal(rmdir(path), 0);
    assert_true(asc_profile_write(ctx, "/proc/no/such/place") != ASC_OK);
    assert_non_null(strstr(asc_error_message(ctx), "/proc/no/such/place"));
    assert_int_equal(rmdir(folder), 0);
    asc_profile_clear(ctx);
    test_ctx_end(ctx);
}

/* Values of tensors stay, everything else goes back. */
static void caches_empty(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    float x[4096], y[4096];
    for (int i = 0; i < 4096; i++) x[i] = (float)i / 4096.0f;
    asc_scope_begin(ctx);
    asc_tensor *a = asc_from_f32(ctx, ASC_SHAPE(4096), x), *kept = NULL;
    for (int k = 0; k < 4; k++) {
        asc_scope_begin(ctx);
        asc_tensor *b = asc_exp(ctx, asc_cumsum(ctx, a, 0, false, false));
        assert_int_equal(asc_read_f32(ctx, b, y, 4096), ASC_OK);
        if (k == 3) kept = asc_keep(ctx, b);
        assert_int_equal(asc_scope_end(ctx), ASC_OK);
    }
    const size_t before = asc_memory(ctx).live_total, freed = asc_cache_empty(ctx);
    assert_true(freed >= 4096 * 4); /* at least one idle buffer or block of temporaries */
    assert_int_equal(asc_memory(ctx).live_total, before - freed);
    assert_int_equal(asc_cache_empty(ctx), 0); /* nothing is left */
    float z[4096];
    assert_int_equal(asc_read_f32(ctx, kept, z, 4096), ASC_OK);
    assert_memory_equal(y, z, sizeof y);
    assert_int_equal(asc_scope_end(ctx), ASC_OK);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trace_is_valid),    cmocka_unit_test(page_is_safe), cmocka_unit_test(table_sums),
        cmocka_unit_test(files_are_written), cmocka_unit_test(caches_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
