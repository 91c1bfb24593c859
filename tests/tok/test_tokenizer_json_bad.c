/* test_tokenizer_json_bad.c - tokenizer.json files with one thing wrong, and the complaint about each. */
#include "harness.h"
#include "tokenizer_json.h"
#include "view.h"

#define VOCAB "\"vocab\":{\"u\":0,\"a\":1,\"b\":2,\"ab\":3}"
#define BPE "\"model\":{\"type\":\"BPE\"," VOCAB ",\"merges\":[\"a b\"]}"
#define MODEL(text) "{\"model\":{" text "}}"
#define WITH(text) "{" BPE "," text "}"
#define PRE(text) WITH("\"pre_tokenizer\":" text)
#define NORM(text) WITH("\"normalizer\":" text)
#define POST(text) WITH("\"post_processor\":" text)
#define DEC(text) WITH("\"decoder\":" text)
#define TOKENS(text) WITH("\"added_tokens\":" text)

#define TWICE                                                                                                \
    "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"a\",\"type_id\":0}},{"         \
    "\"Sequence\":"                                                                                          \
    "{\"id\":\"A\",\"type_id\":0}}],\"pair\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"Sequence\":{"   \
    "\"id\":"                                                                                                \
    "\"B\",\"type_id\":0}}],\"special_tokens\":{\"a\":{\"id\":\"a\",\"ids\":[1],\"tokens\":[\"a\"]}}}"
static const struct {
    const char *json;
    asc_status status;
    const char *words; /* in the message */
} files[] = {
    {"", ASC_INVALID_ARGUMENT, "JSON"},
    {"[]", ASC_INVALID_ARGUMENT, "the file is a list"},
    {"{}", ASC_INVALID_ARGUMENT, "model is null"},
    {"{\"a\":1,\"a\":2}", ASC_INVALID_ARGUMENT, "duplicate"},
    {"\xFF", ASC_INVALID_ARGUMENT, "UTF-8"},
    /* model */
    {MODEL("\"type\":\"Neural\"," VOCAB), ASC_UNIMPLEMENTED, "'Neural'"},
    {MODEL("\"type\":5," VOCAB), ASC_INVALID_ARGUMENT, "\"type\""},
    {MODEL("\"type\":\"WordLevel\""), ASC_INVALID_ARGUMENT, "\"vocab\" is null"},
    {MODEL("\"type\":\"WordLevel\",\"vocab\":{}"), ASC_INVALID_ARGUMENT, "empty"},
    {MODEL("\"type\":\"WordLevel\",\"vocab\":[]"), ASC_INVALID_ARGUMENT, "not an object"},
    {MODEL("\"type\":\"WordLevel\",\"vocab\":{\"a\":-1}"), ASC_INVALID_ARGUMENT, "'a'"},
    {MODEL("\"type\":\"WordLevel\",\"vocab\":{\"a\":0.5}"), ASC_INVALID_ARGUMENT, "'a'"},
    {MODEL("\"type\":\"WordLevel\",\"vocab\":{\"a\":\"0\"}"), ASC_INVALID_ARGUMENT, "'a'"},
    {MODEL("\"type\":\"WordLevel\",\"vocab\":{\"a\":4000000000}"), ASC_INVALID_ARGUMENT, "'a'"},
    {MODEL("\"type\":\"WordLevel\",\"vocab\":{\"a\":70000}"), ASC_INVALID_ARGUMENT, "'a'"},
    {MODEL("\"type\":\"WordLevel\",\"vocab\":{\"a\":0,\"b\":0}"), ASC_INVALID_ARGUMENT, "another token"},
    {MODEL("\"type\":\"WordPiece\",\"vocab\":{\"a\":0},\"max_input_chars_per_word\":-1"),
     ASC_INVALID_ARGUMENT, "max_input_chars_per_word"},
    {MODEL("\"type\":\"WordPiece\",\"vocab\":{\"a\":0},\"unk_token\":3"), ASC_INVALID_ARGUMENT, "unk_token"},
    {MODEL("\"type\":\"BPE\"," VOCAB), ASC_INVALID_ARGUMENT, "\"merges\" is missing"},
    {MODEL("\"type\":\"BPE\"," VOCAB ",\"merges\":{}"), ASC_INVALID_ARGUMENT, "\"merges\" is an object"},
    {MODEL("\"type\":\"BPE\"," VOCAB ",\"merges\":[\"ab\"]"), ASC_INVALID_ARGUMENT, "\"merges\"[0]"},
    {MODEL("\"type\":\"BPE\"," VOCAB ",\"merges\":[\"a b u\"]"), ASC_INVALID_ARGUMENT, "\"merges\"[0]"},
    {MODEL("\"type\":\"BPE\"," VOCAB ",\"merges\":[[\"a\"]]"), ASC_INVALID_ARGUMENT, "\"merges\"[0]"},
    {MODEL("\"type\":\"BPE\"," VOCAB ",\"merges\":[[\"a\",1]]"), ASC_INVALID_ARGUMENT, "\"merges\"[0]"},
    {MODEL("\"type\":\"BPE\"," VOCAB ",\"merges\":[\"a b\",\"a c\"]"), ASC_INVALID_ARGUMENT,
     "\"merges\"[1] joins what is no token: 'c'"},
    {MODEL("\"type\":\"BPE\"," VOCAB ",\"merges\":[\"b a\"]"), ASC_INVALID_ARGUMENT,
     "makes what is no token: 'ba'"},
    {MODEL("\"type\":\"BPE\"," VOCAB ",\"merges\":[\"a b\"],\"continuing_subword_prefix\":\"##\""),
     ASC_INVALID_ARGUMENT, "without the prefix"},
    {MODEL("\"type\":\"BPE\"," VOCAB ",\"merges\":[],\"fuse_unk\":\"yes\""), ASC_INVALID_ARGUMENT,
     "fuse_unk"},
    {MODEL("\"type\":\"Unigram\",\"vocab\":{}"), ASC_INVALID_ARGUMENT, "\"vocab\" is an object"},
    {MODEL("\"type\":\"Unigram\",\"vocab\":[[\"a\"]]"), ASC_INVALID_ARGUMENT, "\"vocab\"[0]"},
    {MODEL("\"type\":\"Unigram\",\"vocab\":[[\"a\",\"b\"]]"), ASC_INVALID_ARGUMENT, "\"vocab\"[0]"},
    {MODEL("\"type\":\"Unigram\",\"vocab\":[[1,2]]"), ASC_INVALID_ARGUMENT, "\"vocab\"[0]"},
    {MODEL("\"type\":\"Unigram\",\"vocab\":[[\"a\",0.0]],\"unk_id\":1"), ASC_INVALID_ARGUMENT, "unk_id"},
    {MODEL("\"type\":\"Unigram\",\"vocab\":[]"), ASC_INVALID_ARGUMENT, "empty"},
    /* normalizer */
    {NORM("{\"type\":\"Reverse\"}"), ASC_UNIMPLEMENTED, "normalizer: type 'Reverse'"},
    {NORM("[]"), ASC_INVALID_ARGUMENT, "normalizer is a list"},
    {NORM("{}"), ASC_INVALID_ARGUMENT, "\"type\" is missing"},
    {NORM("{\"type\":\"Sequence\"}"), ASC_INVALID_ARGUMENT, "\"normalizers\" is missing"},
    {NORM("{\"type\":\"Sequence\",\"normalizers\":[3]}"), ASC_INVALID_ARGUMENT, "is a number"},
    {NORM("{\"type\":\"Replace\",\"content\":\"\"}"), ASC_INVALID_ARGUMENT, "\"pattern\""},
    {NORM("{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"}}"), ASC_INVALID_ARGUMENT, "\"content\""},
    {NORM("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(\"},\"content\":\"\"}"), ASC_INVALID_ARGUMENT,
     "regular expression '('"},
    {NORM("{\"type\":\"Strip\",\"strip_left\":1}"), ASC_INVALID_ARGUMENT, "strip_left"},
    {NORM("{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"!\"}"), ASC_INVALID_ARGUMENT,
     "precompiled_charsmap"},
    {NORM("{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"\"}"), ASC_INVALID_ARGUMENT,
     "precompiled_charsmap"},
    {NORM("{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"/////w==\"}"), ASC_INVALID_ARGUMENT,
     "precompiled_charsmap"},
    /* pre_tokenizer */
    {PRE("{\"type\":\"Telepathy\"}"), ASC_UNIMPLEMENTED, "pre_tokenizer: type 'Telepathy'"},
    {PRE("{\"type\":\"Split\",\"pattern\":\"a\"}"), ASC_INVALID_ARGUMENT, "\"pattern\""},
    {PRE("{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[z-a]\"}}"), ASC_INVALID_ARGUMENT,
     "regular expression"},
    {PRE("{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},\"behavior\":\"Eaten\"}"), ASC_INVALID_ARGUMENT,
     "'Eaten'"},
    {PRE("{\"type\":\"Metaspace\",\"replacement\":\"ab\"}"), ASC_INVALID_ARGUMENT, "replacement"},
    {PRE("{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"last\"}"), ASC_INVALID_ARGUMENT,
     "'last'"},
    {PRE("{\"type\":\"CharDelimiterSplit\"}"), ASC_INVALID_ARGUMENT, "delimiter"},
    {PRE("{\"type\":\"FixedLength\",\"length\":0}"), ASC_INVALID_ARGUMENT, "length"},
    /* post_processor */
    {POST("{\"type\":\"Sorting\"}"), ASC_UNIMPLEMENTED, "post_processor: type 'Sorting'"},
    {POST("{\"type\":\"BertProcessing\",\"cls\":[\"a\",1]}"), ASC_INVALID_ARGUMENT, "\"sep\""},
    {POST("{\"type\":\"BertProcessing\",\"cls\":[\"a\",1],\"sep\":[\"b\",9]}"), ASC_INVALID_ARGUMENT,
     "token 9"},
    {POST("{\"type\":\"BertProcessing\",\"cls\":[\"a\",1],\"sep\":[\"b\",-9]}"), ASC_INVALID_ARGUMENT, "-9"},
    {POST("{\"type\":\"TemplateProcessing\",\"single\":[]}"), ASC_INVALID_ARGUMENT, "\"pair\""},
    {POST("{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"B\",\"type_id\":0}}],"
          "\"pair\":[]}"),
     ASC_INVALID_ARGUMENT, "\"single\"[0]"},
    {POST("{\"type\":\"TemplateProcessing\",\"single\":[{\"Odd\":{}}],\"pair\":[]}"), ASC_INVALID_ARGUMENT,
     "\"single\"[0]"},
    {POST("{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"x\",\"type_id\":0}}],"
          "\"pair\":[],\"special_tokens\":{}}"),
     ASC_INVALID_ARGUMENT, "'x'"},
    {POST("{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"x\",\"type_id\":0}}],"
          "\"pair\":[],\"special_tokens\":{\"x\":{\"ids\":[1],\"tokens\":[]}}}"),
     ASC_INVALID_ARGUMENT, "differ in length"},
    {POST("{\"type\":\"TemplateProcessing\",\"single\":[],\"pair\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":"
          "0}}]}"),
     ASC_INVALID_ARGUMENT, "both texts"},
    {POST("{\"type\":\"Sequence\",\"processors\":[" TWICE "," TWICE "]}"), ASC_UNIMPLEMENTED,
     "a TemplateProcessing behind another one"},
    /* decoder */
    {DEC("{\"type\":\"Babel\"}"), ASC_UNIMPLEMENTED, "decoder: type 'Babel'"},
    {DEC("{\"type\":\"Strip\",\"content\":\"\"}"), ASC_INVALID_ARGUMENT, "content"},
    {DEC("{\"type\":\"Strip\",\"content\":\"a\",\"start\":-1}"), ASC_INVALID_ARGUMENT, "start"},
    {DEC("{\"type\":\"Replace\"}"), ASC_INVALID_ARGUMENT, "\"pattern\""},
    /* added_tokens */
    {TOKENS("{}"), ASC_INVALID_ARGUMENT, "added_tokens is an object"},
    {TOKENS("[3]"), ASC_INVALID_ARGUMENT, "an entry is a number"},
    {TOKENS("[{\"id\":4}]"), ASC_INVALID_ARGUMENT, "\"content\" is missing"},
    {TOKENS("[{\"content\":\"x\"}]"), ASC_INVALID_ARGUMENT, "\"id\" is missing"},
    {TOKENS("[{\"id\":-4,\"content\":\"x\"}]"), ASC_INVALID_ARGUMENT, "\"id\""},
    {TOKENS("[{\"id\":4,\"content\":\"x\",\"special\":1}]"), ASC_INVALID_ARGUMENT, "special"},
};

static void every_fault_is_named(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        asc_tokenizer *tk = NULL;
        asc_status st = asc_tokenizer_from_json(ctx, asc_view_of(files[i].json), "bad.json", &tk);
        const char *m = asc_error_message(ctx);
        if (st != files[i].status || strstr(m, files[i].words) == NULL || strstr(m, "bad.json") == NULL ||
            tk != NULL)
            fail_msg("%s: status %d, '%s', not '%s'", files[i].json, (int)st, m, files[i].words);
    }
    test_ctx_end(ctx);
}

/* Sections inside each other, deeper than anybody writes them. */
static void too_deep(void **state) {
    (void)state;
    static const struct {
        const char *key, *list;
    } sections[] = {{"normalizer", "normalizers"},
                    {"pre_tokenizer", "pretokenizers"},
                    {"post_processor", "processors"},
                    {"decoder", "decoders"}};
    asc_ctx *ctx = test_ctx("cpu", NULL);
    for (size_t k = 0; k < sizeof sections / sizeof *sections; k++) {
        static char json[1 << 15];
        size_t n = (size_t)snprintf(json, sizeof json, "{" BPE ",\"%s\":", sections[k].key);
        for (int i = 0; i < 100; i++)
            n += (size_t)snprintf(json + n, sizeof json - n, "{\"type\":\"Sequence\",\"%s\":[",
                                  sections[k].list);
        for (int i = 0; i < 100; i++) n += (size_t)snprintf(json + n, sizeof json - n, "]}");
        snprintf(json + n, sizeof json - n, "}");
        asc_tokenizer *tk = NULL;
        assert_int_equal(asc_tokenizer_from_json(ctx, asc_view_of(json), "deep", &tk),
                         ASC_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(asc_error_message(ctx), "in each other"));
    }
    test_ctx_end(ctx);
}

/* Replacements that make a text longer and longer end with an error. */
static void without_end(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    static char json[1 << 14];
    size_t n = (size_t)snprintf(json, sizeof json,
                                "{" BPE ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[");
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(json + n, sizeof json - n,
                              "%s{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aa\"}",
                              i > 0 ? "," : "");
    n += (size_t)snprintf(json + n, sizeof json - n, "]},\"decoder\":{\"type\":\"Sequence\",\"decoders\":[");
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(json + n, sizeof json - n,
                              "%s{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aa\"}",
                              i > 0 ? "," : "");
    snprintf(json + n, sizeof json - n, "]}}");
    asc_tokenizer *tk = NULL;
    asc_token *t = NULL;
    size_t n_tokens = 0, len = 0;
    char *text = NULL;
    const int32_t id = 1;
    assert_int_equal(asc_tokenizer_from_json(ctx, asc_view_of(json), "long", &tk), ASC_OK);
    assert_int_equal(asc_tokenize(ctx, tk, asc_view_of("a"), NULL, &t, &n_tokens), ASC_RESOURCE_EXHAUSTED);
    assert_int_equal(asc_detokenize(ctx, tk, &id, 1, true, &text, &len), ASC_RESOURCE_EXHAUSTED);
    asc_tokenizer_destroy(tk);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_fault_is_named), cmocka_unit_test(too_deep),
                                       cmocka_unit_test(without_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
