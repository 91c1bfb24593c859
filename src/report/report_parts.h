/* report_parts.h - what the reports of a result share. */
#ifndef ASC_REPORT_PARTS_H
#define ASC_REPORT_PARTS_H

#include "ascribe/report.h"
#include "text_parts.h"

enum { ASC_RESULT_SCHEMA = 1 };

/* "precision_at": a string for each line; NULL = none. */
void asc_put_levels(asc_text *t, const char *lines);
void asc_put_ids(asc_text *t, const char *key, const int32_t *ids, size_t n);
const char *asc_weights_name(asc_weights_mode w);
/* "request": everything that was asked. */
void asc_put_request(asc_text *t, const asc_request *q, asc_weights_mode weights);
/* A result under a key of a larger document; NULL = by itself. */
void asc_report_json_under(asc_text *t, const char *key, const asc_report *rep);

/* report_matrix.c: scores of each answer token; nothing when there are none. */
void asc_put_matrix_json(asc_text *t, const asc_report *rep);
void asc_put_matrix_text(asc_text *t, const asc_report *rep, size_t columns);
void asc_put_matrix_html(asc_text *t, const asc_report *rep);
/* What of the answer is explained, as the request has it: "span", "per_token". */
void asc_put_question(asc_text *t, const asc_request *q);

/* encoder_words.c: text encoders. Whether the result is of one; "text" or "prompt"; the name of top[i]; what
 * is explained; keys of the result and of its request (nothing for language models). */
bool asc_of_encoder(const asc_result *r);
/* "class", "word", "answer" (of encoders), or what a language model's target is called: "answer". */
const char *asc_answer_word(const asc_result *r);
const char *asc_input_word(const asc_result *r);
asc_view asc_top_shown(const asc_report *rep, size_t i);
void asc_encoder_subject(const asc_result *r, const char *output_word, char out[160]);
void asc_put_encoder_json(asc_text *t, const asc_result *r);
void asc_put_encoder_request(asc_text *t, const asc_request *q);

/* A number for people: three significant digits, with its sign if asked for. */
void asc_figure(double v, bool sign, char out[32]);
/* Largest |score| of the features. */
double asc_largest_score(const asc_result *r);
/* Place of a score on a scale of `steps` each way: -steps .. steps; 0 also when nothing is known. */
int asc_scale_step(double score, double largest, int steps);
/* A feature's text without the blanks before it, which belong to its first token but not to the word; tokens
 * keep them. A token without text in the prompt (an added begin token) shows its name. */
asc_view asc_feature_shown(const asc_report *rep, const asc_feature *f);
/* Where features lie in the prompt, in its order; a result without parts has one a feature. */
size_t asc_n_shown_parts(const asc_result *r);
asc_feature_part asc_shown_part(const asc_result *r, size_t i);
/* A part's text without the blanks before it (except of token features). */
asc_view asc_part_shown(const asc_result *r, const asc_feature_part *p);
/* False for methods that start from no baseline; then baseline_value means nothing. */
bool asc_has_baseline(const asc_result *r);
/* What would make an unfinished result converge, as sentences. */
void asc_report_remedy(asc_text *out, const asc_result *r);
/* How good the numbers are: estimated errors, completeness. */
void asc_report_error(asc_text *out, const asc_result *r);
/* "word", "token", ...; the plural with an s. */
const char *asc_feature_word(const asc_result *r);
/* Whether features are of different kinds: each one's own is said. */
bool asc_mixed_features(const asc_result *r);
/* What the value is called: "log-probability", "probability", "logit". */
const char *asc_output_word(const asc_result *r);

#endif
