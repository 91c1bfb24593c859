/* passes.c - the table of passes and the one way to run them; see passes.h. */
#include "passes.h"
#include "profile.h"
#include "view.h"
#include <string.h>

const asc_pass *const asc_passes[] = {
#define PASS(name) &asc_pass_##name,
#include "passes.def"
#undef PASS
};
const size_t asc_n_passes = sizeof asc_passes / sizeof asc_passes[0];
_Static_assert(sizeof asc_passes / sizeof asc_passes[0] <= ASC_MOST_PASSES, "room for every pass");

asc_status asc_passes_run(asc_ctx *ctx, asc_program *p, const asc_pass_env *env) {
    for (size_t k = 0; k < p->n_nodes; k++) { /* before anything moves */
        if (p->nodes[k].origin == 0) p->nodes[k].origin = (int32_t)k + 1;
    }
    for (size_t i = 0; i < asc_n_passes; i++) {
        size_t n_done = 0;
        if ((env->off >> i & 1) != 0) continue;
        asc_prof_mark m = asc_prof_begin(ctx);
        asc_status st = asc_passes[i]->run(ctx, p, env, &n_done);
        if (st == ASC_OK && n_done > 0) st = asc_program_verify(ctx, p);
        asc_prof_end(ctx, m, ASC_PROF_PASS, asc_passes[i]->name, NULL);
        if (st != ASC_OK) {
            asc_fail_context(ctx, "pass %s", asc_passes[i]->name);
            return st;
        }
        if (env->done != NULL) env->done[i] += n_done;
    }
    return ASC_OK;
}

static asc_status unknown(asc_ctx *ctx, asc_view name) {
    char list[400] = "";
    for (size_t i = 0; i < asc_n_passes; i++) {
        strncat(list, i > 0 ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, asc_passes[i]->name, sizeof list - strlen(list) - 1);
    }
    asc_view cut = asc_view_cut(name, 40);
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "no pass '" ASC_VIEW_FMT "'", ASC_VIEW_ARG(cut));
    return asc_hint(ctx, "passes: %s; -NAME turns one off, none turns all off", list);
}

asc_status asc_passes_parse(asc_ctx *ctx, const char *text, uint64_t *off) {
    *off = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, ",");
        asc_view name = asc_view_make(text, len);
        bool minus = len > 0 && text[0] == '-';
        asc_view bare = minus ? asc_view_make(text + 1, len - 1) : name;
        size_t found = asc_n_passes;
        for (size_t i = 0; i < asc_n_passes; i++) {
            if (asc_view_eqs(bare, asc_passes[i]->name)) found = i;
        }
        if (!minus && asc_view_eqs(name, "none")) {
            *off = UINT64_MAX;
        } else if (found == asc_n_passes) {
            return unknown(ctx, name);
        } else if (minus) {
            *off |= (uint64_t)1 << found;
        } else {
            *off &= ~((uint64_t)1 << found);
        }
        text += len;
        if (*text == ',') text++;
    }
    return ASC_OK;
}
