/* test_ask_keys.c - the table of keys against the options of `ascribe explain`: every option is a key, or
 * stands here with the reason; and against itself. */
#include "ascribe/ask.h"
#include "../harness.h"

typedef enum command_id {
#define COMMAND(id, name, takes, least, most, doc) CMD_##id,
#include "../../src/cli/cmds.def"
#undef COMMAND
    N_COMMANDS
} command_id;

#define IN(command) (1u << CMD_##command)
#define SEVERAL 0u
#define EXPLAINING IN(explain)
#define PROMPTED IN(explain)
#define NETS IN(explain)
#define RUNNING IN(explain)
#define EVERY IN(explain)

static const struct {
    const char *name, *arg;
    unsigned commands;
} options[] = {
#define OPTION(id, name, arg, commands, group, doc) {name, arg, commands},
#include "../../src/cli/options.def"
#undef OPTION
};

static const struct {
    const char *option, *reason;
} exceptions[] = {
    {"prompt-file", "a file; the text itself is \"prompt\""},
    {"prompts", "many questions"},
    {"ask", "a file; the question itself"},
    {"out", "a file"},
    {"json", "a file"},
    {"html", "a file"},
    {"png", "a file"},
    {"profile", "files"},
    {"device", "of the context"},
    {"mode", "of the context"},
    {"precision", "of the context"},
    {"precision-at", "of the context"},
    {"force-int8", "of the context"},
    {"threads", "of the context"},
    {"isa", "of the context"},
    {"adapter", "of the model as it is opened"},
    {"weights", "of the model as it is opened"},
    {"quiet", "of the terminal"},
    {"no-color", "of the terminal"},
    {"help", "of the terminal"},
};

static const char *exception(const char *option) {
    for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
        if (strcmp(exceptions[i].option, option) == 0) return exceptions[i].reason;
    return NULL;
}

/* The option's name with _ for -, but for the conversation: a file there, messages here. */
static bool is_name_of(const char *key, const char *option) {
    if (strcmp(option, "chat") == 0) return strcmp(key, "messages") == 0;
    for (; *key != '\0' && *option != '\0'; key++, option++)
        if (*key != (*option == '-' ? '_' : *option)) return false;
    return *key == *option || (strcmp(key, "s") == 0 && *option == '\0'); /* several: an option each */
}

static void every_option_is_a_key(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if ((options[i].commands & IN(explain)) == 0) continue;
        bool found = false;
        for (size_t k = 0; asc_question_key_at(k) != NULL; k++)
            found = found || strcmp(asc_question_key_at(k)->option, options[i].name) == 0;
        if (found && exception(options[i].name) != NULL)
            fail_msg("--%s is a key and an exception", options[i].name);
        if (!found && exception(options[i].name) == NULL)
            fail_msg("--%s is neither a key nor an exception", options[i].name);
    }
}

static void every_key_is_sound(void **state) {
    (void)state;
    const unsigned all = ASC_KEY_PROMPTS | ASC_KEY_ENCODERS | ASC_KEY_NETS;
    for (size_t i = 0; asc_question_key_at(i) != NULL; i++) {
        const asc_question_key *k = asc_question_key_at(i);
        bool known = k->option[0] == '\0';
        assert_true(k->subjects != 0 && (k->subjects & ~all) == 0);
        assert_true(k->doc[0] != '\0' && strchr(k->doc, '\n') == NULL);
        assert_true(k->type != ASC_KEY_CHOICE || k->choices[0] != '\0');
        assert_string_not_equal(asc_key_type_name(k->type), "unknown");
        for (size_t o = 0; !known && o < sizeof options / sizeof *options; o++)
            known = (options[o].commands & IN(explain)) != 0 && strcmp(options[o].name, k->option) == 0;
        if (!known) fail_msg("\"%s\": there is no option --%s", k->name, k->option);
        if (k->option[0] != '\0' && !is_name_of(k->name, k->option))
            fail_msg("\"%s\" has another name than --%s", k->name, k->option);
        for (size_t n = i + 1; asc_question_key_at(n) != NULL; n++) {
            const asc_question_key *other = asc_question_key_at(n);
            if (strcmp(other->name, k->name) == 0 && (other->subjects & k->subjects) != 0)
                fail_msg("\"%s\" stands twice for one kind of model", k->name);
        }
    }
}

/* Choices are the option's, but for what only one kind of model takes. */
static void choices_are_the_options(void **state) {
    (void)state;
    for (size_t i = 0; asc_question_key_at(i) != NULL; i++) {
        const asc_question_key *k = asc_question_key_at(i);
        for (const char *p = k->choices; k->option[0] != '\0' && *p != '\0';) {
            size_t n = strcspn(p, "|");
            bool found = false;
            for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
                if (strcmp(options[o].name, k->option) != 0 || (options[o].commands & IN(explain)) == 0)
                    continue;
                const char *arg = options[o].arg;
                if (strchr(arg, '|') == NULL && strcmp(arg, "captum") != 0) found = true; /* any text */
                while (!found && *arg != '\0') {
                    size_t m = strcspn(arg, "|");
                    found = m == n && strncmp(arg, p, n) == 0;
                    arg += m + (arg[m] == '|');
                }
            }
            if (!found) fail_msg("--%s does not take %.*s", k->option, (int)n, p);
            p += n + (p[n] == '|');
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_option_is_a_key),
                                       cmocka_unit_test(every_key_is_sound),
                                       cmocka_unit_test(choices_are_the_options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
