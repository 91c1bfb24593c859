/* ascribe/attr.h - explaining an output: one request in, one result out.
 *
 * asc_explain ascribes a scalar of the model's output (the log-probability of a target, by default) to
 * features of the prompt (words, by default). Every number in the result carries its error, and a result that
 * did not converge says so.
 */
#ifndef ASCRIBE_ATTR_H
#define ASCRIBE_ATTR_H

#include "ascribe/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum asc_features {
    ASC_FEATURES_WORD,
    ASC_FEATURES_TOKEN,
    ASC_FEATURES_SENTENCE,
    ASC_FEATURES_MESSAGE,
    ASC_FEATURES_PARAGRAPH, /* up to an empty line */
    ASC_FEATURES_SLOT       /* the placeholders of a template, or the caller's spans */
} asc_features;

/* The scalar that is explained, for a target of tokens t_1..t_M:
 * Encoders: the same of one class. LOGPROB sum of log p(t_j | prompt, t_<j) in nats; PROB its exponential;
 * LOGIT sum of the targets' logits.
 */
typedef enum asc_output {
    ASC_OUTPUT_LOGPROB,
    ASC_OUTPUT_PROB,
    ASC_OUTPUT_LOGIT,
    ASC_OUTPUT_KL, /* minus the divergence KL(p(. | whole prompt) || p(. | perturbed)) of the next token */
    ASC_OUTPUT_SIMILARITY /* encoders: cosine of two texts' embeddings */
} asc_output;

/* What stands for "this part is not there". AUTO: REMOVE for feature ablation; for integrated gradients EOS
 * (ZERO has no meaning on bias-free RMS-norm models). ZERO and MEAN are embeddings, so only gradient methods
 * take them. */
typedef enum asc_baseline {
    ASC_BASELINE_AUTO,
    ASC_BASELINE_REMOVE,
    ASC_BASELINE_EOS,
    ASC_BASELINE_PAD,
    ASC_BASELINE_TOKEN,
    ASC_BASELINE_ZERO,
    ASC_BASELINE_MEAN,
    ASC_BASELINE_MASK /* the tokens stay where they are, but nothing can attend to them */
} asc_baseline;

/* A part of the prompt that the caller names: a slot of a template, a document, a passage. Bytes are those of
 * the prompt's text; of a conversation, those of all messages' contents one behind the other. Slots do not
 * overlap; one that cuts a token is widened to all of it (with a warning), unless another slot claims the
 * rest. */
typedef struct asc_prompt_slot {
    size_t start, end;
    int32_t feature;           /* slots with the same number come and go together; -1 = its own */
    const asc_view *baselines; /* what stands there instead, of any length, one drawn at random for each
                                  perturbed prompt; none: the request's baseline */
    size_t n_baselines;
    asc_view label; /* name in reports; {NULL,0} = its text */
} asc_prompt_slot;

typedef struct asc_message {
    asc_view role, content;
} asc_message;

/* Zero-initialise, set struct_size, then fill in. Text may hold any bytes. Strings are borrowed during the
 * call. */
typedef struct asc_request {
    size_t struct_size;
    const char *method; /* NULL = "feature-ablation"; names: asc_method_at */

    /* The prompt: exactly one of text, ids, messages. */
    asc_view prompt;
    const int32_t *prompt_ids;
    size_t n_prompt_ids;
    const asc_message *messages; /* rendered by the file's own chat template, with its generation prompt */
    size_t n_messages;

    /* The target: text, ids, or the `generate` next tokens chosen greedily. None of them: generate = 1. */
    asc_view target;
    const int32_t *target_ids;
    size_t n_target_ids;
    size_t generate;
    /* Explain the difference target - versus instead. */
    asc_view versus;
    const int32_t *versus_ids;
    size_t n_versus_ids;

    asc_features features;
    asc_output output;
    asc_baseline baseline;
    int32_t baseline_token; /* with ASC_BASELINE_TOKEN */

    const char *rule; /* integrated gradients: NULL = "adaptive"; "gauss-legendre", "riemann-left", ... */
    size_t steps;     /* of the fixed rules; 0 = 50 */
    double tolerance; /* adaptive: relative to the largest score; 0 = 0.01 */
    size_t max_evaluations; /* adaptive: gradient evaluations; 0 = 2000 */
    double max_seconds;     /* adaptive; 0 = no limit */
    const char *norm;       /* saliency: NULL = "l2"; "signed", "abs" */
    const char *site;       /* gradient methods: attribute to this site instead of the embeddings; NULL =
                               embeddings. One       head's columns: "blocks.3.attn.heads:head=2" */
    bool compat_captum;     /* give Captum's numbers where they differ (docs/methods.md) */
    size_t memory_bytes;    /* bound for activations; 0 = 400 MiB. Chooses how many points share a batch */
    uint64_t seed;
    bool want_sha256; /* hash the model file into the result (reads all of it) */
    bool dry_run;     /* price only: scores stay 0 */

    /* ---- encoders: the prompt is the text ---- */
    asc_view second;     /* second text of a pair (BERT's segment B) */
    asc_view label;      /* class by name or number; {NULL,0}: the most likely one. `versus`: another class */
    asc_view similar_to; /* explains the similarity with this text instead */
    const int32_t *prompt_types; /* with prompt_ids: their token types; NULL = all 0 */

    /* ---- questions ---- */
    size_t span_start, span_end; /* tokens of the target that are explained; end 0 = all of it */
    asc_view span;               /* or: the tokens that hold the first place in the target that reads so */
    bool per_token;              /* also one row of scores per explained target token (result.matrix) */
    asc_view corrupted; /* attribution patching, activation patching: the other prompt, of as many tokens */
    const char *neuron; /* explains an inner value instead of an answer: "SITE:INDEX@TOKEN", column INDEX of a
                           site at a token of the prompt, counted from 0, or from the end (-1: the last one,
                           also without @TOKEN); NULL = an answer */

    /* ---- features ---- */
    const asc_prompt_slot *slots; /* with ASC_FEATURES_SLOT */
    size_t n_slots;
    const int32_t *skip_tokens; /* ids that are no features and are never perturbed */
    size_t n_skip_tokens;
    const asc_span *frozen; /* bytes, as slots have them, that are no features */
    size_t n_frozen;

    /* ---- sampling methods on prompts ---- */
    size_t samples; /* permutations, coalitions; 0 = the method's own, or until `tolerance` holds */
    double alpha;   /* of Lime's penalty; 0 = 0.01 */
    size_t trials;  /* random baselines: the mean over so many; 0 = 1 */
    double refine;  /* hierarchical: split what scores more than this share of the largest; 0 = 0.1 */
    double stdev;   /* gradient SHAP, noise tunnel: deviation of what is added to embeddings, as a share of
                       their own; 0 = none (noise tunnel: 0.1) */

    /* ---- inner structure ---- */
    const int32_t *corrupted_ids; /* the other prompt as ids */
    size_t n_corrupted_ids;
    const char *layers; /* rows of scores for sites of every layer: "out", "attn.out", "mlp.out", "heads",
                           several with commas, or "all"; NULL = none (methods about layers: "out") */

    /* ---- conversations: JSON texts of objects ---- */
    const asc_view
        *message_extras;    /* [n_messages]: what a message has beside role and content, for the
                               template (tool_calls, name, ...); {NULL,0} = nothing; NULL = none has */
    asc_view template_vars; /* variables of the chat template, as {"enable_thinking": false, "tools":
                               [...]}; {NULL,0} = none */
} asc_request;

typedef struct asc_feature {
    char *text; /* bytes of the prompt, NUL-terminated; may not be valid UTF-8 */
    size_t text_len;
    size_t start, end;            /* bytes of the prompt's text; of its first part, when there are several */
    size_t first_token, n_tokens; /* the range of prompt tokens; the same */
    int64_t message;              /* index of the chat message, -1 = none */
    double score, error;          /* error: bound on |score - true score| */
    asc_features kind;            /* hierarchical: what this part is; else as the request's */
} asc_feature;

/* A site of a layer in a result: what its values contribute, feature by feature. */
typedef struct asc_inner_row {
    char name[64];       /* "blocks.3.attn.out", "blocks.3.heads.5" */
    int64_t layer, head; /* head -1: not one */
    double total;        /* over all tokens, those of no feature and the answer's included: their sum, or
                            (activation patching) what all of them do together */
    double error;        /* bound on each number of the row */
} asc_inner_row;

typedef struct asc_candidate {
    int32_t id;
    double prob;
} asc_candidate;

/* Where features lie in the prompt, in its order. */
typedef struct asc_feature_part {
    size_t start, end, first_token, n_tokens;
    size_t feature;
} asc_feature_part;

enum { ASC_N_TOP = 5, ASC_MAX_WARNINGS = 16 };

/* Owned by the caller; asc_result_destroy frees all of it. Arrays are never NULL unless their count is 0. */
typedef struct asc_result {
    /* what was asked, resolved */
    const char *method;
    char *rule;    /* "" unless integrated gradients */
    size_t steps;  /* nodes of a fixed rule, 0 otherwise */
    char *options; /* JSON object of every option as used */
    asc_output output;
    asc_features feature_kind;
    char *baseline; /* "remove", "eos (token 2)", "zero", ... */
    char *prompt;   /* text as tokenised (chat: rendered) */
    size_t prompt_len;
    int32_t *prompt_ids;
    size_t *token_start, *token_end; /* bytes of prompt, per token */
    size_t n_prompt;
    char *target, *versus; /* text; versus "" if none */
    size_t target_len, versus_len;
    int32_t *target_ids, *versus_ids;
    size_t n_target, n_versus;
    asc_candidate top[ASC_N_TOP]; /* the model's own next tokens after the prompt */
    size_t n_top;
    /* numbers */
    double value, baseline_value;
    double target_prob; /* probability of the whole target */
    double *scores,
        *score_errors; /* per prompt token; for grouped ablation a group's score stands at its first token */
    asc_feature *features;
    size_t n_features;
    double sum, residual; /* residual = sum - (value - baseline_value) */
    bool complete;        /* the method promises sum = value - baseline_value */
    double error_bound;   /* largest over the features */
    bool converged;
    bool refinable;                 /* not converged, but more evaluations would help */
    size_t panels;                  /* adaptive rule */
    double noise_floor;             /* adaptive rule: f32 noise of one score; 0 if not estimated */
    uint64_t n_forward, n_backward; /* evaluations of single prompts */
    double seconds;
    size_t peak_bytes, predicted_peak_bytes;
    double flops;
    double predicted_seconds; /* dry run: at most, where a run ends by itself once it is exact enough; */
    double predicted_least_seconds; /* then if it ends at its first look; else the same */
    /* where */
    char *model_path, *architecture, model_sha256[65];
    char device[32], mode[32], precision[16], isa[16];
    int n_threads;
    uint64_t seed;
    char *warnings[ASC_MAX_WARNINGS];
    size_t n_warnings;
    char *precision_at;    /* a line "SITE=LEVEL" for each other level; "" = none */
    asc_adapter *adapters; /* [n_adapters]: of the model; their paths lie behind the last */
    size_t n_adapters;
    /* how passes were (a dry run: would be) run: prompts together; inputs of blocks kept, one of so many (0 =
     * the whole model is one program) */
    size_t prompts_per_pass, keep_every;
    /* dry run */
    double predicted_bytes_moved;          /* read and written by the ops */
    size_t predicted_tags[ASC_MEM_N_TAGS]; /* of predicted_peak_bytes */
    asc_feature_part *parts;               /* [n_parts]: one or more a feature */
    size_t n_parts;
    /* per_token: scores of each explained target token */
    double *matrix, *matrix_errors; /* [n_matrix, n_features]; NULL unless asked for */
    double *token_values;           /* [n_matrix]: log p (or p, logit) of each; NULL unless asked for */
    size_t n_matrix;
    size_t span_start, span_end; /* explained target tokens; row k of the matrix is span_start + k */
    size_t samples;              /* drawn by a sampling method; 0 otherwise */
    bool stochastic;             /* errors are standard errors of sampling */
    uint64_t n_forward_flat; /* hierarchical: prompts that scoring the finest parts at once would take, at as
                                many a part; 0 otherwise */
    uint64_t tokens_run, tokens_plain; /* perturbed prompts: tokens computed; what running each from its start
                                          would have computed */
    asc_inner_row *inner; /* request.layers, methods about layers: from the first layer to the last */
    double *inner_scores; /* [n_inner, n_features] */
    size_t n_inner;
    /* encoders */
    const char *answer_kind; /* what is explained: "class", "word" (masked), "span" (an answer in the text);
                                NULL: a similarity, a neuron, a language model's answer */
    char *label, *versus_label;  /* "" unless a class is explained */
    char *second, *similar_to;   /* "" if none */
    char *top_labels[ASC_N_TOP]; /* classes of `top`, whose ids are their numbers; words; answers, whose ids
                                    are their first tokens' places; NULL for language models */
    char *neuron_site;           /* request.neuron: what is explained; NULL = an answer or a class */
    int64_t neuron_index, neuron_token; /* its column; token of the prompt, counted from 0 */
    char *site;    /* request.site: the inner values that scores belong to; NULL = the embeddings */
    char *through; /* neuron-conductance: what flows through this counts, "SITE:INDEX@TOKEN"; else NULL */
} asc_result;

/* Explains. On failure *out is NULL and the context holds the message. CANCELLED after asc_cancel. */
ASC_API ASC_MUST_USE asc_status asc_explain(asc_model *m, const asc_request *req, asc_result **out);
ASC_API void asc_result_destroy(asc_ctx *ctx, asc_result *r); /* NULL is accepted */

/* The methods. */
typedef struct asc_method_info {
    const char *name;   /* "integrated-gradients" */
    const char *captum; /* Captum's class, "" if none */
    const char *doc;    /* one line */
    const char *formula;
    const char *paper;
    const char *axioms;      /* what the scores promise */
    const char *cost;        /* in forward and backward passes */
    const char *options;     /* request options it reads, comma-separated */
    const char *differences; /* from Captum */
} asc_method_info;
ASC_API const asc_method_info *asc_method_at(size_t i); /* NULL when i is past the last */

/* Number of a method for asc_method_at, -1 = unknown. Case, hyphens and underscores do not count, so that
 * Captum's spellings fit: "GradCam", "deep_lift", "IntegratedGradients". */
ASC_API int asc_method_find(const char *name);
/* Whether `word` is an option of its list: "site", "baselines" (nets) and "baseline" (prompts), ... */
ASC_API bool asc_method_reads(const asc_method_info *m, const char *word);

typedef struct asc_method_traits {
    bool prompts, nets;  /* works on language models' prompts; on nets */
    bool by_gradient;    /* needs a backward pass */
    bool takes_integers; /* on nets: integer inputs can be attributed to */
    bool needs_site;     /* speaks of inner values: needs a site */
    bool needs_neuron;   /* speaks of one inner value on the way: needs a neuron */
    bool stochastic;     /* on nets: draws random numbers */
    bool complete;       /* the scores add up to the change of the value */
} asc_method_traits;
ASC_API asc_method_traits asc_method_traits_at(size_t i); /* all false when i is past the last */

/* Captum's classes, and what asks for the same here. */
typedef struct asc_captum_name {
    const char *captum, *method; /* "LayerGradCam", "grad-cam" */
    const char *at;              /* what the request's `at` names; "" = nothing: the inputs */
    const char *neuron;          /* what is explained instead of an output; "" = an output */
} asc_captum_name;
ASC_API const asc_captum_name *asc_captum_name_at(size_t i); /* NULL when i is past the last */

/* Names as the command line and JSON have them; -1 / NULL when unknown. */
ASC_API int asc_features_from_name(const char *name);
ASC_API const char *asc_features_name(asc_features f);
ASC_API int asc_output_from_name(const char *name);
ASC_API const char *asc_output_name(asc_output o);
ASC_API int asc_baseline_from_name(const char *name); /* not "token:ID" */
ASC_API const char *asc_baseline_name(asc_baseline b);

#ifdef __cplusplus
}
#endif
#endif
