/* cmd_memory.c - ascribe memory: runs an explanation and says what memory it took, by tag, where the peak
 * was, and what is left when the caches are emptied. */
#include "cli.h"
#include "ascribe/profile.h"

static int put_json(cli *c, asc_text *t, const asc_mem_stats *m, size_t emptied) {
    asc_text_clear(t);
    asc_text_object(t, NULL);
    asc_text_array(t, "tags");
    for (int k = 0; k < ASC_MEM_N_TAGS; k++) {
        asc_text_object(t, NULL);
        asc_text_strz(t, "tag", asc_mem_tag_name((asc_mem_tag)k));
        asc_text_int(t, "live_bytes", (int64_t)m->live_bytes[k]);
        asc_text_int(t, "peak_bytes", (int64_t)m->peak_bytes[k]);
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_int(t, "live_bytes", (int64_t)m->live_total);
    asc_text_int(t, "peak_bytes", (int64_t)m->peak_total);
    asc_text_int(t, "mapped_bytes", (int64_t)m->mapped_bytes);
    asc_text_int(t, "emptied_bytes", (int64_t)emptied);
    asc_text_end(t);
    return cli_write_json(c, t);
}

int cmd_memory(cli *c) {
    cli_job j = {0};
    cli_run r = {0};
    const cli_where as_told = {0};
    int rc = cli_open_context(c);
    if (rc == EXIT_DONE) rc = cli_job_open(c, &as_told, &j);
    if (rc == EXIT_DONE) {
        asc_status st = asc_profile_start(j.c.ctx, NULL);
        rc = st == ASC_OK ? cli_job_run(&j, &r, NULL, 0) : cli_error(&j.c, st);
    }
    if (rc == EXIT_DONE) {
        asc_profile_stop(j.c.ctx);
        asc_text_clear(j.c.out);
        asc_memory_report(j.c.ctx, j.c.out);
        const asc_mem_stats m = asc_memory(j.c.ctx);
        const size_t emptied = asc_cache_empty(j.c.ctx);
        asc_text_addf(j.c.out, "emptying the caches gave back %zu bytes; %zu bytes are live without them\n",
                      emptied, asc_memory(j.c.ctx).live_total);
        if (!cli_to_stdout(c, OPT_JSON) && !cli_has(c, OPT_QUIET)) rc = cli_flush(&j.c);
        if (rc == EXIT_DONE && cli_wants_json(c)) rc = put_json(&j.c, j.c.out, &m, emptied);
    }
    cli_run_free(&r);
    cli_job_close(&j);
    return rc;
}
