/* method.h - what a method is inside the library, and the job it works on.
 * A method is one file with a const descriptor, listed once in methods.def; the command line, docs and tests
 * read the descriptors. To add one: the file and the line.
 */
#ifndef ASC_METHOD_H
#define ASC_METHOD_H

#include "ascribe/attr.h"
#include "chat.h"
#include "model.h"
#include "segment.h"
#include "strbuf.h"

/* Tokens [first, last) of the prompt that come and go with a feature, and what stands there without it: one
 * fill, or one of several that a draw decides for each coalition. */
typedef struct asc_fill {
    const int32_t *ids; /* owned by the job */
    size_t n;           /* 0 = nothing */
} asc_fill;
typedef struct asc_part {
    size_t first, last;
    int32_t feature;     /* index of the feature; parts are ascending and do not overlap */
    const int32_t *fill; /* n_fill ids, owned by the job; n_fill 0 = nothing; the longest of several */
    size_t n_fill;
    const asc_fill *choices; /* NULL: the fill alone */
    size_t n_choices;
} asc_part;

/* A slot of the request and where it lies in the prompt's text. */
typedef struct asc_placed_slot {
    size_t slot;
    asc_span at;
} asc_placed_slot;

/* A resolved request. Tokens of the prompt: r->prompt_ids [n_prompt]; features: groups of them. */
typedef struct asc_job {
    asc_ctx *ctx;
    asc_model *m;
    const asc_request *req;
    asc_result *r; /* filled while the job runs */
    const struct asc_method *method;
    asc_token_group *groups; /* one a feature: ranges of prompt tokens */
    int64_t *group_message;  /* chat message of each feature, -1 = none */
    size_t n_groups;
    asc_part *parts; /* at least one a feature, covering exactly the active tokens */
    size_t n_parts;
    int32_t *fill;        /* what parts borrow */
    int32_t **slot_fills; /* the same of slots with baselines of their own */
    size_t n_slot_fills;
    asc_placed_slot *placed; /* [n_parts] the request's slot of each part; NULL: features are no slots */
    asc_fill *choices;
    size_t trial;          /* number of the draw of random baselines */
    bool *off;             /* per prompt token: frozen or skipped */
    bool *active;          /* per prompt token: part of some feature; others are never perturbed */
    asc_baseline baseline; /* resolved: never AUTO */
    int32_t baseline_id;   /* token that stands in, -1 for REMOVE, ZERO, MEAN */
    asc_decoder_site site; /* where gradients are taken; ASC_SITE_EMBED = the embeddings */
    int64_t site_layer;
    int64_t site_first, site_columns; /* of the site's columns, those that scores are made of; 0 = all */
    struct {
        bool on;      /* an inner value is explained (neuron.h), not an answer */
        bool through; /* an answer is, as far as it goes through that value; the job's site is the value's */
        asc_decoder_site site;
        int64_t layer, index, token;
    } neuron;
    size_t span_start, span_end;   /* target tokens that are explained; both 0: all, or the next token (KL) */
    double max_logit;              /* largest |logit| seen, for the noise model */
    double *whole_p, *whole_log_p; /* the whole prompt's next-token distribution [V]; with ASC_OUTPUT_KL */
    double
        *site_ends; /* [2,P,W] the site's rows in the prompt and the baseline (site_path.h); NULL = not yet */
    bool site_priced;   /* a dry run has counted them */
    bool partial;       /* scores are a part of the change, though the method is complete elsewhere */
    bool no_sharing;    /* run every prompt from its first token (tests compare both) */
    size_t most_tokens; /* of a pass over perturbed prompts; 0: as many as pay */
    asc_kv
        *prefix; /* keys and values of tokens that all prompts of a batch begin with, [1,C,G,D] per layer */
    size_t n_prefix;                 /* C; 0 = none */
    struct asc_job_leaves *leaves;   /* set while a batch is recorded to be kept (job_capture.h) */
    struct asc_encoder_job *encoder; /* text encoders (target_encoder.h); NULL for language models */
    struct asc_estimate *estimate;   /* a dry run: passes are counted, not run (estimate.h) */
    int32_t *other;                  /* ids of the other prompt (corrupted.h), n_prompt; NULL = none */
    unsigned inner;                  /* sites of blocks that have rows in the result (sweep.h); 0 = none */
    const struct asc_job *known;     /* another job of the same model; where its prompt is the same, its next
                                        tokens     are these and are not found again */
    double saved_flops;              /* of what was kept of another job and counts as this one's */
    double unseen_flops;             /* counted for attention that a trie's tokens do not see */
    asc_request adapted;             /* the request, where a method explains another output: lrp the logit */
} asc_job;

/* The leaves of a batch whose values change from run to run, in the order in which they were made. */
typedef struct asc_job_leaves {
    asc_tensor **tensors;
    size_t n, cap;
} asc_job_leaves;
/* Lists t when a batch is recorded to be kept; returns it. */
asc_tensor *asc_job_leaf(asc_job *j, asc_tensor *t);

struct asc_task; /* task.h */

typedef struct asc_method {
    asc_method_info info;
    bool by_gradient; /* takes sites, embedding baselines */
    bool needs_baseline;
    bool by_token; /* prompts: run gives a score for each token, as those by gradient do */
    bool by_logit; /* prompts: explains logits where log p is asked for */
    bool complete; /* sum of scores = value - baseline value */
    asc_baseline auto_baseline;
    /* ---- nets (task.h) ---- */
    bool needs_site;     /* speaks of sites: `at` must be given */
    bool needs_neuron;   /* reads request.neuron */
    bool takes_rows;     /* baselines may be any number of rows */
    bool stochastic;     /* draws random numbers; errors are standard errors */
    bool takes_integers; /* perturbs only: integer inputs can be attributed to */
    size_t samples;      /* default of request.samples; 0 = does not sample */
    /* Attribution on a net: makes and fills t->r->scores. NULL = prompts only. */
    asc_status (*attribute)(struct asc_task *t);
    /* Rows it will run forwards only, and forwards and backwards, per example; NULL = known only by running.
     */
    void (*price_rows)(const struct asc_task *t, double *n_forward, double *n_gradient);
    /* Gradients an example of a run that ends as early as it may; NULL = those of price_rows. */
    double (*least_rows)(const struct asc_task *t);

    /* ---- prompts ---- */
    /* Sets r->scores and r->score_errors (per token) or, when it works on groups, the features' own; value,
     * baseline_value, counts, converged. NULL = nets only. */
    asc_status (*run)(asc_job *j);
    const char *not_on_prompts; /* where run is NULL: why, behind "it "; NULL = no more is said */
    /* Evaluations it will need, for pricing: prompts run forwards only, and forwards with a backward pass. */
    void (*price)(const asc_job *j, double *n_forward, double *n_gradient);
    bool per_token; /* fills result.matrix when asked to */
    /* Rules of prompts where none is named, as they are and with compat_captum; NULL: adaptive. */
    const char *rule, *captum_rule;
} asc_method;

/* price of methods that run the prompt once, forwards and backwards. */
void asc_job_price_one_gradient(const asc_job *j, double *n_forward, double *n_gradient);

#define METHOD(name) extern const asc_method asc_method_##name;
#include "methods.def"
#undef METHOD
extern const asc_method *const asc_methods[];
extern const size_t asc_n_methods;

/* request.c: checks the request, tokenises, chooses target and features. Frees nothing on failure:
 * asc_job_deinit does. */
ASC_MUST_USE asc_status asc_job_init(asc_job *j, asc_model *m, const asc_request *req);
/* The same beside a job whose next tokens are known (asc_job.known; NULL = none). */
ASC_MUST_USE asc_status asc_job_init_beside(asc_job *j, asc_model *m, const asc_request *req,
                                            const asc_job *known);
/* explain.c: asc_explain beside such a job. */
ASC_MUST_USE asc_status asc_explain_beside(asc_model *m, const asc_request *req, const asc_job *known,
                                           asc_result **out);
void asc_job_deinit(asc_job *j);
/* Bytes of a token; empty for an id below 0 or a model without tokenizer. */
asc_view asc_job_piece(const asc_job *j, int32_t id);
asc_status asc_job_warn(asc_job *j, const char *fmt, ...) ASC_PRINTF(2, 3);
/* options.c: refuses values that mean nothing; warns of options that the method does not read. */
ASC_MUST_USE asc_status asc_job_options(asc_job *j);
/* prompt.c */
ASC_MUST_USE asc_status asc_job_prompt(asc_job *j);
ASC_MUST_USE asc_status asc_job_targets(asc_job *j);
/* asc_method_reads of questions about nets, or about prompts: what a descriptor lists behind "nets:" is of
 * nets alone, what it says "(prompts" behind of prompts. */
bool asc_method_reads_of(const asc_method_info *m, const char *word, bool nets);
/* Whether the method runs prompts in which tokens stand elsewhere than in the whole one. */
bool asc_job_tokens_move(const asc_job *j);
/* question.c: refuses questions that make no sense, before anything is computed; then, when the target is
 * known, the span of it that is explained. */
ASC_MUST_USE asc_status asc_job_question(asc_job *j);
ASC_MUST_USE asc_status asc_job_span(asc_job *j);
ASC_MUST_USE asc_status asc_job_features(asc_job *j, const asc_chat_text *chat);
/* slots.c: bytes of all messages' contents to bytes of the rendered prompt; without messages the span stays.
 */
ASC_MUST_USE asc_status asc_job_place(asc_job *j, const asc_chat_text *chat, const char *what, size_t which,
                                      asc_span *span);
/* Parts of the request's slots, in the order of the prompt, with groups for their features. */
ASC_MUST_USE asc_status asc_job_slots(asc_job *j, const asc_chat_text *chat);
/* What slots with baselines of their own are filled with; behind asc_job_slots. */
ASC_MUST_USE asc_status asc_job_slot_fills(asc_job *j);
/* Does token i of the prompt have a visible byte in [start, end)? Of white space alone, its first byte
 * counts; a token without bytes reaches nothing. */
bool asc_token_reaches(const asc_result *r, size_t i, size_t start, size_t end);
/* What stands in a part that is absent from the coalition `present`, in this job's trial. */
asc_fill asc_part_fill(const asc_job *j, size_t part, const uint8_t *present);
/* Does some slot have several baselines? Then coalitions are random. */
bool asc_job_draws(const asc_job *j);

/* target.c: the scalar of each of B prompts given as embeddings x [B,P,D] -> [B]. `run` may carry a site
 * hook. */
asc_tensor *asc_job_scalar(asc_job *j, asc_tensor *x, asc_site_fn site, void *site_self);
/* Embeddings [b,n,D] of ids, which are listed as a leaf. */
asc_tensor *asc_job_embed(asc_job *j, const int32_t *ids, int64_t b, int64_t n);

/* prefix.c: computes the first n ids of prompts of len once and keeps their keys and values in the current
 * scope, for every batch until asc_job_prefix_end. Exact: later tokens do not change earlier ones in a causal
 * model. Where they would, since only one of two answers takes the sequence beyond a length at which keys
 * change (longrope), nothing is kept and n_prefix stays 0. */
ASC_MUST_USE asc_status asc_job_prefix_begin(asc_job *j, const int32_t *ids, size_t n, size_t len);
void asc_job_prefix_end(asc_job *j);

/* values.c: values of n prompts of the same length, ids [n,len], in batches under the memory bound; out [n].
 */
ASC_MUST_USE asc_status asc_job_values(asc_job *j, const int32_t *ids, size_t n, size_t len, double *out);
/* The same with each explained token's own: out [n,asc_job_width] (target.h). */
ASC_MUST_USE asc_status asc_job_values_each(asc_job *j, const int32_t *ids, size_t n, size_t len,
                                            double *out);
/* answer_matrix.c: the whole prompt's value and, with request.per_token, its tokens', into the result. */
ASC_MUST_USE asc_status asc_job_whole_value(asc_job *j);
/* Makes result.matrix and what belongs to it, zeroed, when request.per_token asks for it. */
ASC_MUST_USE asc_status asc_job_matrix_make(asc_job *j);
/* The matrix of a gradient method that gives `norm` ("l2", "abs", "signed": as asc_job_gradient's saliency)
 * or, with NULL, gradient times input; also the whole answer's scores per prompt token, r->scores, and the
 * values. One forward pass, and the backward passes of many tokens together. */
ASC_MUST_USE asc_status asc_job_matrix_gradient(asc_job *j, const char *norm);
/* The same of gradients times (input - baseline), summed with weights [n] over the points alphas [n] of the
 * path from the baseline; errors are unknown. */
ASC_MUST_USE asc_status asc_job_matrix_path(asc_job *j, const double *alphas, const double *weights,
                                            size_t n);
/* explain.c: r->target_prob, from the value when it says so, else by one more pass. */
ASC_MUST_USE asc_status asc_job_target_probability(asc_job *j);
/* Floating-point error of one value, by the error model in docs/errors.md. */
double asc_job_value_noise(const asc_job *j);
/* The same of explained token k's own value. */
double asc_job_token_noise(const asc_job *j, size_t k);
/* Error of one score of a gradient method whose largest score is `largest`. */
double asc_job_gradient_noise(const asc_job *j, double largest);

/* gradients.c: at points on the straight path from the baseline (alpha 0) to the input (alpha 1): values f
 * [n], and per token the directional parts g [n, n_prompt] = sum over the width of gradient * (input -
 * baseline). g NULL: forward passes only. */
ASC_MUST_USE asc_status asc_job_path(asc_job *j, const double *alphas, size_t n, double *f, double *g);
/* Embeddings of the path's start [P - C,D] behind a prefix of C tokens: the baseline at active tokens, the
 * prompt's own, x [P - C,D], elsewhere. */
asc_tensor *asc_job_path_start(asc_job *j, asc_tensor *x);
/* Gradient and activation at the job's site for the plain prompt: per-token reductions. norm: "l2", "abs",
 * "signed"; saliency and times_input may be NULL. With times_input, *largest becomes what rounding is
 * relative to, if above it: the largest of its numbers, or root of the sum of the squares that its parts
 * have. */
ASC_MUST_USE asc_status asc_job_gradient(asc_job *j, const char *norm, double *saliency, double *times_input,
                                         double *largest);

#endif
