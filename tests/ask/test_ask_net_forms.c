/* test_ask_net_forms.c - one thing said in several ways gives one result; what cannot be meant is an error
 * that names the place. On a net of two inputs: numbers and ids. */
#include "../harness.h"
#include "ask_scene.h"
#include "asked_net.h"

static asc_answer *ask(scene *c, const char *keys, asc_question **q) {
    asc_answer *a = NULL;
    if (scene_parse(c, keys, q) != ASC_OK || asc_ask(c->s, *q, &a) != ASC_OK)
        fail_msg("%s: %s", keys, asc_error_message(c->ctx));
    return a;
}

#define ONE "\"input\": {\"x\": {\"array\": \"x1\"}, \"ids\": {\"array\": \"ids1\"}}, "
#define TWO "\"input\": {\"x\": {\"array\": \"x2\"}, \"ids\": {\"array\": \"ids2\"}}, "
#define ABC "\"labels\": [\"a\", \"b\", \"c\"], "
#define SAL "\"method\": \"saliency\""
#define IG "\"method\": \"integrated-gradients\", \"rule\": \"riemann-left\", \"steps\": 4, \"target\": 1"

/* numpy.save of the values of x2 as big-endian float32 in Fortran order */
#define FORTRAN                                                                                              \
    "k05VTVBZAQB2AHsnZGVzY3InOiAnPmY0JywgJ2ZvcnRyYW5fb3JkZXInOiBUcnVlLCAnc2hhcGUnOiAoMiwgMyks"               \
    "IH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAo/AAAA"               \
    "PoAAAL+AAAA/wAAAQAAAAL9AAAA="

static void same_thing(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
    } pairs[] = {
        {ONE SAL, "\"input\": {\"x\": [[0.5, -1, 2]], \"ids\": [[1, 4]]}, " SAL},
        {ONE SAL, "\"input\": {\"arrays\": [[0.5, -1, 2], [1, 4]]}, " SAL},
        {ONE SAL, "\"table\": \"p,q,r\\n0.5,-1,2\\n\", \"input\": [1, 4], " SAL},
        {ONE SAL, "\"table\": \"p,q,r\\n0.5,-1,2\\n\", \"input\": {\"ids\": [1.0, 4.0]}, " SAL},
        {TWO SAL ", \"target\": 1",
         "\"input\": {\"arrays\": [[[0.5,-1,2],[0.25,1.5,-0.75]], [[1,4],[0,3]]]}, " SAL ", \"target\": [1]"},
        {ONE SAL ", \"target\": 1", ONE SAL ", \"target\": [[1]]"},
        {ONE SAL ", \"target\": 1", ONE SAL ", \"target\": {\"array\": \"one\"}"},
        {ONE SAL ", \"target\": 1", ONE ABC SAL ", \"target\": \"b\""},
        {ONE SAL ", \"target\": 1", ONE ABC SAL ", \"target\": [\"b\"]"},
        {ONE SAL ", \"target\": -1", ONE SAL ", \"target\": 2"},
        {TWO SAL ", \"target\": [[0], [2]]", TWO SAL ", \"target\": [0, 2]"},
        {TWO SAL ", \"target\": [[0], [2]]", TWO SAL ", \"target\": {\"array\": \"each\"}"},
        {TWO SAL ", \"target\": [[0], [2]]", TWO ABC SAL ", \"target\": [\"a\", \"c\"]"},
        {TWO SAL ", \"target\": [[0], [2]], \"versus\": 1",
         TWO SAL ", \"target\": [0, 2], \"versus\": [[1], [1]]"},
        {TWO SAL ", \"target\": 1, \"versus\": [0, 2]",
         TWO SAL ", \"target\": [1, 1], \"versus\": [[0], [2]]"},
        {ONE "\"method\": \"input-x-gradient\", \"target\": 1",
         ONE "\"method\": \"InputXGradient\", \"target_weights\": [0, 1, 0]"},
        {TWO "\"method\": \"input-x-gradient\", \"target\": 1",
         TWO "\"method\": \"input_x_gradient\", \"target_weights\": [[0, 1, 0], [0, 1, 0]]"},
        {ONE SAL ", \"target\": 1, \"output\": \"prob\"",
         ONE SAL ", \"target\": 1, \"transform\": \"softmax\""},
        {ONE SAL ", \"target\": 1, \"output\": \"logprob\"",
         ONE SAL ", \"target\": 1, \"transform\": \"log-softmax\""},
        {ONE SAL ", \"target\": 1, \"output\": \"logit\"", ONE SAL ", \"target\": 1, \"baseline\": null"},
        {TWO SAL ", \"target\": 1", "\"input\": {\"x\": {\"npy_b64\": \"" FORTRAN
                                    "\"}, \"ids\": {\"array\": \"ids2\"}}, " SAL ", \"target\": 1"},
        {TWO "\"method\": \"input-x-gradient\", \"target\": [[0], [2]]",
         TWO "\"method\": \"input-x-gradient\", \"target_weights\": [[1, 0, 0], [0, 0, 1]]"},
        {ONE "\"method\": \"feature-ablation\", \"target\": 0, \"fixed\": \"x\", \"mask\": {\"ids\": [2, 3]}",
         ONE "\"method\": \"feature-ablation\", \"target\": 0, \"fixed\": \"x\", \"mask\": {\"arrays\": [[5, "
             "6]]}"},
        {ONE IG ", \"baseline\": 0.5", ONE IG ", \"baseline\": {\"x\": [0.5, 0.5, 0.5]}"},
        {ONE IG ", \"baseline\": 0.5", ONE IG ", \"baseline\": {\"arrays\": [[[0.5, 0.5, 0.5]], null]}"},
        {ONE IG ", \"baseline\": \"zero\"", ONE IG},
        {ONE IG ", \"baseline\": {\"x\": \"auto\"}", ONE IG},
        {ONE IG ", \"fixed\": \"ids\"", ONE IG ", \"fixed\": [\"ids\"]"},
        {ONE "\"method\": \"feature-ablation\", \"target\": 0, \"mask\": {\"ids\": [2, 3], \"x\": [0, 0, 1]}",
         ONE
         "\"method\": \"feature-ablation\", \"target\": 0, \"mask\": {\"arrays\": [[[7, 7, 8]], [9, 12]]}"},
        {ONE "\"method\": \"feature-ablation\", \"target\": 0, \"mask\": [0, 0, 1], \"fixed\": \"ids\"", ONE
         "\"method\": \"feature-ablation\", \"target\": 0, \"mask\": {\"x\": [3, 3, 4]}, \"fixed\": \"ids\""},
        {ONE "\"method\": \"feature-ablation\", \"target\": 0, \"mask\": [0, 0, 1], \"site\": \"hidden\"",
         ONE "\"method\": \"feature-ablation\", \"target\": 0, \"mask\": {\"hidden\": [[0, 0, 1]]}, "
             "\"site\": [\"hidden\"], \"at_baselines\": 0"},
        {ONE
         "\"method\": \"feature-ablation\", \"target\": 0, \"site\": \"hidden\", \"at_baselines\": [1, 1, 1]",
         ONE "\"method\": \"feature-ablation\", \"target\": 0, \"site\": \"hidden\", \"at_baselines\": "
             "{\"hidden\": 1}"},
        {ONE "\"method\": \"occlusion\", \"target\": 0, \"window\": [[2], [1]], \"stride\": [1, 1]",
         ONE "\"method\": \"occlusion\", \"target\": 0, \"window\": \"2x1\""},
        {ONE "\"method\": \"neuron-conductance\", \"steps\": 3, \"target\": 0, \"neuron\": \"hidden:1\"",
         ONE "\"method\": \"neuron-conductance\", \"steps\": 3, \"target\": 0, \"neuron\": \"hidden\", "
             "\"neuron_weights\": [0, 1, 0]"},
        {ONE SAL ", \"target_value\": \"hidden\", \"target\": 2", ONE SAL ", \"target_value\": \"hidden\", "
                                                                          "\"target_weights\": [0, 0, 1]"},
        {TWO "\"method\": \"gradient-shap\", \"target\": 0, \"samples\": 5, \"stdev\": 0.5", TWO
         "\"method\": \"gradient-shap\", \"target\": 0, \"samples\": 5, \"stdevs\": [0.5, 0.5], \"seed\": 0"},
        {TWO "\"method\": \"noise-tunnel\", \"base\": \"saliency\", \"target\": 0, \"samples\": 5, "
             "\"stdev\": 0.5",
         TWO "\"method\": \"noise-tunnel\", \"base\": \"Saliency\", \"target\": 0, \"samples\": 5, "
             "\"stdevs\": 0.5"},
        {ONE "\"method\": \"lrp\", \"target\": 0, \"lrp_rule\": \"epsilon:0.25\"",
         ONE "\"method\": \"lrp\", \"target\": 0, \"lrp_rule\": [{\"rule\": \"epsilon\", \"a\": 0.25}]"},
        {ONE "\"method\": \"lrp\", \"target\": 0, \"lrp_rule\": \"epsilon:0.25\", \"memory\": \"64M\"",
         ONE "\"method\": \"lrp\", \"target\": 0, \"lrp_rule\": [\"epsilon:0.25\", \"gamma\"]"},
    };
    asc_ctx *ctx = test_ctx("cpu", NULL);
    scene c;
    assert_ok(ctx, scene_make(ctx, SCENE_TWO, &c));
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        asc_question *p = NULL, *q = NULL;
        char words[200];
        asc_answer *a = ask(&c, pairs[i].a, &p), *b = ask(&c, pairs[i].b, &q);
        if (asked_difference(asc_answer_attribution(a), asc_answer_attribution(b), words) != NULL)
            fail_msg("%s\n%s: %s", pairs[i].a, pairs[i].b, words);
        asc_answer_destroy(a);
        asc_answer_destroy(b);
        asc_question_destroy(p);
        asc_question_destroy(q);
    }
    scene_end(&c);
    test_ctx_end(ctx);
}

/* Without a target it is the largest output of the first example; [] is every output. */
static void the_default_target(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    scene c;
    asc_question *q = NULL;
    asc_array y = {0};
    double v[6];
    assert_ok(ctx, scene_make(ctx, SCENE_TWO, &c));
    asc_answer *a = ask(&c, TWO SAL, &q);
    const asc_attr_request *r = asc_question_attr_request(q);
    assert_ok(ctx, asc_net_run(c.net, r->inputs, 2, NULL, 0, &y));
    asc_array_get(&y, 0, 6, v);
    asc_array_free(ctx, &y);
    int64_t largest = v[0] > v[1] && v[0] > v[2] ? 0 : v[1] > v[2] ? 1 : 2;
    assert_int_equal(r->target.n_rows, 1);
    assert_int_equal(r->target.index[0], largest);
    asc_answer_destroy(a);
    asc_question_destroy(q);
    a = ask(&c, TWO "\"method\": \"feature-ablation\", \"target\": []", &q);
    assert_int_equal(asc_answer_attribution(a)->n_outputs, 3);
    asc_answer_destroy(a);
    asc_question_destroy(q);
    scene_end(&c);
    test_ctx_end(ctx);
}

static void errors_name_the_place(void **state) {
    (void)state;
    static const struct {
        const char *keys, *words; /* in the message or the hint */
    } bad[] = {
        {SAL, "no value for inputs 'x', 'ids'"},
        {"\"input\": {\"x\": [1, 2, 3]}", "no value for input 'ids'"},
        {"\"input\": {\"x\": [1, 2, 3], \"idz\": [1, 2]}", "no input \"idz\""},
        {"\"input\": {\"x\": [1, 2, 3], \"idz\": [1, 2]}", "ids"},
        {"\"input\": [1, 2, 3]", "the net has 2 inputs"},
        {"\"input\": {\"arrays\": [[1, 2, 3], [1, 4], [1]]}", "a list of 3 arrays for 2 inputs"},
        {"\"input\": {\"arrays\": [[1, 2, 3], null]}", "no value for input 'ids'"},
        {"\"input\": {\"x\": [[1, 2, 3], [1, 2]], \"ids\": [1, 4]}",
         "input.x[1]: a list of 2 behind lists of 3"},
        {"\"input\": {\"x\": [[1, 2, 3], 4], \"ids\": [1, 4]}",
         "input.x[1]: a list, as before it, is wanted, 4"},
        {"\"input\": {\"x\": [1, 2, [3]], \"ids\": [1, 4]}",
         "input.x[2]: a number is wanted, a list was given"},
        {"\"input\": {\"x\": [1, \"2\", 3], \"ids\": [1, 4]}",
         "input.x[1]: a number is wanted, \"2\" was given"},
        {"\"input\": {\"x\": [1, null, 3], \"ids\": [1, 4]}",
         "input.x[1]: a number is wanted, null was given"},
        {"\"input\": {\"x\": [1, true, 3], \"ids\": [1, 4]}",
         "input.x[1]: a number is wanted, true was given"},
        {"\"input\": {\"x\": {\"b\": 1}, \"ids\": [1, 4]}", "{\"npy_b64\": BASE64} is wanted, an object"},
        {"\"input\": {\"x\": \"zero\", \"ids\": [1, 4]}", "input.x: an array is wanted, \"zero\" was given"},
        {"\"input\": {\"x\": [[[[[[[1]]]]]]], \"ids\": [1, 4]}", "at most 6 dimensions"},
        {"\"input\": {\"x\": [1, 2, 3], \"ids\": [1, 1.5]}", "input.ids[1]: a whole number is wanted, 1.5"},
        {"\"input\": {\"x\": [1, 2, 3], \"ids\": [1, 1e300]}", "input.ids[1]: a whole number is wanted"},
        {"\"input\": {\"x\": {\"array\": \"x3\"}, \"ids\": [1, 4]}",
         "input.x: no array \"x3\" was handed over"},
        {"\"input\": {\"x\": {\"array\": \"none\"}, \"ids\": [1, 4]}", "no possible shape, type or data"},
        {"\"input\": {\"x\": {\"array\": \"odd\"}, \"ids\": [1, 4]}", "no possible shape, type or data"},
        {"\"input\": {\"x\": {\"npy_b64\": \"*\"}, \"ids\": [1, 4]}", "input.x: not base64"},
        {"\"input\": {\"x\": {\"npy_b64\": \"AAAA\"}, \"ids\": [1, 4]}", "input.x: "},
        {"\"input\": {\"x\": [1, 2], \"ids\": [1, 4]}", "input 'x' takes shape [?,3], not [1,2]"},
        {"\"input\": {\"x\": {\"array\": \"x2\"}, \"ids\": [1, 4]}", "input 'ids' has 1 examples"},
        {"\"input\": {\"x\": {\"array\": \"ids1\"}, \"ids\": [1, 4]}, \"target\": 0",
         "takes float32, not int32"},
        {"\"table\": \"a,b,c\\n1,2,3\\n\", \"input\": {\"x\": [1,2,3], \"ids\": [1, 4]}", "given twice"},
        {"\"table\": \"a,b,c\\n1,2,q\\n\", \"input\": [1, 4]", "table"},
        {"\"table\": \"\", \"input\": [1, 4]", "table"},
        {ONE "\"image\": \"AAAA\"", "no input that is a picture"},
        {ONE "\"resize\": 4", "\"resize\" goes with \"image\""},
        {ONE "\"bytes_as\": \"raw\"", "\"bytes_as\" goes with \"bytes\""},
        {ONE "\"bytes\": \"AAAA\"", "given twice"},
        {ONE "\"method\": \"salience\"", "saliency"},
        {ONE "\"method\": \"\"", "a string that is not empty"},
        {ONE "\"target\": \"a\"", "no class \"a\""},
        {ONE ABC "\"target\": \"bb\"", "no class \"bb\""},
        {ONE "\"target\": 1.5", "\"target\": a whole number"},
        {ONE "\"target\": {\"array\": \"x1\"}", "must hold integers"},
        {ONE "\"target\": [[0], [0, 1]]", "entry 1 has 2 numbers, those before it 1"},
        {ONE "\"target\": [[]]", "an index has 1 to 6 numbers, not 0"},
        {ONE "\"target\": [0, 1, 2, 0, 1, 2, 0]", "an index has 1 to 6 numbers, not 7"},
        {ONE "\"target\": [true]", "\"target\": a whole number"},
        {ONE SAL ", \"target\": 7", "counts from 0 to 2"},
        {ONE SAL ", \"target\": 0, \"versus\": 7", "counts from 0 to 2"},
        {ONE "\"target\": 0, \"versus\": [0, 1]", "differ in form"},
        {ONE "\"target\": [], \"versus\": 1", "both are numbers"},
        {ONE "\"target\": 0, \"target_weights\": [1, 2, 3]", "give one of \"target\" and \"target_weights\""},
        {ONE "\"target_weights\": [1, 2]", "2 numbers for a value of 3 per example"},
        {TWO "\"target_weights\": [1, 2, 3, 4]", "4 numbers for a value of 3 per example"},
        {ONE "\"target_weights\": []", "0 numbers"},
        {ONE "\"target_weights\": [1, 2, 3], \"versus\": 1", "does not go with"},
        {ONE "\"target_value\": \"hiden\"", "hidden"},
        {ONE "\"output\": \"prob\", \"transform\": \"log\"", "give one of"},
        {ONE "\"output\": \"kl\"", "one of logprob|prob|logit is wanted"},
        {ONE "\"neuron\": \"hiden:1\", \"method\": \"neuron-conductance\"", "hidden"},
        {ONE "\"neuron\": \"nothing\"", "\"neuron\" is SITE:INDEX"},
        {ONE "\"neuron_weights\": [1]", "goes with \"neuron\""},
        {ONE "\"neuron\": \"hidden:1\", \"neuron_weights\": [1, 2, 3]", "SITE with \"neuron_weights\""},
        {ONE "\"site\": [1]", "\"site\": a string or a list of strings"},
        {ONE SAL ", \"site\": \"hiden\"", "hidden"},
        {ONE "\"fixed\": [\"y\"]", "\"fixed\": the net has no input \"y\""},
        {ONE "\"baseline\": \"black\"", "is for an \"image\""},
        {ONE "\"baseline\": \"blue\"", "one of auto, zero, mean, black, white"},
        {ONE "\"baseline\": {\"y\": 1}", "no input \"y\""},
        {ONE IG ", \"baseline\": [1, 2]", "the baseline of 'x' has shape [2]; one example has [3]"},
        {ONE "\"at_baselines\": 1", "goes with \"site\""},
        {ONE "\"mask\": \"grid:2\"", "is for an \"image\""},
        {ONE "\"mask\": \"grid:x\"", "grid:16x8"},
        {ONE "\"mask\": [0.5, 1, 2]", "mask.x[0]: a whole number is wanted, 0.5"},
        {ONE "\"method\": \"feature-ablation\", \"mask\": [0, 1, 2]", "1 masks for 2 attributed values"},
        {ONE "\"window\": [0]", "\"window\""},
        {ONE "\"window\": [[1], [\"a\"]]", "\"window\""},
        {ONE "\"stride\": [1]", "goes with \"window\""},
        {ONE "\"window\": [1, 1], \"stride\": [1]", "\"stride\" has 1 sizes, \"window\" 2"},
        {ONE "\"method\": \"occlusion\", \"window\": [1]", "window"},
        {ONE "\"lrp_rule\": 3", "a rule's name or an object"},
        {ONE "\"lrp_rule\": \"gamma:a\"", "NAME:A,B"},
        {ONE "\"lrp_rule\": [{\"a\": 1}]", "rule 0 has no \"rule\""},
        {ONE "\"lrp_rule\": [{\"rule\": \"gamma\", \"c\": 1}]", "unknown key \"c\""},
        {ONE "\"lrp_rule\": [{\"rule\": \"gamma\", \"a\": \"1\"}]", "rule 0, \"a\""},
        {ONE "\"method\": \"lrp\", \"target\": 0, \"lrp_rule\": \"gama\"", "gama"},
        {ONE "\"stdev\": 1, \"stdevs\": [1, 2]", "give one of"},
        {ONE "\"method\": \"gradient-shap\", \"stdevs\": [1, 2, 3]", "3 standard deviations for 2 inputs"},
        {ONE "\"bounds\": [0, 1, 2]", "two numbers are wanted"},
        {ONE "\"steps\": 0", "\"steps\""},
        {ONE "\"tolerance\": 0", "\"tolerance\""},
        {ONE "\"prompt\": \"a\"", "\"prompt\""},
        {ONE "\"epsilon\": -1", "\"epsilon\""},
        {ONE "\"relu\": 1", "\"relu\": true or false"},
    };
    asc_ctx *ctx = test_ctx("cpu", NULL);
    scene c;
    assert_ok(ctx, scene_make(ctx, SCENE_TWO, &c));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        asc_question *q = NULL;
        asc_answer *a = NULL;
        asc_status st = scene_parse(&c, bad[i].keys, &q);
        assert_true((q != NULL) == (st == ASC_OK));
        if (st == ASC_OK) st = asc_ask(c.s, q, &a);
        if (st == ASC_OK) fail_msg("%s: accepted", bad[i].keys);
        if (strstr(asc_error_message(ctx), bad[i].words) == NULL &&
            strstr(asc_error_hint(ctx), bad[i].words) == NULL)
            fail_msg("%s: %s (%s)", bad[i].keys, asc_error_message(ctx), asc_error_hint(ctx));
        if (q == NULL && st == ASC_INVALID_ARGUMENT && asc_error_hint(ctx)[0] == '\0')
            fail_msg("%s: %s: no hint", bad[i].keys, asc_error_message(ctx));
        asc_answer_destroy(a);
        asc_question_destroy(q);
    }
    scene_end(&c);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_thing), cmocka_unit_test(the_default_target),
                                       cmocka_unit_test(errors_name_the_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
