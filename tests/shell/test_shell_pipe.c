/* test_shell_pipe.c - the shell with piped input: the same numbers as `ascribe explain`, scripts that make
 * them again, errors with their line numbers, models of other kinds. */
#include "../cli/run_program.h"

/* The numbers of the attribution in FILE.json, into FILE: not those of single answer tokens, which only some
 * of the questions want, and not times. */
#define NUMBERS                                                                                              \
    "numbers() { sed '/\"answer_tokens\"/,/^ *}\\],*$/d' $1.json | grep -oE "                                \
    "'\"(score|error|value|baseline_value|sum|target_prob)\": [-0-9.e+]+' >$1; test -s $1; }; "

static void test_same_bits(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL,
                   NUMBERS
                   "printf 'The capital of France is\\n:save a.json\\n:save a.sh\\n:save a.html\\n' | "
                   "$A shell $L --set generate=5 --quiet >said && "
                   "$A explain $L --prompt 'The capital of France is' --generate 5 --json b.json --quiet && "
                   "$A explain $L --prompt 'The capital of France is' --generate 5 --per-token --quiet "
                   "--json c.json && numbers a && numbers b && numbers c && cmp a c && cmp a b");
    /* The script is the same question, from anywhere. */
    program_expect(
        p, 0, NULL,
        NUMBERS "here=$PWD; mkdir bin && ln -s $A bin/ascribe && cd / && PATH=$here/bin:$PATH $here/a.sh "
                "--quiet --json $here/d.json && cd $here && numbers d && cmp a d && grep -q '<html' a.html");
    /* The printed attribution is explain's, but for times. */
    program_expect(
        p, 0, NULL,
        "printf 'The capital of France is\\n' | $A shell $L --set generate=5 | sed -n '/^Model/,$p' "
        "| grep -v ^Cost | grep -v computed >x; $A explain $L --prompt 'The capital of France is' --generate "
        "5 | "
        "grep -v ^Cost | grep -v computed >y; cmp x y");
}

static void test_methods_and_targets(void **state) {
    static const char *const cases[][2] = {
        {":method integrated-gradients\\n:target \" the\"\\nA b c",
         "--prompt 'A b c' --target ' the' --method integrated-gradients"},
        {":method saliency\\n:features token\\nA b c",
         "--prompt 'A b c' --generate 3 --method saliency --features token"},
        {":target \" the\"\\n:versus \" of\"\\nA b c", "--prompt 'A b c' --target ' the' --versus ' of'"},
        {":output kl\\nA b c", "--prompt 'A b c' --output kl"},
        {":baseline token:5\\n:method lime\\n:set seed 3\\nA b c",
         "--prompt 'A b c' --generate 3 --method lime --baseline token:5 --seed 3"},
        {":set question \" why\"\\nA b c", "--prompt 'A b c' --question ' why' --generate 3"},
        {":method lime\\nA b c\\n:method feature-ablation\\n:again", "--prompt 'A b c' --generate 3"},
        {":method lime\\nA b c\\n:undo\\n:undo\\nA b c", "--prompt 'A b c' --generate 3"},
        {"A b\\\\\\nc", "--prompt 'A b\nc' --generate 3"},
        {"\"\"\"\\nA b\\\\\\nc\\n\"\"\"", "--prompt 'A b\\\nc' --generate 3"},
    };
    program *p = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[2000];
        snprintf(command, sizeof command,
                 NUMBERS "printf '%s\\n:save a.json\\n' | $A shell $L --set generate=3 --quiet >said && "
                         "$A explain $L %s --json b.json --quiet && numbers a && numbers b && cmp a b",
                 cases[i][0], cases[i][1]);
        program_expect(p, 0, NULL, command);
    }
}

/* Drawn answers: the same tokens as `ascribe generate` draws, a script that explains them again, and another
 * seed's are others. */
static void test_drawn_answers(void **state) {
    program *p = *state;
    program_expect(
        p, 0, NULL,
        NUMBERS
        "mkdir -p bin; ln -sf $A bin/ascribe; printf ':temperature 1.5\\n:top-p 0.95\\n:top-k 40\\n:seed 7\\n"
        "The capital of\\n:save a.json\\n:save a.sh\\n:seed 8\\nThe capital of\\n:save c.json\\n' | "
        "$A shell $L --set generate=6 --quiet >said && "
        "$A generate $L --prompt 'The capital of' --generate 6 --temperature 1.5 --top-p 0.95 --top-k 40 "
        "--seed "
        "7 --json g.json --quiet && "
        "ids() { tr -d '\\n ' <$1 | grep -o \"\\\"$2\\\":.[0-9,]*\" | sed 's/.*\\[//'; }; "
        "ids g.json ids >g && ids a.json ids | sed -n 2p >t && test -s t && cmp g t && "
        "ids c.json ids | sed -n 2p >u && ! cmp -s t u && "
        "PATH=$PWD/bin:$PATH ./a.sh --quiet --json b.json && numbers a && numbers b && cmp a b");
    /* The same from options, and from --set. */
    program_expect(p, 0, NULL,
                   NUMBERS
                   "printf 'The capital of\\n:save d.json\\n' | $A shell $L --set generate=6 --quiet "
                   "--temperature 1.5 --top-p 0.95 --top-k 40 --seed 7 >said && numbers d && cmp a d && "
                   "printf 'The capital of\\n:save e.json\\n' | $A shell $L --set generate=6 --quiet "
                   "--set temperature=1.5 --set top_p=0.95 --set top-k=40 --set seed=7 >said && numbers "
                   "e && cmp a e");
    program_expect(p, 0, NULL,
                   "printf ':temperature 0.5\\n:temperature\\n:set\\n:unset temperature\\n:undo\\n:set\\n' | "
                   "$A shell $L");
    assert_non_null(strstr(p->out, "temperature      0.5"));
    assert_non_null(strstr(p->out, "undone: temperature"));
}

/* A contrast's words are those of its answer by itself; what is one number has none. */
static void test_words_of_contrasts(void **state) {
    program *p = *state;
    program_expect(
        p, 0, NULL,
        "C=':target \" the end\"\\nA b c\\n:matrix\\n:word end'; printf \"$C\\n\" | $A shell $L | "
        "sed -n '/Total/,$p' | sed '1,/computed/d' >x; "
        "printf ':versus \" of\"\\n'\"$C\\n:save v.json\\n\" | $A shell $L >all; "
        "sed -n '/Total/,$p' all | sed '1,/computed/d' >y; grep -q 'by itself' y && "
        "grep -v -e 'by itself' -e wrote y >z; test -s x && cmp x z && grep -q '\"versus\"' v.json");
    program_expect(p, 1, "one number", "printf ':output kl\\nA b\\n:matrix\\n' | $A shell $L");
}

static void test_errors(void **state) {
    program *p = *state;
    program_expect(p, 1, "line 2: there is no command ':bogus'",
                   "printf ':model\\n:bogus\\n:model\\n' | $A shell $L");
    assert_non_null(strstr(strstr(p->out, "architecture") + 1, "architecture")); /* it went on */
    static const char *const cases[][2] = {
        {":set stepz 3", "line 1: there is no key 'stepz'; did you mean 'steps'?"},
        {":set steps x", "\"steps\""},
        {":set image a.png", "means nothing for this kind of model"},
        {":method nonsense", "nonsense"},
        {":load-picture a.png", "means nothing for this kind of model"},
        {":again", "nothing to explain yet"},
        {":show", "no attribution yet"},
        {":save x.json", "no attribution yet"},
        {":undo", "nothing to undo"},
        {":redo", "nothing to redo"},
        {":chat on", "no chat template"},
        {":word", "no attribution yet"},
        {":s", "several commands"},
        {":unset steps", "steps is not set"},
        {":set", NULL},
        {"\"\"\"\\nnever ended", "ends inside a prompt"},
        {"a \\377 b", "not UTF-8"},
        {":sites nonsense", "no inner value"},
        {"a b\\n:save $L", "does not say what to write"},
        {"a b\\n:save none/x.json", "line 2:"},
        {"a b\\n:word nonsense", "'nonsense'"},
        {"a b\\n:compare nonsense", "nonsense"},
        {":target \"x", "JSON string"},
        {":temperature hot", "temperature: 'hot' is not from 0 to 100"},
        {":temperature -1", "is not from 0 to 100"},
        {":top-p 1.5", "is not from 0 to 1"},
        {":top-k 1.5", "is not a whole number"},
        {":unset top_p", "top_p is not set"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[1000];
        snprintf(command, sizeof command, "printf '%s\\n' | $A shell $L --set generate=2", cases[i][0]);
        program_expect(p, cases[i][1] != NULL, cases[i][1], command);
    }
    program_expect(p, 3, "none.gguf", "echo a | $A shell none.gguf");
    program_expect(p, 2, "stepz", "echo a | $A shell $L --set stepz=3");
    program_expect(p, 2, "no =", "echo a | $A shell $L --set steps");
    program_expect(p, 1, "cannot be read", "$A shell $L </");
    program_expect(p, 0, NULL, "printf '' | $A shell $L");
    program_expect(p, 0, NULL, "printf ':model\\r\\n:quit\\nnever' | $A shell $L");
    /* A model that is replaced while it is used. */
    program_expect(p, 1, "since the model was opened",
                   "cp $L m.gguf; { echo a b; until grep -q Cost said; do sleep 0.02; done; cp $L n.gguf; mv "
                   "n.gguf m.gguf; echo c d; } | $A shell m.gguf --set generate=1 >said");
}

static void test_words_and_matrix(void **state) {
    program *p = *state;
    program_expect(
        p, 0, NULL,
        "printf 'The capital of France\\n:word 1\\n:word France\\n:matrix\\n:history\\n:time\\n' | "
        "$A shell $L --set generate=4");
    assert_non_null(strstr(p->out, "What drove"));
    assert_non_null(strstr(p->out, "What was driven by \"France\""));
    assert_null(strchr(p->out, '\x1b'));
    /* Gradients: the matrix is made when somebody wants it, with the same numbers. */
    program_expect(p, 0, NULL,
                   "printf ':method input-x-gradient\\nThe capital of France\\n:word 1\\n' | "
                   "$A shell $L --set generate=4 | grep -q 'What drove'");
    program_expect(
        p, 0, NULL,
        "printf ':output kl\\nThe capital\\n:word capital\\n' | $A shell $L | grep -q 'was driven'");
}

static void test_files_and_quiet(void **state) {
    program *p = *state;
    program_expect(p, 1, "is the model",
                   "cp $L m.json; printf 'a b\\n:save m.json\\n' | $A shell m.json --set generate=1");
    program_expect(p, 0, NULL, "cmp $L m.json");
    program_expect(p, 0, NULL,
                   "printf ':set method lime\\n:method saliency\\n:undo\\n:undo\\n:redo\\n:set\\n' | $A "
                   "shell $L >o && grep -q "
                   "'undone: method' o && grep -q 'method *lime' o");
    program_expect(
        p, 0, NULL,
        "printf ':tokens \"The capital\"\\n:help\\n:help set\\n:help steps\\n:sites out\\n' | $A shell $L");
    assert_non_null(strstr(p->out, "key steps (count)"));
    /* Nothing typed here is kept. */
    program_expect(
        p, 0, NULL,
        "export XDG_STATE_HOME=$PWD/state; echo a | $A shell $L --set generate=1 >o; [ ! -e state ]");
}

static void put64(FILE *f, uint64_t v) { fwrite(&v, sizeof v, 1, f); }

/* chat.gguf: the small model with a template. One more key before the others, as long as a multiple of the
 * file's alignment, moves everything behind it by so much. */
static void make_chat_model(program *p) {
    static const char name[] = "tokenizer.chat_template";
    static const char begin[] =
        "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:{#";
    char template[320], path[512];
    size_t n = 0, text = 256 - 8 - strlen(name) - 4 - 8;
    uint64_t keys;
    const uint32_t string = 8;
    program_run(p, "echo $L");
    char *source = strndup(p->out, strcspn(p->out, "\n")), *all = program_slurp(source, &n);
    assert_non_null(all);
    memset(template, ' ', sizeof template);
    memcpy(template, begin, strlen(begin));
    memcpy(template + text - 2, "#}", 2);
    snprintf(path, sizeof path, "%s/chat.gguf", p->folder);
    FILE *f = fopen(path, "wb");
    memcpy(&keys, all + 16, sizeof keys);
    keys++;
    memcpy(all + 16, &keys, sizeof keys);
    fwrite(all, 1, 24, f);
    put64(f, strlen(name));
    fwrite(name, 1, strlen(name), f);
    fwrite(&string, sizeof string, 1, f);
    put64(f, text);
    fwrite(template, 1, text, f);
    fwrite(all + 24, 1, n - 24, f);
    assert_int_equal(fclose(f), 0);
    free(all);
    free(source);
}

/* A conversation goes into the next question, and into a script. */
static void test_conversation(void **state) {
    program *p = *state;
    make_chat_model(p);
    program_expect(p, 0, NULL,
                   NUMBERS "printf ':system Be short.\\nHello there\\n:save a.json\\n' | $A shell chat.gguf "
                           "--set generate=3 --quiet >o && "
                           "$A explain chat.gguf --system 'Be short.' --user 'Hello there' --generate 3 "
                           "--quiet --json b.json && "
                           "numbers a && numbers b && cmp a b");
    program_expect(
        p, 0, NULL,
        NUMBERS
        "ln -sf $A bin/ascribe; printf ':system Be short.\\nHello there\\nAnd you?\\n:save a.json\\n:save "
        "a.sh\\n:undo\\n"
        "And you?\\n:save c.json\\n:new\\nAnd you?\\n:save d.json\\n:chat off\\nAnd you?\\n:save e.json\\n' "
        "| "
        "$A shell chat.gguf --set generate=3 --quiet >o && grep -q '\"assistant\"' a.sh && "
        "PATH=$PWD/bin:$PATH ./a.sh --quiet --json b.json && for i in a b c d e; do numbers $i; done && "
        "cmp a b && cmp a c && ! cmp -s a d && ! cmp -s d e");
    program_expect(p, 0, NULL,
                   NUMBERS "$A explain chat.gguf --prompt 'And you?' --generate 3 --quiet --json f.json && "
                           "numbers f && cmp e f");
    /* Answers that were set are what the conversation goes on from; written down by hand it is the same. */
    program_expect(p, 0, NULL,
                   NUMBERS "printf ':system Be short.\\n:target \" Fine.\"\\nHello\\n:target \" "
                           "Well.\"\\nAnd you?\\n:unset target\\n"
                           "Bye\\n:save a.json\\n' | $A shell chat.gguf --set generate=3 --quiet >o && "
                           "echo '[{\"role\": \"system\", \"content\": \"Be short.\"}, {\"role\": \"user\", "
                           "\"content\": \"Hello\"}, "
                           "{\"role\": \"assistant\", \"content\": \" Fine.\"}, {\"role\": \"user\", "
                           "\"content\": \"And you?\"}, "
                           "{\"role\": \"assistant\", \"content\": \" Well.\"}, {\"role\": \"user\", "
                           "\"content\": \"Bye\"}]' >c.json && "
                           "$A explain chat.gguf --chat c.json --generate 3 --quiet --json b.json && numbers "
                           "a && numbers b && cmp a b");
}

static void test_nets(void **state) {
    program *p = *state;
    static const char net[] =
        NUMBERS "M=$Z/../../onnx/simple/test_single_relu_model/model.onnx; printf 'a,b\\n3,-2\\n' >r.csv; "
                "mkdir -p bin; ln -sf $A bin/ascribe; ";
    char command[2000];
    snprintf(
        command, sizeof command,
        "%sprintf ':method saliency\\n:input r.csv\\n:save a.json\\n:save a.sh\\n' | $A shell $M --quiet >o "
        "&& "
        "PATH=$PWD/bin:$PATH ./a.sh --quiet --json b.json && $A explain $M --input r.csv --method saliency "
        "--quiet --json c.json && "
        "for i in a b c; do grep -o '\"data\": *.[^]]*' $i.json >$i; test -s $i; done && cmp a b && cmp a c",
        net);
    program_expect(p, 0, NULL, command);
    snprintf(command, sizeof command,
             "%sprintf ':input [[3,-2]]\\n:compare saliency\\n:method\\n:show\\n:history\\n:model\\n' | $A "
             "shell $M",
             net);
    program_expect(p, 0, NULL, command);
    assert_non_null(strstr(p->out, "the same"));
    assert_non_null(strstr(p->out, "* integrated-gradients"));
    snprintf(command, sizeof command, "%sprintf ':input [[3,-2]]\\n:save x.sh\\n' | $A shell $M", net);
    program_expect(p, 1, "no option", command);
    snprintf(command, sizeof command, "%sprintf 'hello\\n' | $A shell $M", net);
    program_expect(p, 1, "pictures or arrays", command);
    snprintf(command, sizeof command, "%sprintf ':load-picture none.png\\n' | $A shell $M", net);
    program_expect(p, 1, "none.png", command);
    snprintf(command, sizeof command, "%sprintf ':again\\n:undo\\n' | $A shell $M", net);
    program_expect(p, 1, "line 1:", command);
    program_expect(
        p, 0, NULL,
        "E=$Z/../../encoders; printf ':method saliency\\n:set target 1\\n:load-picture %s\\n:save a.json\\n' "
        "$Z/../../image/grey.png | $A shell $E/deit --quiet >o; $A explain $E/deit --image "
        "$Z/../../image/grey.png --target 1 "
        "--method saliency --quiet --json b.json; for i in a b; do grep -o '\"data\": *.[^]]*' $i.json >$i; "
        "test -s $i; done; cmp a b");
}

/* Files by their names: labels, masks, homes; and what no command line can say. */
static void test_files_of_keys(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL,
                   "M=$Z/../../onnx/simple/test_single_relu_model/model.onnx; mkdir -p bin home; ln -sf $A "
                   "bin/ascribe; printf 'a,b\\n3,-2\\n' "
                   ">home/r.csv; printf 'cat\\ndog\\n' >labels.txt; export HOME=$PWD/home; printf ':set "
                   "labels labels.txt\\n:method "
                   "saliency\\n:input ~/r.csv\\n:set\\n:save ~/a.sh\\n:save ~/a.json\\n' | $A shell $M >o && "
                   "grep -q cat o && grep -q "
                   "'labels *labels.txt' o && PATH=$PWD/bin:$PATH home/a.sh --json b.json >o && grep -q cat "
                   "o && cp home/a.json . && for i in a "
                   "b; do grep -o '\"data\": *.[^]]*' $i.json >$i; test -s $i; done && cmp a b");
    program_expect(p, 1, "no option",
                   "M=$Z/../../onnx/simple/test_single_relu_model/model.onnx; printf ':set labels [\"x\", "
                   "\"y\"]\\n:input home/r.csv\\n:save "
                   "a.sh\\n' | $A shell $M");
    program_expect(p, 1, "none.txt",
                   "M=$Z/../../onnx/simple/test_single_relu_model/model.onnx; echo ':set labels none.txt' | "
                   "$A shell $M");
}

/* Two inputs, one after the other; files that were set anew since belong to another question. */
static void test_two_inputs(void **state) {
    program *p = *state;
    static const char net[] =
        "M=$Z/../../onnx/node/test_matmul_2d/model.onnx; mkdir -p bin; ln -sf $A bin/ascribe; printf "
        "'p,q,r,s\\n1,2,3,4\\n5,6,7,8\\n0,1,0,2\\n' >a.csv; printf "
        "'p,q,r\\n1,2,3\\n4,5,6\\n7,8,9\\n1,0,1\\n' >b.csv; ";
    char command[2000];
    snprintf(command, sizeof command,
             "%sprintf ':method saliency\\n:set no_batch on\\n:input a=a.csv\\n:input b=b.csv\\n:save "
             "a.json\\n:save a.sh\\n' | $A "
             "shell $M --quiet >o && PATH=$PWD/bin:$PATH ./a.sh --quiet --json b.json && for i in a b; do "
             "grep -o '\"data\": "
             "*.[^]]*' $i.json >$i; test -s $i; done && cmp a b",
             net);
    program_expect(p, 0, NULL, command);
    snprintf(command, sizeof command, "%sprintf ':input 1\\n' | $A shell $M", net);
    program_expect(p, 1, "2 inputs: write NAME=FILE", command);
    snprintf(command, sizeof command,
             "%sprintf ':set no_batch on\\n:method saliency\\n:input a=a.csv\\n:input b=b.csv\\n:set input "
             "{\"a\": 1, \"b\": "
             "2}\\n:save a.sh\\n' | $A shell $M",
             net);
    program_expect(p, 1, "line ", command);
}

static void test_encoders(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL,
                   NUMBERS
                   "E=$Z/../../encoders; printf ':features token\\n5,9,30,3\\n:label "
                   "LABEL_0\\n:again\\n:save a.json\\n:word 1\\n' | "
                   "$A shell $E/electra --quiet >o && $A explain $E/electra --ids 5,9,30,3 --features token "
                   "--label LABEL_0 --quiet "
                   "--json b.json && numbers a && numbers b && cmp a b && grep -q 'drove \"LABEL_0\"' o");
    program_expect(p, 0, NULL,
                   NUMBERS
                   "W=$Z/../../encoders/heads/bert-words; T='a [MASK] film about rain'; printf ':target "
                   "great\\n'\"$T\"'\\n:save c.json\\n' | $A shell $W --quiet >o && $A explain $W --text "
                   "\"$T\" --target great --quiet --json d.json && numbers c && numbers d && cmp c d");
    program_expect(p, 1, "no classes", "E=$Z/../../encoders; echo 5,9 | $A shell $E/mpnet");
    program_expect(p, 1, "kind of model", "E=$Z/../../encoders; echo :chat on | $A shell $E/mpnet");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits),
                                       cmocka_unit_test(test_methods_and_targets),
                                       cmocka_unit_test(test_drawn_answers),
                                       cmocka_unit_test(test_words_of_contrasts),
                                       cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_words_and_matrix),
                                       cmocka_unit_test(test_files_and_quiet),
                                       cmocka_unit_test(test_conversation),
                                       cmocka_unit_test(test_nets),
                                       cmocka_unit_test(test_two_inputs),
                                       cmocka_unit_test(test_files_of_keys),
                                       cmocka_unit_test(test_encoders)};
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
