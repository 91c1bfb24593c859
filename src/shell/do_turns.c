/* do_turns.c - commands about what was asked: again, once more, beside another method, kept in a file. */
#include "ascribe/compare.h"
#include "line.h"
#include "shell_parts.h"
#include "words.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is(asc_view v, const char *s) { return strlen(s) == v.len && memcmp(v.ptr, s, v.len) == 0; }

bool do_again(shell *s, const shell_command *c, asc_view rest) {
    (void)c;
    (void)rest;
    return shell_again(s);
}

bool do_show(shell *s, const shell_command *c, asc_view rest) {
    (void)c;
    if (rest.len > 0 && !is(rest, "all")) return shell_fail(s, "", ":show, or :show all");
    const turn *t = shell_last_explained(s);
    if (t == NULL) return false;
    shell_put_result(s, t, rest.len > 0);
    return true;
}

bool do_history(shell *s, const shell_command *c, asc_view rest) {
    const turn *list[50];
    size_t n = 0, columns = shell_style(s).columns;
    (void)c;
    (void)rest;
    for (const turn *t = past_now(&s->past)->last; t != NULL && n < 50; t = t->before) list[n++] = t;
    if (n == 0) asc_text_adds(s->out, "  nothing was asked yet\n");
    for (size_t i = n; i > 0; i--) {
        const turn *t = list[i - 1];
        asc_text_addf(s->out, "%3zu %s ", n - i + 1, t->chat ? "user  " : "prompt");
        asc_text_shown(s->out, (asc_view){t->prompt, t->prompt_len}, columns > 30 ? columns - 12 : 20);
        asc_text_adds(s->out, "\n");
        if (t->said_len == 0) continue;
        asc_text_adds(s->out, "    answer ");
        asc_text_shown(s->out, (asc_view){t->said, t->said_len}, columns > 30 ? columns - 12 : 20);
        asc_text_adds(s->out, "\n");
    }
    shell_flush(s);
    return true;
}

bool do_time(shell *s, const shell_command *c, asc_view rest) {
    const turn *t = past_now(&s->past)->last;
    (void)c;
    (void)rest;
    if (t == NULL) return shell_fail(s, "", "nothing was asked yet");
    if (t->n_answer > 0)
        asc_text_addf(s->out, "  answer       %.2f s, %zu tokens behind %zu of the prompt\n",
                      t->answer_seconds, t->n_answer, t->n_ids);
    const asc_result *r = t->result != NULL ? asc_answer_result(t->result) : NULL;
    const asc_attribution *a = t->result != NULL ? asc_answer_attribution(t->result) : NULL;
    if (t->result != NULL)
        asc_text_addf(s->out, "  attribution  %.2f s, %llu forward and %llu backward passes, peak %.0f MB\n",
                      t->explain_seconds, (unsigned long long)(r != NULL ? r->n_forward : a->n_forward),
                      (unsigned long long)(r != NULL ? r->n_backward : a->n_backward),
                      (double)(r != NULL ? r->peak_bytes : a->peak_bytes) / 1e6);
    shell_flush(s);
    return true;
}

/* ---- another method ---- */

/* Scores of an answer in a row, errors NaN where they are not known; malloc. */
typedef struct row {
    double *score, *error;
    size_t n;
} row;

static int64_t elems(const asc_scores *s) {
    asc_array a = {.shape = s->shape};
    return asc_array_count(&a);
}

static bool row_of(const asc_answer *a, row *out) {
    const asc_result *r = asc_answer_result(a);
    const asc_attribution *x = asc_answer_attribution(a);
    size_t n = r != NULL ? r->n_features : 0, at = 0;
    for (size_t k = 0; x != NULL && k < x->n_scores; k++) n += (size_t)elems(&x->scores[k]);
    *out = (row){malloc((n + 1) * sizeof(double)), malloc((n + 1) * sizeof(double)), n};
    if (out->score == NULL || out->error == NULL) return false;
    for (size_t i = 0; r != NULL && i < n; i++) {
        out->score[i] = r->features[i].score;
        out->error[i] = r->features[i].error;
    }
    for (size_t k = 0; x != NULL && k < x->n_scores; k++) {
        for (int64_t i = 0; i < elems(&x->scores[k]); i++, at++) {
            out->score[at] = x->scores[k].data[i];
            out->error[at] = x->scores[k].error != NULL ? x->scores[k].error[i] : NAN;
        }
    }
    return true;
}

static void side_by_side(shell *s, const asc_result *r, const row *a, const row *b, const char *names[2]) {
    size_t columns = shell_style(s).columns, wide = columns > 60 ? columns - 46 : 14;
    asc_text_addf(s->out, "  %20.20s %20.20s\n", names[0], names[1]);
    for (size_t i = 0; i < a->n; i++) {
        const asc_feature *f = &r->features[i];
        asc_text_addf(s->out, "  %+20.4g %+20.4g  ", a->score[i], b->score[i]);
        size_t blank = f->text_len > 1 && f->text[0] == ' ';
        asc_text_shown(s->out, (asc_view){f->text + blank, f->text_len - blank}, wide);
        asc_text_adds(s->out, "\n");
    }
}

static bool compared(shell *s, const turn *t, const turn *other, const char *method) {
    const asc_result *r = asc_answer_result(t->result);
    const asc_attribution *x = asc_answer_attribution(t->result);
    row a = {0}, b = {0};
    asc_difference d;
    asc_status st = ASC_OK;
    const char *names[2] = {r != NULL ? r->method : x->method, method};
    bool ok = row_of(t->result, &a) && row_of(other->result, &b);
    if (!ok) {
        shell_fail(s, "", "out of memory");
    } else if (a.n != b.n) {
        asc_text_addf(s->out, "  %s has %zu scores, %s %zu: they cannot stand side by side\n", names[0], a.n,
                      names[1], b.n);
        shell_put_result(s, other, false);
    } else {
        if (r != NULL)
            side_by_side(s, r, &a, &b, names);
        else
            shell_put_result(s, other, false);
        asc_score_set sa = {a.score, a.error, a.n}, sb = {b.score, b.error, b.n};
        st = asc_scores_compare(s->ctx, &sa, &sb, 0, 0, NULL, &d);
        if (st == ASC_OK) {
            asc_text_adds(s->out, "  order: ");
            if (isfinite(d.spearman))
                asc_text_addf(s->out, "Spearman %.2f, Kendall %.2f, ", d.spearman, d.kendall);
            asc_text_addf(s->out, "%.0f %% of the %zu largest are the same\n", 100 * d.top_overlap, d.top_k);
        }
        shell_flush(s);
        ok = st == ASC_OK || shell_error(s, st);
    }
    free(a.score);
    free(a.error);
    free(b.score);
    free(b.error);
    return ok;
}

bool do_compare(shell *s, const shell_command *c, asc_view rest) {
    const turn *t = shell_last_explained(s);
    const char *why;
    size_t n;
    (void)c;
    if (t == NULL) return false;
    if (rest.len == 0) return shell_fail(s, ":method lists them", ":compare needs a method");
    char *name = line_value(rest, &n, &why);
    turn *other = turn_create();
    json_t *asked = json_copy(t->asked);
    bool ok = name != NULL && other != NULL && json_object_set_new(asked, "method", json_string(name)) == 0;
    if (!ok) shell_fail(s, "", ":compare: %s", name == NULL ? why : "the name is not text");
    if (ok) {
        json_object_del(asked, "per_token");
        ok = shell_ask(s, other, asked, false);
        if (ok)
            ok = compared(s, t, other,
                          asc_answer_result(other->result) != NULL ? asc_answer_result(other->result)->method
                                                                   : name);
    }
    json_decref(asked);
    turn_release(other);
    free(name);
    return ok;
}

/* ---- the matrix ---- */

bool do_matrix(shell *s, const shell_command *c, asc_view rest) {
    word_sheet w;
    turn *t = shell_last_explained(s);
    size_t columns = shell_style(s).columns;
    (void)c;
    (void)rest;
    if (t == NULL) return false;
    if (!shell_need_matrix(s, t)) {
        asc_status st = asc_error_code(s->ctx);
        const asc_result *r = asc_answer_result(t->result);
        if (st == ASC_CANCELLED) return false;
        if (r != NULL && (r->output == ASC_OUTPUT_KL || json_object_get(t->asked, "neuron") != NULL))
            return shell_fail(s, ":show, or :word with a word of the prompt",
                              "%s is one number, not one for each word of an answer",
                              r->output == ASC_OUTPUT_KL ? "what changes of the next token" : "a neuron");
        shell_fail(s, asc_error_hint(s->ctx), "no scores for each word of the answer: %s",
                   st != ASC_OK ? asc_error_message(s->ctx) : "this kind of model has none");
        return false;
    }
    asc_status st = words_make(s->ctx, asc_answer_result(shell_words_of(t)->result), shell_tokenizer(s), &w);
    if (st != ASC_OK) return shell_fail(s, "", "out of memory");
    shell_say_whose_words(s, t);
    size_t *order = malloc((w.side[SIDE_PROMPT].n + 1) * sizeof *order);
    for (size_t i = 0; order != NULL && i < w.side[SIDE_ANSWER].n; i++) {
        size_t n = words_ranked(&w, SIDE_ANSWER, i, order), at = 0;
        asc_text_adds(s->out, "  ");
        at = asc_text_shown(s->out, w.side[SIDE_ANSWER].v[i].text, 18);
        asc_text_blanks(s->out, 20 - at);
        at = 22;
        for (size_t k = 0; k < n && k < 6; k++) {
            char figure[32];
            double e, score = words_score(&w, SIDE_ANSWER, i, order[k], &e);
            size_t len = (size_t)snprintf(figure, sizeof figure, "%+.2g ", score);
            if (k > 0 && at + len + 22 > columns) break;
            asc_text_adds(s->out, figure);
            at += len + asc_text_shown(s->out, w.side[SIDE_PROMPT].v[order[k]].text, 16) + 2;
            asc_text_adds(s->out, "  ");
        }
        asc_text_adds(s->out, "\n");
    }
    free(order);
    words_free(&w);
    shell_flush(s);
    return true;
}

/* ---- files ---- */

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n > m && strcmp(s + n - m, end) == 0;
}

/* Would the file replace the model? */
static bool is_model(const shell *s, const char *path) {
    struct stat a, b;
    return stat(path, &a) == 0 && stat(asc_subject_path(s->subject), &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static bool write_file(shell *s, turn *t, const char *path) {
    asc_text *doc = NULL;
    bool script = ends_with(path, ".sh"), ok = true;
    asc_status st = asc_text_create(s->ctx, &doc);
    if (st == ASC_OK && ends_with(path, ".html"))
        asc_answer_html(t->result, doc);
    else if (st == ASC_OK && ends_with(path, ".json"))
        asc_answer_json(t->result, doc);
    else if (st == ASC_OK)
        ok = shell_script(s, t, doc);
    if (ok && st == ASC_OK) st = asc_text_write(doc, path);
    if (ok && st == ASC_OK && script) chmod(path, 0755);
    asc_text_destroy(doc);
    if (!ok) return false;
    if (st != ASC_OK) return shell_error(s, st);
    if (s->o->quiet) return true;
    asc_text_adds(s->out, "  wrote ");
    asc_text_shown(s->out, (asc_view){path, strlen(path)}, 0);
    asc_text_adds(s->out, "\n");
    shell_flush(s);
    return true;
}

bool do_save(shell *s, const shell_command *c, asc_view rest) {
    turn *t = shell_last_explained(s);
    const char *why;
    size_t n;
    (void)c;
    if (t == NULL) return false;
    if (rest.len == 0) return shell_fail(s, "", ":save needs the name of a file");
    char *path = line_path(rest, &n, &why);
    bool ok = path != NULL || shell_fail(s, "", ":save: %s", why);
    if (ok && !ends_with(path, ".html") && !ends_with(path, ".json") && !ends_with(path, ".sh"))
        ok = shell_fail(s, "end it with .html (a page), .json (a result) or .sh (a script)",
                        "the name '%.200s' does not say what to write", path);
    if (ok && is_model(s, path)) ok = shell_fail(s, "another name", "'%.200s' is the model", path);
    if (ok) ok = write_file(s, t, path);
    free(path);
    return ok;
}
