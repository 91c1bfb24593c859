/* shell_parts.h - what the parts of the shell share: its state, what it says, how it asks. */
#ifndef SHELL_PARTS_H
#define SHELL_PARTS_H

#include "commands.h"
#include "past.h"
#include "shell.h"
#include "terminal.h"

enum { ANSWER_TOKENS = 32 }; /* of an answer, without `generate` */

struct shell {
    asc_ctx *ctx;
    const shell_options *o;
    asc_subject *subject;
    unsigned kind; /* ASC_KEY_PROMPTS, _ENCODERS or _NETS */
    shell_past past;
    terminal terminal;
    asc_text *out; /* what is being said: shell_flush */
    size_t line;   /* number of the line that is being read, from 1 */
    bool quit, failed;
};

/* ---- shell_say.c ------------------------------------------------------------------------------------- */

/* What is in s->out goes to standard output. */
void shell_flush(shell *s);
/* Say an error, with the line's number unless somebody types; return false. */
bool shell_fail(shell *s, const char *hint, const char *fmt, ...) ASC_PRINTF(3, 4);
bool shell_error(shell *s, asc_status st); /* the context's */
/* Of this moment: a window may have changed its size. */
asc_report_style shell_style(const shell *s);
/* Says so where the scores of words are not those of the contrast that was asked. */
void shell_say_whose_words(shell *s, const turn *t);
/* What a setting stands for; NULL: not set. Names of the shell's own begin with a colon: ":chat", ":system",
 * ":from" (key -> list of the words that filled it). */
json_t *shell_setting(const shell *s, const char *name);

/* ---- shell_ask.c ------------------------------------------------------------------------------------- */

/* A prompt was typed: answers, explains, and makes a moment of it. */
bool shell_prompt(shell *s, asc_view text);
/* Nets: the inputs that are set, explained. `name` is what they are called in the history. */
bool shell_explain_inputs(shell *s, asc_view name);
/* The last prompt and answer explained with the settings of now. */
bool shell_again(shell *s);
/* Asks `asked` and gives t question and answer (those it had are destroyed). False: nothing changed, an error
 * was said unless `quiet`. */
bool shell_ask(shell *s, turn *t, json_t *asked, bool quiet);
/* Makes sure the turn has scores of each answer token, if that can be; false: it has not. */
bool shell_need_matrix(shell *s, turn *t);
/* Where these are: the turn itself, or of a contrast the question about its answer alone. */
const turn *shell_words_of(const turn *t);
/* Can a question with these settings be read, as far as it can be said without a prompt? Says why not. */
bool shell_try_settings(shell *s, json_t *settings);
/* The last turn that has an attribution; NULL with an error said. */
turn *shell_last_explained(shell *s);
/* The attribution as text, all rows or the largest. */
void shell_put_result(shell *s, const turn *t, bool all);
const asc_tokenizer *shell_tokenizer(const shell *s); /* NULL: a net */

/* ---- do_word.c --------------------------------------------------------------------------------------- */

/* Words are chosen with keys until somebody leaves; needs a terminal that is able. */
bool shell_choose(shell *s);

/* ---- do_sampling.c ----------------------------------------------------------------------------------- */

/* How tokens of an answer are drawn: name i as commands spell it, NULL past the last; the setting of a name
 * (- and _ are the same), NULL: it is none. */
const char *shell_drawing_name(size_t i);
const char *shell_drawing_setting(asc_view name);
/* Sets one of them from words; says why not. */
bool shell_set_drawing(shell *s, asc_view name, asc_view text);
/* What is set, into o. */
void shell_put_drawing(const shell *s, asc_generate_options *o);

/* ---- script.c ---------------------------------------------------------------------------------------- */

/* A script for sh that makes the turn's attribution again. */
bool shell_script(shell *s, const turn *t, asc_text *out);

#define SHELL_COMMAND(function, name, args, key, subjects, offer, doc)                                       \
    bool do_##function(shell *s, const shell_command *c, asc_view rest);
#include "commands.def"
#undef SHELL_COMMAND

#endif
