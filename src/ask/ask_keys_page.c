/* ask_keys_page.c - docs/formats/question.md and `ascribe help question`, written from the table of keys. */
#include "ask_parts.h"

static const struct {
    asc_key_type type;
    const char *means;
} types[] = {
    {ASC_KEY_TEXT, "a string"},
    {ASC_KEY_CHOICE, "one of the strings that the table names; a part in capitals is any text"},
    {ASC_KEY_COUNT, "a whole number from 1 on"},
    {ASC_KEY_WHOLE, "a whole number from 0 on"},
    {ASC_KEY_NUMBER, "a finite number from 0 on; also a string as `\"1%\"`"},
    {ASC_KEY_BYTES, "a whole number from 1 on, or a string as `\"512M\"`, `\"2G\"`"},
    {ASC_KEY_BOOL, "`true` or `false`"},
    {ASC_KEY_IDS, "a list of token ids"},
    {ASC_KEY_TOKENS, "a list of token ids and of tokens' texts; one alone is a list of one"},
    {ASC_KEY_TEXTS, "a list of strings; one string is a list of one"},
    {ASC_KEY_MESSAGES,
     "a list of `{\"role\", \"content\"}`; content is a string or a list of `{\"type\": \"text\", "
     "\"text\"}`"},
    {ASC_KEY_VALUES,
     "an object by name or a list by place; each a string, or `{\"value\", \"baseline\", \"group\"}` "
     "(docs/questions.md)"},
    {ASC_KEY_PASSAGES, "a list of strings or of `{\"text\", \"label\"}`"},
    {ASC_KEY_SIZES, "a list of whole numbers from 1 on, one of them, or a string as `\"3x16x16\"`"},
    {ASC_KEY_INDEX,
     "a class by number or name, or an index as a list of numbers; a list of those: one for each "
     "example"},
    {ASC_KEY_ARRAY, "nested lists of numbers, one number, `{\"npy_b64\": TEXT}` (a .npy file as base64), or "
                    "`{\"array\": NAME}` (one that the calling program handed over)"},
    {ASC_KEY_ARRAYS,
     "an array for the first value, `{\"arrays\": [...]}` for all in their order, or an object by "
     "their names"},
    {ASC_KEY_PICTURE, "base64 of a PNG or JPEG file; a `data:` URL is taken too"},
    {ASC_KEY_BASE64, "base64 of any bytes"},
    {ASC_KEY_JSON, "a JSON value of the key's own form"},
    {ASC_KEY_RULES,
     "a string as the command line has it, or a list of `{\"rule\", \"op\", \"site\", \"a\", \"b\", "
     "\"no_bias\", \"first_layer\", \"last_layer\"}`; the first that fits an operator counts"},
};

/* In a table cell a bar must not end the cell. */
static void cell(asc_text *t, const char *s) {
    for (; *s != '\0'; s++) asc_text_addf(t, *s == '|' ? "\\%c" : "%c", *s);
}

static void rows(asc_text *t, unsigned subjects, bool exactly) {
    asc_text_adds(t, "| Key | Type | Meaning | Command line |\n|---|---|---|---|\n");
    for (size_t i = 0; asc_question_key_at(i) != NULL; i++) {
        const asc_question_key *k = asc_question_key_at(i);
        if (exactly ? k->subjects != subjects
                    : (k->subjects & subjects) == 0 ||
                          k->subjects == (ASC_KEY_PROMPTS | ASC_KEY_ENCODERS | ASC_KEY_NETS))
            continue;
        asc_text_addf(t, "| `%s` | %s | ", k->name, asc_key_type_name(k->type));
        if (!exactly && k->subjects == ASC_KEY_PROMPTS) asc_text_adds(t, "language models: ");
        if (!exactly && k->subjects == ASC_KEY_ENCODERS) asc_text_adds(t, "text encoders: ");
        cell(t, k->doc);
        if (k->choices[0] != '\0') {
            asc_text_adds(t, k->type == ASC_KEY_CHOICE ? "; one of `" : "; strings: `");
            cell(t, k->choices);
            asc_text_adds(t, "`");
        }
        asc_text_addf(t, k->option[0] != '\0' ? " | `--%s` |\n" : " | |\n", k->option);
    }
}

void asc_question_markdown(asc_text *t) {
    asc_text_adds(
        t,
        "# Questions as JSON\n\nWritten by `ascribe help question --markdown` from "
        "`src/ask/question_keys.def`; "
        "change that.\n\n"
        "What the server, Python, the shell and files of prompts (batch.md) ask is one JSON object. Its keys "
        "have the names of\n`ascribe explain`'s options with `_` for `-`. In C: `include/ascribe/ask.h`.\n\n"
        "    {\"prompt\": \"The capital of France is\", \"target\": \" Paris\", \"method\": "
        "\"integrated-gradients\"}\n\n"
        "A key that is unknown, that this kind of model does not know, or whose value has another type is an "
        "error that names it; so\nare keys that make no sense together, and one that stands twice. `null` is "
        "as "
        "good as leaving the key out. At most 64 MiB, lists\nand objects 32 deep. Answers: "
        "[result.md](result.md), of nets [net_result.md](net_result.md).\n\n"
        "## Every kind of model\n");
    rows(t, ASC_KEY_PROMPTS | ASC_KEY_ENCODERS | ASC_KEY_NETS, true);
    asc_text_adds(t, "\n## Language models and text encoders\n");
    rows(t, ASC_KEY_PROMPTS | ASC_KEY_ENCODERS, false);
    asc_text_adds(t, "\n## Nets\nONNX files, image classifiers' folders, nets built by a program.\n\n");
    rows(t, ASC_KEY_NETS, false);
    asc_text_adds(t, "\n## Types\n| Type | What is written |\n|---|---|\n");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        asc_text_addf(t, "| %s | %s |\n", asc_key_type_name(types[i].type), types[i].means);
}

void asc_question_help(asc_text *t) {
    static const struct {
        unsigned subjects;
        const char *head;
    } kinds[] = {{ASC_KEY_PROMPTS | ASC_KEY_ENCODERS | ASC_KEY_NETS, "Every kind of model"},
                 {ASC_KEY_PROMPTS | ASC_KEY_ENCODERS, "Language models and text encoders"},
                 {ASC_KEY_PROMPTS, "Language models"},
                 {ASC_KEY_ENCODERS, "Text encoders"},
                 {ASC_KEY_NETS, "Nets"}};
    asc_text_adds(t,
                  "A question is one JSON object: {\"prompt\": \"The capital of France is\", \"target\": \" "
                  "Paris\"}\n");
    for (size_t s = 0; s < sizeof kinds / sizeof *kinds; s++) {
        asc_text_addf(t, "\n%s\n", kinds[s].head);
        for (size_t i = 0; asc_question_key_at(i) != NULL; i++) {
            const asc_question_key *k = asc_question_key_at(i);
            if (k->subjects != kinds[s].subjects) continue;
            asc_text_addf(t, "  %-16s %s", k->name, asc_key_type_name(k->type));
            if (k->choices[0] != '\0') asc_text_addf(t, " %s", k->choices);
            asc_text_adds(t, "\n                   ");
            asc_text_wrap(t, k->doc, 19, 81);
        }
    }
}
