/* encoder_job.c - a job on a text encoder: what of the request makes sense, which class or text it is about.
 */
#include "encoder.h"
#include "kept_text.h"
#include "neuron.h"
#include "target_encoder.h"
#include "view.h"
#include <math.h>
#include <string.h>

static asc_status refuse_language_model(asc_job *j) {
    const asc_request *q = j->req;
    if (q->messages != NULL) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "'%s' is a text encoder: it reads a text, no conversation",
                 j->m->path);
        return asc_hint(j->ctx, "give the text itself (--text)");
    }
    const asc_head_kind head = j->m->encoder->cfg.head;
    const bool words = head == ASC_HEAD_WORDS, texts = head != ASC_HEAD_NONE && head != ASC_HEAD_CLASSES;
    if (q->generate > 0 || (!words && (q->target_ids != NULL || q->versus_ids != NULL)) ||
        (q->target.ptr != NULL && !texts)) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT,
                 "'%s' is a text encoder: it writes no answer that could be a target", j->m->path);
        return asc_hint(j->ctx,
                        "name a class (--label, and --versus for another one) or a text (--similar-to)");
    }
    if (q->per_token || q->span_end > 0 || q->span.ptr != NULL) {
        ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED, "'%s' is a text encoder: its answer has no tokens to choose from",
                 j->m->path);
        return asc_hint(j->ctx, "leave --per-token and --span out");
    }
    if (q->output == ASC_OUTPUT_KL) {
        ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED, "output kl is that of a language model's next token");
        return asc_hint(j->ctx, "use logprob, prob or logit with a class, similarity with another text");
    }
    return ASC_OK;
}

/* Whether a class or a similarity is explained, from what is given and what the model can. */
static asc_status choose_output(asc_job *j) {
    asc_encoder_job *e = j->encoder;
    const asc_request *q = j->req;
    const asc_encoder_config *c = &j->m->encoder->cfg;
    if (q->neuron != NULL && q->neuron[0] != '\0') return ASC_OK; /* neuron.c has its own refusals */
    if (q->similar_to.ptr != NULL) {
        if (q->label.ptr != NULL || q->versus.ptr != NULL || q->target.ptr != NULL) {
            ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "a class or an answer, and a text to be similar to");
            return asc_hint(j->ctx, "give one of --label (or --target) and --similar-to");
        }
        if (q->second.ptr != NULL) {
            ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "a second text and a text to be similar to");
            return asc_hint(j->ctx, "give one of --second (read together) and --similar-to (compared)");
        }
        if (q->output != ASC_OUTPUT_LOGPROB && q->output != ASC_OUTPUT_SIMILARITY) {
            ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "a similarity has no %s", asc_output_name(q->output));
            return asc_hint(j->ctx, "leave --output out");
        }
        e->resolved.output = ASC_OUTPUT_SIMILARITY;
        return ASC_OK;
    }
    if (q->output == ASC_OUTPUT_SIMILARITY) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "output similarity, but no text to compare with");
        return asc_hint(j->ctx, "give it with --similar-to");
    }
    /* the one score of a ranking model is no probability */
    if (c->head == ASC_HEAD_CLASSES && c->n_classes == 1 && q->output == ASC_OUTPUT_LOGPROB)
        e->resolved.output = ASC_OUTPUT_LOGIT;
    if (c->head != ASC_HEAD_WORDS && c->head != ASC_HEAD_SPAN) return asc_model_need_classes(j->m);
    if (q->label.ptr == NULL) return ASC_OK;
    ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "'%s' has no classes: it %s", j->m->path,
             c->head == ASC_HEAD_WORDS ? "guesses masked words" : "finds answers in a text");
    return asc_hint(j->ctx, "name the %s with --target", c->head == ASC_HEAD_WORDS ? "word" : "answer");
}

asc_status asc_encoder_job_begin(asc_job *j) {
    asc_status st = ASC_OK;
    ASC_TRY(refuse_language_model(j));
    j->encoder = asc_calloc(j->ctx, ASC_MEM_GENERAL, 1, sizeof *j->encoder);
    if (j->encoder == NULL) return ASC_RESOURCE_EXHAUSTED;
    j->encoder->resolved = *j->req;
    ASC_TRY(choose_output(j));
    j->req = &j->encoder->resolved;
done:
    return st;
}

void asc_encoder_job_end(asc_job *j) {
    if (j->encoder == NULL) return;
    asc_free(j->ctx, j->encoder->similar);
    asc_free(j->ctx, j->encoder->types);
    asc_free(j->ctx, j->encoder->places);
    asc_free(j->ctx, j->encoder->seen);
    asc_free(j->ctx, j->encoder->prompt_types);
    asc_free(j->ctx, j->encoder->special);
    asc_free(j->ctx, j->encoder);
    j->encoder = NULL;
}

asc_baseline asc_encoder_baseline(const asc_job *j, int32_t *id) {
    const asc_encoder_config *c = &j->m->encoder->cfg;
    *id = -1;
    if (j->method->by_gradient) {
        *id = c->pad;
        return c->pad >= 0 ? ASC_BASELINE_PAD : ASC_BASELINE_ZERO;
    }
    *id = c->mask;
    if (c->mask >= 0) return ASC_BASELINE_TOKEN;
    const bool moves =
        c->head == ASC_HEAD_TOKENS || c->head == ASC_HEAD_SPAN; /* places, if words are left out */
    if (moves && j->req->similar_to.ptr == NULL && c->pad >= 0) *id = c->pad;
    return *id >= 0 ? ASC_BASELINE_PAD : ASC_BASELINE_REMOVE;
}

bool asc_encoder_frames(const asc_job *j, size_t i) {
    const asc_result *r = j->r;
    const asc_encoder_config *c = &j->m->encoder->cfg;
    if (j->encoder->special != NULL) return j->encoder->special[i];
    if (r->n_prompt < 3 || c->sep < 0 || r->prompt_ids[r->n_prompt - 1] != c->sep) return false;
    if (c->cls >= 0 && r->prompt_ids[0] != c->cls) return false;
    int32_t id = r->prompt_ids[i];
    return id == c->sep || (i == 0 && id == c->cls);
}

asc_status asc_encoder_prompt(asc_job *j, asc_strbuf *text, asc_token **out, size_t *n) {
    const asc_request *q = j->req;
    if (q->prompt.len == 0 || (q->second.ptr != NULL && q->second.len == 0)) {
        ASC_FAIL(j->ctx, ASC_INVALID_ARGUMENT, "the %s is empty",
                 q->prompt.len == 0 ? "text" : "second text");
        return asc_hint(j->ctx, "give at least one word");
    }
    asc_strbuf_addv(text, q->prompt);
    if (q->second.ptr != NULL) {
        asc_strbuf_adds(text, "\n");
        asc_strbuf_addv(text, q->second);
    }
    asc_status st = asc_strbuf_status(text);
    asc_encoder_text t;
    if (st == ASC_OK) st = asc_encoder_tokens(j->m, q->prompt, q->second, q->prompt.len + 1, &t);
    if (st != ASC_OK) return st;
    *out = t.tokens;
    *n = t.n;
    j->encoder->special = t.special;
    j->encoder->prompt_types = t.types;
    return ASC_OK;
}

static asc_status one_id(asc_job *j, int32_t id, int32_t **out, size_t *n) {
    *out = asc_calloc(j->ctx, ASC_MEM_GENERAL, 1, sizeof **out);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    **out = id;
    *n = 1;
    return ASC_OK;
}

static asc_status copy_text(asc_job *j, asc_view v, char **out) {
    asc_free(j->ctx, *out);
    *out = asc_strdup_view(j->ctx, ASC_MEM_GENERAL, v);
    return *out != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

/* Probabilities of classes from their scores z, and the best of them. */
static void to_probabilities(const asc_job *j, float *z, size_t n) {
    double top = -INFINITY, sum = 0.0;
    bool many = j->m->encoder->cfg.many_labels;
    for (size_t i = 0; i < n; i++) top = fmax(top, (double)z[i]);
    for (size_t i = 0; i < n; i++) sum += exp((double)z[i] - top);
    for (size_t i = 0; i < n; i++)
        z[i] = (float)(many ? 1.0 / (1.0 + exp(-(double)z[i])) : exp((double)z[i] - top) / sum);
}

static void list_top(asc_job *j, const float *p, size_t n) {
    asc_result *r = j->r;
    for (size_t k = 0; k < ASC_N_TOP && k < n; k++) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < n; i++) {
            bool taken = false;
            for (size_t q = 0; q < k; q++) taken = taken || r->top[q].id == (int32_t)i;
            if (!taken && (best == SIZE_MAX || p[i] > p[best])) best = i;
        }
        r->top[r->n_top++] = (asc_candidate){.id = (int32_t)best, .prob = (double)p[best]};
    }
}

/* Types of the prompt's own tokens, where they are not all 0. */
static asc_status prompt_types(asc_job *j) {
    asc_encoder_job *e = j->encoder;
    const asc_result *r = j->r;
    bool any = false;
    if (j->req->prompt_ids != NULL && j->req->prompt_types != NULL) {
        e->prompt_types = asc_calloc(j->ctx, ASC_MEM_GENERAL, r->n_prompt + 1, sizeof *e->prompt_types);
        if (e->prompt_types == NULL) return ASC_RESOURCE_EXHAUSTED;
        memcpy(e->prompt_types, j->req->prompt_types, r->n_prompt * sizeof *e->prompt_types);
    }
    for (size_t i = 0; e->prompt_types != NULL && i < r->n_prompt && !any; i++) {
        any = e->prompt_types[i] != 0;
        if (!any && r->prompt_ids[i] == j->m->encoder->cfg.sep) e->n_separators++;
    }
    if (any && j->m->encoder->types != NULL) return ASC_OK;
    asc_free(j->ctx, e->prompt_types);
    e->prompt_types = NULL;
    return ASC_OK;
}

/* Token heads: the first token of the word that is asked about (whole words before parts of one), or the one
 * with the most certain class that is not the first one ("O", as such models have it); p holds probabilities
 * [n_prompt, classes]. */
static asc_status choose_token(asc_job *j, const float *p, size_t n) {
    asc_encoder_job *e = j->encoder;
    const asc_result *r = j->r;
    asc_view want = j->req->target;
    double best = -1.0;
    if (want.ptr != NULL) {
        const asc_view word = asc_encoder_trim(want);
        for (int whole = 1; whole >= 0; whole--) {
            size_t at = 0;
            for (; (at = asc_encoder_find(r, word, at, 0, whole != 0)) != SIZE_MAX; at++) {
                for (size_t i = 0; i < r->n_prompt; i++) {
                    e->token = i;
                    if (r->token_end[i] > at && r->token_start[i] < at + word.len) return ASC_OK;
                }
            }
        }
        asc_view cut = asc_view_cut(want, 60);
        ASC_FAIL(j->ctx, ASC_NOT_FOUND, "the text has no \"" ASC_VIEW_FMT "\"", ASC_VIEW_ARG(cut));
        return asc_hint(j->ctx, "--target names the word of the text whose class is explained");
    }
    for (size_t i = 0; i < r->n_prompt; i++) {
        if (asc_encoder_frames(j, i)) continue;
        for (size_t k = 0; k < n; k++) {
            double score = (double)p[i * n + k] + (k > 0 ? 1.0 : 0.0);
            bool most = true;
            for (size_t o = 0; o < n; o++) most = most && p[i * n + o] <= p[i * n + k];
            if (!most || score <= best) continue;
            best = score;
            e->token = i;
        }
    }
    return ASC_OK;
}

static asc_status class_targets(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    asc_result *r = j->r;
    const asc_request *q = j->req;
    asc_status st = ASC_OK;
    size_t n = asc_model_n_classes(j->m), rows = j->m->encoder->cfg.head == ASC_HEAD_TOKENS ? r->n_prompt : 1;
    int32_t which = 0;
    float *z = asc_calloc(ctx, ASC_MEM_SCRATCH, n * rows + 1, sizeof *z);
    if (z == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (!q->dry_run) {
        ASC_TRY(asc_model_classify(j->m, r->prompt_ids, j->encoder->prompt_types, r->n_prompt, z));
        r->n_forward++;
        for (size_t i = 0; i < n * rows; i++) j->max_logit = fmax(j->max_logit, fabs((double)z[i]));
        for (size_t i = 0; i < rows; i++) to_probabilities(j, z + i * n, n);
        if (rows > 1) ASC_TRY(choose_token(j, z, n));
        list_top(j, z + (rows > 1 ? j->encoder->token * n : 0), n);
        which = r->top[0].id;
    }
    if (q->label.ptr != NULL) ASC_TRY(asc_model_find_class(j->m, q->label, &which));
    ASC_TRY(one_id(j, which, &r->target_ids, &r->n_target));
    ASC_TRY(copy_text(j, asc_view_of(asc_model_class_name(j->m, (size_t)which)), &r->label));
    if (q->versus.ptr != NULL) {
        int32_t other;
        ASC_TRY(asc_model_find_class(j->m, q->versus, &other));
        if (other == which) {
            st = ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the class '%.60s' against itself", r->label);
            st = asc_hint(ctx, "name another class with --versus");
            goto done;
        }
        ASC_TRY(one_id(j, other, &r->versus_ids, &r->n_versus));
        ASC_TRY(copy_text(j, asc_view_of(asc_model_class_name(j->m, (size_t)other)), &r->versus_label));
    }
    for (size_t k = 0; k < r->n_top; k++)
        ASC_TRY(
            copy_text(j, asc_view_of(asc_model_class_name(j->m, (size_t)r->top[k].id)), &r->top_labels[k]));
done:
    asc_free(ctx, z);
    return st;
}

static asc_status similarity_target(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    asc_encoder_job *e = j->encoder;
    asc_status st = ASC_OK;
    asc_encoder_text t = {0};
    int32_t *ids = NULL;
    if (j->req->similar_to.len == 0) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the text to be similar to is empty");
        return asc_hint(ctx, "give at least one word");
    }
    ASC_TRY(asc_encoder_tokens(j->m, j->req->similar_to, (asc_view){NULL, 0}, 0, &t));
    ids = asc_calloc(ctx, ASC_MEM_GENERAL, t.n + 1, sizeof *ids);
    e->n_similar = asc_model_embedding_width(j->m);
    e->similar = asc_calloc(ctx, ASC_MEM_GENERAL, e->n_similar + 1, sizeof *e->similar);
    if (ids == NULL || e->similar == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t i = 0; i < t.n; i++) ids[i] = t.tokens[i].id;
    st = asc_model_check_ids(j->m, ids, t.n, "text to be similar to");
    if (st == ASC_OK && !j->req->dry_run) {
        st = asc_model_embed_kept(j->m, ids, t.n, e->similar, &j->saved_flops);
        j->r->n_forward++; /* also when it was kept: what an answer says of itself does not hang on the one
                              before it. estimate.c counts it in dry runs */
    }
    if (st != ASC_OK) goto done;
    ASC_TRY(one_id(j, 0, &j->r->target_ids, &j->r->n_target));
    ASC_TRY(copy_text(j, j->req->similar_to, &j->r->similar_to));
    if (j->m->encoder->cfg.plain_pooling)
        ASC_TRY(asc_job_warn(j,
                             "the folder has no modules.json, so a text's embedding is taken to be the mean "
                             "over its tokens"));
done:
    asc_free(ctx, ids);
    asc_encoder_text_free(ctx, &t);
    return st;
}

/* What is explained, in words: the class, of a token head with the token's text. */
static asc_status name_target(asc_job *j) {
    asc_result *r = j->r;
    size_t i = j->encoder->token;
    asc_strbuf b;
    if (j->m->encoder->cfg.head != ASC_HEAD_TOKENS || j->encoder->similar != NULL || i >= r->n_prompt)
        return copy_text(j, asc_view_of(r->label), &r->target);
    asc_strbuf_init(&b, j->ctx);
    asc_strbuf_addf(&b, "%s of ", r->label);
    asc_strbuf_addv(&b, asc_encoder_trim(asc_view_make(r->prompt + r->token_start[i],
                                                       r->token_end[i] - r->token_start[i])));
    asc_status st = asc_strbuf_status(&b);
    if (st == ASC_OK) st = copy_text(j, asc_strbuf_view(&b), &r->target);
    asc_strbuf_deinit(&b);
    return st;
}

asc_status asc_encoder_targets(asc_job *j) {
    asc_result *r = j->r;
    asc_status st = ASC_OK;
    ASC_TRY(copy_text(j, asc_view_of(""), &r->label));
    ASC_TRY(copy_text(j, asc_view_of(""), &r->versus_label));
    ASC_TRY(copy_text(j, asc_view_of(""), &r->similar_to));
    ASC_TRY(copy_text(j, j->req->second.ptr != NULL ? j->req->second : asc_view_of(""), &r->second));
    ASC_TRY(prompt_types(j));
    if (j->neuron.on) return asc_neuron_target(j);
    const asc_head_kind head = j->m->encoder->cfg.head;
    const bool similar = j->req->output == ASC_OUTPUT_SIMILARITY;
    if (!similar && (head == ASC_HEAD_WORDS || head == ASC_HEAD_SPAN)) return asc_encoder_place_targets(j);
    if (!similar) r->answer_kind = "class";
    ASC_TRY(j->req->output == ASC_OUTPUT_SIMILARITY ? similarity_target(j) : class_targets(j));
    ASC_TRY(name_target(j));
    ASC_TRY(copy_text(j, asc_view_of(r->versus_label), &r->versus));
    r->target_len = strlen(r->target);
    r->versus_len = strlen(r->versus);
done:
    return st;
}
