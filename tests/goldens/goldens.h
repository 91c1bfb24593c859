/* goldens.h - the runner over folders of third-party numbers. One file of this folder runs one kind; main
 * recognises kinds by file name. A kind's runner compares and counts; it never changes a tolerance to make a
 * case pass. */
#ifndef ASC_GOLDENS_H
#define ASC_GOLDENS_H

#include "ctx.h"
#include "json.h"
#include "model.h"
#include "net.h"
#include "view.h"

typedef struct goldens {
    asc_ctx *ctx;
    asc_model *m;      /* the 135M model, opened at first use; NULL when there is no file */
    asc_model *minilm; /* the sentence encoder; likewise */
    const char *model_path;
    const char *device, *folder;
    char beside[4200]; /* the folder of the file being run */
    bool quick;        /* leave out what takes long */
    bool verbose;      /* print every failure, not the first alone */
    long passed, failed, skipped;
    /* of the file being run */
    long cases, bad;
    long warnings;   /* what the library warned of so far, in all files */
    double worst;    /* largest |difference| / tolerance */
    char first[512]; /* first failure */
} goldens;

/* Counts one comparison; `ratio` = |difference| / tolerance, fails above 1 or NaN. */
void goldens_check(goldens *g, double ratio, const char *fmt, ...) ASC_PRINTF(3, 4);
void goldens_fail(goldens *g, const char *fmt, ...) ASC_PRINTF(2, 3);
/* Opens the model if needed; false (and the file is counted as skipped) when it cannot be had. */
bool goldens_model(goldens *g);
/* The kind of cases in a file, as the name that such files have; NULL: none that is known here. */
const char *goldens_kind(goldens *g, const char *path, const char *name);
/* Whether a folder's list.jsonl is one of model files and what is expected of them. */
bool goldens_is_list(goldens *g, const char *folder);
/* JSON, and what Python's json writes beyond it: NaN is read as null, infinities as "inf" and "-inf". */
asc_status goldens_parse(asc_ctx *ctx, const char *text, size_t len, asc_json **out);
/* Calls fn for each line of a JSON Lines file. */
bool goldens_lines(goldens *g, const char *path, void (*fn)(goldens *g, const asc_json *line));
/* Integers of a list into out[0..most); returns how many. */
size_t goldens_ids(const asc_json *list, int32_t *out, size_t most);
/* A factor on recorded f32 noise floors: another order of rounding differs from a third program's f32 run by
 * a few times what that run differs from f64; the largest allowed by the reference's own notes. */
#define GOLDENS_FACTOR 8.0

/* The largest f32 noise of a figure that any of a model's cases recorded; 0 = none did. */
double goldens_noise(const asc_json *cases, const char *key);
/* Logits and the greedy continuation of case c of a language model. */
void goldens_logits(goldens *g, asc_model *m, const asc_json *cases, size_t c);
/* Ids of texts: a list of {"text": .., KEY: [..]}; o may be NULL. */
void goldens_texts(goldens *g, asc_model *m, const asc_json *list, const char *key,
                   const asc_tokenize_options *o);
void goldens_attr(goldens *g, const asc_json *line);
void goldens_tokenizer(goldens *g, const asc_json *line);
/* Lines about the tokenizer.json that is open; false: it cannot be, which counts as a failure. */
bool goldens_tokenizer_open(goldens *g, const char *path);
void goldens_tokenizer_json(goldens *g, const asc_json *line);
void goldens_tokenizer_close(void);
/* A vocabulary of llama.cpp with its texts and ids beside it. */
void goldens_vocab(goldens *g, const char *path);
void goldens_generate(goldens *g, const asc_json *line);
void goldens_chat(goldens *g, const asc_json *line);
void goldens_dequant(goldens *g, const asc_json *line);
void goldens_captum_config(goldens *g, const asc_json *line);
void goldens_expected(goldens *g, const char *path); /* captum_expected.tsv */
void goldens_llm(goldens *g, const char *path);      /* captum_llm_golden.json */
void goldens_zoo(goldens *g, const char *folder);
/* A Hugging Face folder; false: not of a kind that this runner knows. */
bool goldens_folder(goldens *g, const char *folder);
/* Cases of a text encoder, opened as m. */
void goldens_encoder(goldens *g, asc_model *m, const asc_json *cases);
/* Cases of an image classifier, opened as a net. */
void goldens_vision(goldens *g, asc_net *net, const asc_json *cases);
void goldens_bad_gguf(goldens *g, const char *folder);
/* False: the model file is not at hand. */
bool goldens_onnx(goldens *g, const char *folder);

/* Largest noise floors of an attribution file, read before its lines are run. */
void goldens_attr_floors(goldens *g, const asc_json *line);
void goldens_attr_reset(void);

/* Attributions of the sentence encoder; its floors; opens it, false when it is not at hand. */
void goldens_minilm(goldens *g, const asc_json *line);
void goldens_minilm_floors(goldens *g, const asc_json *line);
void goldens_minilm_reset(void);
bool goldens_minilm_open(goldens *g);

#endif
