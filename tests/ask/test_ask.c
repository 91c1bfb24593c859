/* test_ask.c - questions as JSON about language models: the same bits as asc_explain, errors that name the
 * key, memory that fails, files that change. */
#include "ascribe/ask.h"
#include "../harness.h"
#include "model.h"
#include "view.h"
#include <unistd.h>

#define MODEL "goldens/zoo_gguf/qwen3-q5_0/model.gguf"

static asc_status parse(asc_subject *s, const char *json, asc_question **out) {
    return asc_question_parse(s, asc_view_of(json), NULL, 0, out);
}

static void same_bits_as_explain(void **state) {
    (void)state;
    static const int32_t ids[] = {54, 70, 21, 59, 28, 34}, target[] = {193, 31}, versus[] = {7},
                         skip[] = {21};
    const struct {
        const char *json;
        asc_request req;
    } cases[] = {
        {"{\"ids\": [54, 70, 21, 59, 28, 34], \"target_ids\": [193, 31]}",
         {.target_ids = target, .n_target_ids = 2}},
        {"{\"ids\": [54, 70, 21, 59, 28, 34], \"target_ids\": [193, 31], \"versus_ids\": [7], \"method\": "
         "\"IntegratedGradients\", \"rule\": \"gauss-legendre\", \"steps\": 5, \"features\": \"token\"}",
         {.target_ids = target,
          .n_target_ids = 2,
          .versus_ids = versus,
          .n_versus_ids = 1,
          .method = "integrated-gradients",
          .rule = "gauss-legendre",
          .steps = 5,
          .features = ASC_FEATURES_TOKEN}},
        {"{\"ids\": [54, 70, 21, 59, 28, 34], \"generate\": 2, \"method\": \"kernel-shap\", \"samples\": 40, "
         "\"seed\": 9,"
         " \"baseline\": \"token:17\", \"output\": \"prob\", \"memory\": \"200M\", \"per_token\": true}",
         {.generate = 2,
          .method = "kernel-shap",
          .samples = 40,
          .seed = 9,
          .baseline = ASC_BASELINE_TOKEN,
          .baseline_token = 17,
          .output = ASC_OUTPUT_PROB,
          .memory_bytes = 200 << 20,
          .per_token = true}},
        {"{\"ids\": [54, 70, 21, 59, 28, 34], \"target_ids\": [193, 31], \"span\": \"0:1\", \"method\": "
         "\"saliency\", "
         "\"norm\": \"abs\", \"layers\": \"out\", \"skip_tokens\": [21], \"features\": \"token\"}",
         {.target_ids = target,
          .n_target_ids = 2,
          .span_end = 1,
          .method = "saliency",
          .norm = "abs",
          .layers = "out",
          .skip_tokens = skip,
          .n_skip_tokens = 1,
          .features = ASC_FEATURES_TOKEN}},
    };
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_subject *s = NULL;
    assert_ok(ctx, asc_subject_open(ctx, test_data(MODEL), NULL, &s));
    assert_int_equal(asc_subject_get_kind(s), ASC_SUBJECT_DECODER);
    assert_null(asc_subject_net(s));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_question *q = NULL;
        asc_answer *a = NULL;
        asc_result *r = NULL;
        asc_request req = cases[i].req;
        req.struct_size = sizeof req;
        req.prompt_ids = ids;
        req.n_prompt_ids = 6;
        assert_ok(ctx, parse(s, cases[i].json, &q));
        assert_null(asc_question_attr_request(q));
        assert_ok(ctx, asc_ask(s, q, &a));
        assert_ok(ctx, asc_explain(asc_subject_model(s), &req, &r));
        const asc_result *b = asc_answer_result(a);
        assert_int_equal(b->n_prompt, r->n_prompt);
        assert_int_equal(b->n_features, r->n_features);
        assert_int_equal(b->n_matrix, r->n_matrix);
        assert_memory_equal(b->scores, r->scores, r->n_prompt * sizeof *r->scores);
        for (size_t k = 0; k < r->n_features; k++) assert_true(b->features[k].score == r->features[k].score);
        assert_memory_equal(&b->value, &r->value, sizeof r->value);
        assert_string_equal(b->options, r->options);
        asc_result_destroy(ctx, r);
        asc_answer_destroy(a);
        asc_question_destroy(q);
    }
    asc_subject_close(s);
    test_ctx_end(ctx);
}

static void errors_name_the_key(void **state) {
    (void)state;
    static const struct {
        const char *json, *message, *hint;
    } bad[] = {
        {"", "JSON: line 1", "one JSON object"},
        {"{\"prompt\": \"a\"", "JSON: line 1, column 14", ""},
        {"{\"prompt\": \"\xff\"}", "not valid UTF-8", ""},
        {"[]", "no JSON object", "{\"prompt\""},
        {"\"a\"", "no JSON object", ""},
        {"{\"promt\": \"a\"}", "no key \"promt\"", "did you mean \"prompt\""},
        {"{\"prompt\": \"a\", \"targets\": \"a\"}", "no key \"targets\"", "did you mean \"target\""},
        {"{\"\": 1}", "no key \"\"", ""},
        {"{\"prompt\": 1}", "\"prompt\": a string is wanted, 1 was given", "prompt: "},
        {"{\"prompt\": \"a\", \"label\": \"b\"}",
         "\"label\" is for text encoders; this model is a language model", ""},
        {"{\"prompt\": \"a\", \"image\": \"b\"}", "\"image\" is for nets", "leave it out"},
        {"{\"prompt\": \"a\", \"steps\": 0}", "\"steps\": a whole number from 1 on is wanted, 0 was given",
         ""},
        {"{\"prompt\": \"a\", \"steps\": 1.5}",
         "\"steps\": a whole number from 1 on is wanted, 1.5 was given", ""},
        {"{\"prompt\": \"a\", \"steps\": true}", "true was given", ""},
        {"{\"prompt\": \"a\", \"seed\": -1}", "\"seed\": a whole number from 0 on", ""},
        {"{\"prompt\": \"a\", \"dry_run\": \"yes\"}",
         "\"dry_run\": true or false is wanted, \"yes\" was given", ""},
        {"{\"prompt\": \"a\", \"tolerance\": 0}", "\"tolerance\": a number larger than 0", ""},
        {"{\"prompt\": \"a\", \"tolerance\": \"1\"}", "\"tolerance\": a number from 0 on", ""},
        {"{\"prompt\": \"a\", \"tolerance\": \"inf%\"}", "\"tolerance\"", ""},
        {"{\"prompt\": \"a\", \"tolerance\": 1e999}", "JSON", ""},
        {"{\"prompt\": \"a\", \"memory\": \"lots\"}", "\"memory\": a number of bytes", "bound for what"},
        {"{\"prompt\": \"a\", \"memory\": \"99999999999T\"}", "\"memory\"", ""},
        {"{\"prompt\": \"a\", \"prompt\": \"a\"}", "duplicate", ""},
        {"{\"prompt\": \"a\", \"text\": \"b\"}", "more than one prompt: give one of \"prompt\"", ""},
        {"{\"prompt\": \"a\", \"target\": \"b\", \"generate\": 1}", "more than one target", ""},
        {"{\"prompt\": \"a\", \"versus\": \"b\", \"versus_ids\": [1]}", "more than one other answer", ""},
        {"{\"prompt\": \"a\", \"corrupted\": \"b\", \"corrupted_ids\": [1]}", "more than one other prompt",
         ""},
        {"{\"target\": \"b\"}", "no prompt", ""},
        {"{\"prompt\": null}", "no prompt", ""},
        {"{\"ids\": [1, -2]}",
         "\"ids\": a list of token ids (whole numbers from 0 on) is wanted, -2 was given", ""},
        {"{\"ids\": [4294967297]}", "\"ids\": a list of token ids", ""},
        {"{\"ids\": \"1,2\"}", "\"ids\": a list of token ids", ""},
        {"{\"prompt\": \"a\", \"method\": \"salience\"}", "no method 'salience'",
         "did you mean \"saliency\""},
        {"{\"prompt\": \"a\", \"method\": \"integrated\"}", "no method 'integrated'",
         "did you mean \"integrated-gradients\""},
        {"{\"prompt\": \"a\", \"method\": \"ig\"}", "no method 'ig'", "`ascribe methods` has their names"},
        {"{\"prompt\": \"a\", \"loud\": 1}", "no key \"loud\"", "docs/formats/question.md has all"},
        {"{\"prompt\": \"a\", \"method\": \"\"}", "\"method\": a string that is not empty", ""},
        {"{\"prompt\": \"a\", \"method\": \"a\\u0000b\"}", "without \\u0000", ""},
        {"{\"prompt\": \"a\", \"output\": \"loud\"}", "\"output\": one of logprob|", ""},
        {"{\"prompt\": \"a\", \"compat\": \"x\"}", "\"compat\": \"captum\" is wanted, \"x\" was given", ""},
        {"{\"prompt\": \"a\", \"baseline\": \"token:\"}", "the id of a token", ""},
        {"{\"prompt\": \"a\", \"baseline\": \"token:99999999999\"}", "the id of a token", ""},
        {"{\"prompt\": \"a\", \"span\": \"5:2\"}", "\"span\": two token numbers", ""},
        {"{\"prompt\": \"a\", \"span\": \"\"}", "\"span\"", ""},
        {"{\"prompt\": \"a\", \"neuron\": \"x\", \"output\": \"logit\"}", "one of \"neuron\" and \"output\"",
         ""},
        {"{\"prompt\": \"a\", \"freeze\": \"b\"}", "no part that reads 'b'", ""},
        {"{\"prompt\": \"a\", \"freeze\": [\"a\", 1]}", "\"freeze\": a string or a list of strings", ""},
        {"{\"ids\": [1], \"freeze\": \"b\"}", "\"freeze\" goes with", ""},
        {"{\"prompt\": \"a\", \"skip_tokens\": \"<nothing>\"}", "no token '<nothing>'", ""},
        {"{\"prompt\": \"a\", \"skip_tokens\": [1.5]}", "\"skip_tokens\"", ""},
        {"{\"template\": \"{a}\"}", "\"template\" needs \"values\"", ""},
        {"{\"prompt\": \"a\", \"values\": [\"b\"]}", "\"values\" goes with", ""},
        {"{\"template\": \"{a}\", \"values\": {\"b\": \"c\"}}", "placeholder {a}", ""},
        {"{\"template\": \"{a}\", \"values\": {\"a\": 1}}", "\"values\": value 'a'", ""},
        {"{\"template\": \"a\", \"values\": []}", "has no placeholders", ""},
        {"{\"template\": \"{}\", \"values\": [\"a\"], \"features\": \"word\"}", "features are its slots", ""},
        {"{\"documents\": []}", "\"documents\"", ""},
        {"{\"documents\": [{\"txt\": \"a\"}]}", "\"documents\", number 1", ""},
        {"{\"ids\": [1], \"question\": \"b\"}", "\"question\" goes with", ""},
        {"{\"prompt\": \"a\", \"question\": \"\"}", "\"question\"", ""},
        {"{\"prompt\": \"a\", \"system\": \"b\"}", "\"system\" goes with", ""},
        {"{\"prompt\": \"a\", \"tools\": []}", "\"tools\" goes with a conversation", ""},
        {"{\"user\": \"a\", \"tools\": 1}", "\"tools\": a list of", ""},
        {"{\"user\": \"a\", \"template_vars\": [1]}", "\"template_vars\": an object of variables", ""},
        {"{\"user\": \"a\", \"tools\": [], \"template_vars\": {\"tools\": 1}}", "one of \"tools\"", ""},
        {"{\"messages\": []}", "\"messages\": a list of {\"role\", \"content\"} is wanted, an empty list",
         ""},
        {"{\"messages\": [{\"role\": 1}]}", "\"messages\": message 0: 'role'", ""},
        {"{\"prompt\": \"a\", \"x\": "
         "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
         "deep", ""},
    };
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_subject *s = NULL;
    assert_ok(ctx, asc_subject_open(ctx, test_data(MODEL), NULL, &s));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        asc_question *q = NULL;
        asc_status st = parse(s, bad[i].json, &q);
        if (st != ASC_INVALID_ARGUMENT)
            fail_msg("%s: %s %s", bad[i].json, asc_status_name(st), st ? asc_error_message(ctx) : "");
        assert_null(q);
        const char *hint = asc_error_hint(ctx);
        if (strstr(asc_error_message(ctx), bad[i].message) == NULL || hint[0] == '\0' ||
            strstr(hint, bad[i].hint) == NULL)
            fail_msg("%s: %s (%s)", bad[i].json, asc_error_message(ctx), hint);
    }
    asc_subject_close(s);
    test_ctx_end(ctx);
}

/* Conversations, and a question behind a prompt where the model has a template for it. */
static void conversations(void **state) {
    (void)state;
    static const asc_message two[] = {{{"system", 6}, {"Be kind", 7}}, {{"user", 4}, {"Hi you", 6}}};
    static const char *const same[] = {
        "{\"user\": \"Hi you\", \"system\": \"Be kind\", \"generate\": 2}",
        "{\"messages\": [{\"role\": \"system\", \"content\": \"Be kind\"}, {\"role\": \"user\", \"content\": "
        "[{\"type\": \"text\", \"text\": \"Hi\"}, {\"type\": \"text\", \"text\": \" you\"}]}], \"generate\": "
        "2}"};
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_subject *s = NULL;
    asc_result *r = NULL;
    asc_request req = {.struct_size = sizeof req, .messages = two, .n_messages = 2, .generate = 2};
    assert_ok(ctx, asc_subject_open(ctx, test_data(MODEL), NULL, &s));
    asc_subject_model(s)->chat_template =
        asc_view_of("{% for m in messages %}{{ m.role }}: {{ m.content }}; {% endfor %}");
    assert_ok(ctx, asc_explain(asc_subject_model(s), &req, &r));
    for (size_t i = 0; i < 2; i++) {
        asc_question *q = NULL;
        asc_answer *a = NULL;
        assert_ok(ctx, parse(s, same[i], &q));
        assert_ok(ctx, asc_ask(s, q, &a));
        const asc_result *b = asc_answer_result(a);
        assert_string_equal(b->prompt, r->prompt);
        assert_memory_equal(b->scores, r->scores, r->n_prompt * sizeof *r->scores);
        asc_answer_destroy(a);
        asc_question_destroy(q);
    }
    asc_result_destroy(ctx, r);
    asc_question *q = NULL;
    asc_answer *a = NULL;
    asc_subject_model(s)->chat_template = asc_view_of(
        "{{ who }}{{ tools[0].name }}{% for m in messages %}{{ m.name }}{{ m.content }}{% endfor %}");
    assert_ok(
        ctx, parse(s,
                   "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\", \"name\": \"Ann\"}, {\"role\": "
                   "\"user\", \"content\": \"ho\"}], \"tools\": [{\"name\": \"calc\"}], \"template_vars\": "
                   "{\"who\": \"we\"}, \"generate\": 1}",
                   &q));
    assert_ok(ctx, asc_ask(s, q, &a));
    assert_string_equal(asc_answer_result(a)->prompt, "wecalcAnnhiho");
    asc_text *t = NULL;
    asc_saved *again = NULL;
    assert_ok(ctx, asc_text_create(ctx, &t));
    asc_answer_json(a, t); /* and back: a result can be asked again */
    assert_ok(ctx, asc_saved_parse(ctx, asc_text_view(t), &again));
    assert_true(
        asc_view_eqs(again->request.template_vars, "{\"tools\":[{\"name\":\"calc\"}],\"who\":\"we\"}"));
    assert_true(asc_view_eqs(again->request.message_extras[0], "{\"name\":\"Ann\"}"));
    assert_null(again->request.message_extras[1].ptr);
    asc_saved_destroy(ctx, again);
    asc_text_destroy(t);
    asc_answer_destroy(a);
    asc_question_destroy(q);
    asc_subject_model(s)->chat_template =
        asc_view_of("{% for m in messages %}{{ m.role }}: {{ m.content }}; {% endfor %}");
    assert_ok(ctx,
              parse(s,
                    "{\"prompt\": \"ab cd\", \"question\": \"ef?\", \"system\": \"gh\", \"freeze\": \"cd\"}",
                    &q));
    const asc_request *made = asc_question_request(q);
    assert_int_equal(made->n_messages, 2);
    assert_true(asc_view_eqs(made->messages[1].content, "ab cd\n\nef?"));
    assert_int_equal(made->n_frozen, 3);
    assert_int_equal(made->frozen[0].start, 5); /* behind the system message */
    assert_int_equal(made->frozen[0].end, 7);
    asc_question_destroy(q);
    asc_subject_close(s);
    test_ctx_end(ctx);
}

/* What is read says the same whether a key is null or not there. */
static void nulls_are_absent(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("null", NULL);
    asc_subject *s = NULL;
    asc_question *q = NULL;
    assert_ok(ctx, asc_subject_open(ctx, test_data(MODEL), NULL, &s));
    assert_ok(ctx, parse(s, "{\"prompt\": \"a\", \"text\": null, \"target\": null, \"steps\": null}", &q));
    assert_null(asc_question_request(q)->target.ptr);
    assert_int_equal(asc_question_request(q)->steps, 0);
    asc_question_set_dry_run(q, true);
    assert_true(asc_question_request(q)->dry_run);
    asc_question_destroy(q);
    asc_subject_close(s);
    test_ctx_end(ctx);
}

/* Values as they arrive in the request. */
static void values_are_read(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_subject *s = NULL;
    asc_question *q = NULL;
    assert_ok(ctx, asc_subject_open(ctx, test_data(MODEL), NULL, &s));
    assert_ok(
        ctx,
        parse(
            s,
            "{\"prompt\": \"a\", \"tolerance\": \"1.5%\", \"memory\": \"200k\", \"alpha\": 0.25, \"refine\": "
            "0.5, \"stdev\": 2, \"trials\": 3, \"max_seconds\": 0.5, \"max_evaluations\": 7, \"seed\": "
            "9007199254740993, \"compat\": \"captum\", \"site\": \"embed\", \"span\": \"1:x\"}",
            &q));
    const asc_request *r = asc_question_request(q);
    assert_true(r->tolerance == 0.015 && r->alpha == 0.25 && r->refine == 0.5 && r->stdev == 2.0);
    assert_true(r->memory_bytes == 204800 && r->trials == 3 && r->max_evaluations == 7);
    assert_true(r->max_seconds == 0.5 && r->seed == 9007199254740993u && r->compat_captum);
    assert_string_equal(r->site, "embed");
    assert_true(asc_view_eqs(r->span, "1:x"));
    asc_question_destroy(q);
    asc_subject_model(s)->chat_template = asc_view_of("{{ messages[0].content }}");
    assert_ok(ctx, parse(s,
                         "{\"documents\": [\"ab\\n\", {\"text\": \"cd\", \"title\": \"T\"}], \"question\": "
                         "\"q\", \"system\": "
                         "\"sys\"}",
                         &q));
    r = asc_question_request(q);
    assert_int_equal(r->n_slots, 2);
    assert_int_equal(r->features, ASC_FEATURES_SLOT);
    assert_int_equal(r->slots[0].start, 3); /* behind the system message */
    assert_int_equal(r->slots[1].start, 7);
    assert_int_equal(r->slots[1].end, 9);
    assert_true(asc_view_eqs(r->slots[0].label, "passage 1") && asc_view_eqs(r->slots[1].label, "T"));
    assert_true(asc_view_eqs(r->messages[1].content, "ab\n\ncd\n\nq"));
    asc_question_destroy(q);
    asc_subject_close(s);
    assert_ok(ctx, asc_subject_open(ctx, test_data("encoders/electra"), NULL, &s));
    assert_int_equal(parse(s, "{\"ids\": [1, 2], \"types\": [0]}", &q), ASC_INVALID_ARGUMENT);
    assert_non_null(strstr(asc_error_message(ctx), "\"types\" has 1 elements and \"ids\" 2"));
    assert_ok(ctx, parse(s, "{\"ids\": [1, 2], \"types\": [0, 1]}", &q));
    assert_int_equal(asc_question_request(q)->prompt_types[1], 1);
    asc_question_destroy(q);
    asc_subject_close(s);
    test_ctx_end(ctx);
}

/* ---- files ---- */

static void copy_file(const char *from, const char *to) {
    char command[9000];
    snprintf(command, sizeof command, "cp '%s' '%s' && touch -t 202001010000 '%s'", from, to, to);
    assert_int_equal(system(command), 0); /* of old: the clock of files is coarse */
}

static void replaced_files_are_noticed(void **state) {
    (void)state;
    char folder[TEST_TMP], path[TEST_PATH], other[TEST_PATH];
    assert_non_null(mkdtemp(test_tmp_name(folder, "ascribe-ask-XXXXXX")));
    snprintf(path, sizeof path, "%s/m.gguf", folder);
    snprintf(other, sizeof other, "%s/n.gguf", folder);
    asc_ctx *ctx = test_ctx("cpu", NULL);
    for (int what = 0; what < 4; what++) {
        asc_subject *s = NULL;
        copy_file(test_data(MODEL), path);
        assert_ok(ctx, asc_subject_open(ctx, path, NULL, &s));
        assert_ok(ctx, asc_subject_check_file(s));
        const char *says = "replaced";
        if (what == 0) {
            copy_file(test_data(MODEL), other);
            assert_int_equal(rename(other, path), 0);
        } else if (what == 1) {
            assert_int_equal(truncate(path, 100), 0);
            says = "shorter";
        } else if (what == 2) { /* as many bytes, others */
            FILE *f = fopen(path, "r+b");
            assert_non_null(f);
            assert_int_equal(fseek(f, 5000, SEEK_SET), 0);
            assert_int_equal(fputc('x', f), 'x');
            fclose(f);
            says = "was changed";
        } else {
            assert_int_equal(unlink(path), 0);
            says = "gone";
        }
        assert_int_equal(asc_subject_check_file(s), ASC_FAILED_PRECONDITION);
        assert_non_null(strstr(asc_error_message(ctx), says));
        assert_non_null(strstr(asc_error_hint(ctx), "open the model again"));
        asc_subject_close(s);
    }
    asc_subject *s = NULL;
    assert_int_equal(asc_subject_open(ctx, path, NULL, &s), ASC_NOT_FOUND);
    assert_null(s);
    test_ctx_end(ctx);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- memory ---- */

static asc_status whole_question(asc_ctx *ctx, const char *json) {
    asc_subject *s = NULL;
    asc_question *q = NULL;
    asc_answer *a = NULL;
    asc_text *t = NULL;
    asc_status st = asc_subject_open(ctx, test_data(MODEL), NULL, &s);
    if (st == ASC_OK) st = parse(s, json, &q);
    if (st == ASC_OK) st = asc_text_create(ctx, &t);
    if (st == ASC_OK) st = asc_ask(s, q, &a);
    assert_true((a != NULL) == (st == ASC_OK));
    if (st == ASC_OK) {
        asc_answer_json(a, t);
        asc_answer_html(a, t);
        asc_answer_text(a, t, NULL);
        st = asc_text_status(t);
        bool said = asc_question_command(q, t);
        if (st == ASC_OK && !said) st = ASC_RESOURCE_EXHAUSTED;
    }
    asc_text_destroy(t);
    asc_answer_destroy(a);
    asc_question_destroy(q);
    asc_subject_close(s);
    return st;
}

static long attempt(const char *json, long fail_at) {
    test_alloc a = {.fail_at = fail_at};
    asc_ctx_options o = {.struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1};
    asc_ctx *ctx = NULL;
    asc_status st = asc_ctx_create(&o, &ctx);
    if (st == ASC_OK) {
        st = whole_question(ctx, json);
        if (fail_at == 0)
            assert_ok(ctx, st);
        else if (st != ASC_OK && st != ASC_RESOURCE_EXHAUSTED)
            fail_msg("%s, allocation %ld: %s", json, fail_at, asc_error_message(ctx));
    }
    asc_ctx_destroy(ctx);
    assert_int_equal(a.live, 0);
    return a.count;
}

static void memory_that_fails(void **state) {
    (void)state;
    static const char *const questions[] = {
        "{\"prompt\": \"The cat. A dog sat\", \"freeze\": \"cat\", \"skip_tokens\": [3], \"target_ids\": "
        "[193]}",
        "{\"template\": \"The {a} and {b}\", \"values\": {\"a\": \"cat\", \"b\": \"dog\"}, \"generate\": 1}"};
    const bool all = getenv("ASC_OOM_ALL") != NULL;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        long n = attempt(questions[i], 0), step = all ? 1 : n / 60 + 1;
        assert_true(n > 100);
        for (long k = 1; k <= n; k += step) attempt(questions[i], k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_as_explain), cmocka_unit_test(errors_name_the_key),
        cmocka_unit_test(conversations),        cmocka_unit_test(nulls_are_absent),

        cmocka_unit_test(values_are_read),      cmocka_unit_test(replaced_files_are_noticed),
        cmocka_unit_test(memory_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
