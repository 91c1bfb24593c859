/* report_price.c - what a question would cost, in words: results of dry runs. */
#include "ascribe/net_report.h"

/* "activations 190.2, tokenizer 22.0, ..." */
static void tags(asc_text *t, const size_t *bytes) {
    bool first = true;
    for (int i = 0; i < ASC_MEM_N_TAGS; i++) {
        double mb = (double)bytes[i] / 1e6;
        if (mb < 0.05) continue;
        asc_text_addf(t, "%s%s %.1f", first ? "" : ", ", asc_mem_tag_name((asc_mem_tag)i), mb);
        first = false;
    }
}

/* "Would take about 3 s", or "Would take 0.5 to 30 s, at most" so many passes. */
static void seconds(asc_text *t, double most, double least) {
    if (least < 0.99 * most)
        asc_text_addf(t, "Would take %.3g to %.3g s, by how soon it is exact enough; at most ", least, most);
    else
        asc_text_addf(t, "Would take about %.3g s: ", most);
}

void asc_report_price(asc_ctx *ctx, asc_text *t, const asc_report *rep) {
    const asc_result *r = rep->result;
    double tolerance = rep->request->tolerance;
    size_t mapped = asc_memory(ctx).mapped_bytes;
    seconds(t, r->predicted_seconds, r->predicted_least_seconds);
    asc_text_addf(t,
                  "%llu forward and %llu backward passes over %zu prompt tokens,\n"
                  "%.4g GFLOP, %.4g GB moved. ",
                  (unsigned long long)r->n_forward, (unsigned long long)r->n_backward, r->n_prompt,
                  r->flops / 1e9, r->predicted_bytes_moved / 1e9);
    if (r->tokens_run > 0)
        asc_text_addf(t, "Tokens: %llu of %llu (%.2f times saved). ", (unsigned long long)r->tokens_run,
                      (unsigned long long)r->tokens_plain, (double)r->tokens_plain / (double)r->tokens_run);
    asc_text_addf(t, "Prompts at a time: %zu", r->prompts_per_pass);
    if (r->keep_every == 1) asc_text_adds(t, "; gradients block by block");
    if (r->keep_every > 1)
        asc_text_addf(t, "; gradients block by block, inputs of every %zuth kept", r->keep_every);
    asc_text_addf(t, ".\nPeak %.1f MB (", (double)r->predicted_peak_bytes / 1e6);
    tags(t, r->predicted_tags);
    asc_text_addf(t, ") and %.1f MB of mapped file.\n", (double)mapped / 1e6);
    if (r->n_forward_flat > 0)
        asc_text_adds(t, tolerance > 0
                             ? "That is with all parts taken apart that may be, up to the first look "
                               "at the errors: sampling goes on until the tolerance is met.\n"
                             : "That is the most: what does not matter is not taken apart.\n");
    else if (r->stochastic && tolerance > 0)
        asc_text_adds(t, "That is the most: sampling ends as soon as the tolerance is met.\n");
    asc_text_adds(t, "Nothing was computed but the rates of this machine (--dry-run).\n");
    for (size_t i = 0; i < r->n_warnings; i++) {
        asc_text_adds(t, "Warning: ");
        asc_text_wrap(t, r->warnings[i], 9, 100);
    }
}

void asc_net_report_price(asc_text *t, const asc_net_report *rep) {
    const asc_attribution *r = rep->result;
    seconds(t, r->predicted_seconds, r->predicted_least_seconds);
    asc_text_addf(t,
                  "%llu rows forwards, %llu of them backwards too, %.4g GFLOP, "
                  "%zu rows a pass,\n"
                  "with a peak of %.1f MB. Only passes of each kind were run, to learn their time and memory "
                  "(--dry-run).\n",
                  (unsigned long long)r->n_forward, (unsigned long long)r->n_backward, r->flops / 1e9,
                  r->rows_per_pass, (double)r->predicted_peak_bytes / 1e6);
    for (size_t i = 0; i < r->n_notes; i++) {
        asc_text_adds(t, "Note: ");
        asc_text_wrap(t, r->notes[i], 6, 100);
    }
}
