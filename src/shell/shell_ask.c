/* shell_ask.c - from a prompt to its answer and its attribution. The shell makes a question of what is typed
 * and set (ascribe/ask.h); the tokens that are continued are those of that question, so that answer and
 * attribution cannot speak of different prompts. */
#include "ascribe/chat.h"
#include "settings.h"
#include "shell_parts.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const asc_tokenizer *shell_tokenizer(const shell *s) {
    asc_model *m = asc_subject_model(s->subject);
    return m != NULL ? asc_model_tokenizer(m) : NULL;
}

/* ---- questions ---- */

/* Keys of the settings that go into every question: not the shell's own, and not the length of an answer,
 * which the shell makes itself. */
static json_t *base_question(json_t *settings) {
    json_t *q = json_object(), *value;
    const char *key;
    json_object_foreach(settings, key, value) {
        if (key[0] != ':' && strcmp(key, "generate") != 0) json_object_set(q, key, value);
    }
    return q;
}

static json_t *message(const char *role, const char *text, size_t len) {
    return json_pack("{s:s, s:o}", "role", role, "content", json_stringn(text, len));
}

/* The conversation so far, oldest first, and what was typed now. One message without a past is the key that
 * the command line has, too. */
static void put_conversation(const shell *s, const turn *t, json_t *q) {
    const json_t *system = shell_setting(s, ":system");
    if (t->before == NULL || !t->before->chat) {
        if (system != NULL) json_object_set(q, "system", shell_setting(s, ":system"));
        json_object_set_new(q, "user", json_stringn(t->prompt, t->prompt_len));
        return;
    }
    json_t *list = json_array();
    if (system != NULL)
        json_array_append_new(list, message("system", json_string_value(system), json_string_length(system)));
    size_t first = json_array_size(list);
    json_array_append_new(list, message("user", t->prompt, t->prompt_len));
    for (const turn *b = t->before; b != NULL && b->chat; b = b->before) {
        json_array_insert_new(list, first, message("assistant", b->said != NULL ? b->said : "", b->said_len));
        json_array_insert_new(list, first, message("user", b->prompt, b->prompt_len));
    }
    json_object_set_new(q, "messages", list);
}

static json_t *question_of(const shell *s, const turn *t) {
    json_t *q = base_question(past_now(&s->past)->settings);
    if (s->kind == ASC_KEY_NETS) return q;
    if (t->chat)
        put_conversation(s, t, q);
    else if (strcmp(asc_tokenizer_get_info(shell_tokenizer(s)).model, "ids") ==
             0) /* no texts: their numbers */
        json_object_set_new(q, "ids", settings_ids((asc_view){t->prompt, t->prompt_len}));
    else
        json_object_set_new(q, "prompt", json_stringn(t->prompt, t->prompt_len));
    return q;
}

static asc_status parse(shell *s, json_t *q, asc_question **out) {
    char *text = json_dumps(q, JSON_COMPACT | JSON_REAL_PRECISION(17));
    *out = NULL;
    if (text == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st = asc_question_parse(s->subject, (asc_view){text, strlen(text)}, NULL, 0, out);
    free(text);
    return st;
}

/* Is the answer given by the settings, or is there none? */
static bool has_target(const shell *s) {
    static const char *const keys[] = {"target", "target_ids", "neuron"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (shell_setting(s, keys[i]) != NULL) return true;
    }
    const json_t *output = shell_setting(s, "output");
    return json_is_string(output) && strcmp(json_string_value(output), "kl") == 0;
}

/* ---- the answer ---- */

typedef struct stream {
    shell *s;
    char last; /* byte that was written */
} stream;

/* On a terminal control characters are shown, not obeyed; line breaks stay. */
static void put(stream *st, asc_view v) {
    shell *s = st->s;
    if (v.len > 0) st->last = v.ptr[v.len - 1];
    if (!s->o->interactive) asc_text_add(s->out, v);
    for (size_t from = 0; s->o->interactive && from <= v.len;) {
        const char *nl = from < v.len ? memchr(v.ptr + from, '\n', v.len - from) : NULL;
        size_t end = nl != NULL ? (size_t)(nl - v.ptr) : v.len;
        asc_text_shown(s->out, (asc_view){v.ptr + from, end - from}, 0);
        if (nl != NULL) asc_text_adds(s->out, "\n");
        from = end + 1;
    }
    shell_flush(s);
}

static bool on_generated(void *self, const asc_generated *t) {
    put(self, t->text);
    return true;
}

/* The tokens of what a question puts before the model, as asc_explain makes them. */
static asc_status prompt_ids(shell *s, const asc_request *q, turn *t) {
    asc_model *m = asc_subject_model(s->subject);
    asc_chat_prompt chat = {0};
    asc_token *tokens = NULL;
    size_t n = q->n_prompt_ids;
    asc_status st = ASC_OK;
    if (q->n_messages > 0) {
        st = asc_chat_prompt_of(s->ctx, m, q, &chat);
        tokens = chat.tokens;
        n = chat.n_tokens;
    } else if (q->prompt_ids == NULL) {
        asc_tokenizer_info info = asc_tokenizer_get_info(asc_model_tokenizer(m));
        asc_tokenize_options o = {.struct_size = sizeof o, .add_bos_eos = true};
        st = asc_tokenize(s->ctx, asc_model_tokenizer(m), q->prompt, &o, &tokens, &n);
        if (info.add_eos && n > 0 && tokens[n - 1].id == info.eos) n--; /* the text is to be continued */
    }
    if (st == ASC_OK) {
        free(t->ids);
        t->ids = malloc((n + 1) * sizeof *t->ids);
        t->n_ids = n;
        if (t->ids == NULL) st = ASC_RESOURCE_EXHAUSTED;
        for (size_t i = 0; st == ASC_OK && i < n; i++)
            t->ids[i] = tokens != NULL ? tokens[i].id : q->prompt_ids[i];
    }
    if (q->n_messages > 0)
        asc_chat_prompt_free(s->ctx, &chat);
    else
        asc_tokens_free(s->ctx, tokens);
    return st;
}

/* The answer without its end mark, and its text. */
static asc_status keep_answer(shell *s, turn *t, size_t n) {
    asc_tokenizer_info info = asc_tokenizer_get_info(shell_tokenizer(s));
    size_t len = 0;
    if (n > 1 && (t->answer[n - 1] == info.eos || t->answer[n - 1] == info.eot)) n--;
    t->n_answer = n;
    for (size_t i = 0; i < n; i++) len += asc_token_piece(shell_tokenizer(s), t->answer[i]).len;
    free(t->said);
    t->said = malloc(len + 1);
    if (t->said == NULL) return ASC_RESOURCE_EXHAUSTED;
    t->said_len = 0;
    for (size_t i = 0; i < n; i++) {
        asc_view piece = asc_token_piece(shell_tokenizer(s), t->answer[i]);
        if (piece.len > 0) memcpy(t->said + t->said_len, piece.ptr, piece.len);
        t->said_len += piece.len;
    }
    t->said[t->said_len] = '\0';
    return ASC_OK;
}

/* The model's own answer, as it comes. */
static bool answer(shell *s, turn *t, json_t *q) {
    json_int_t most = ANSWER_TOKENS;
    stream out = {.s = s, .last = '\n'};
    asc_question *question = NULL;
    size_t n = 0;
    json_t *set = shell_setting(s, "generate");
    if (json_is_integer(set) && json_integer_value(set) > 0 && json_integer_value(set) <= 1000000)
        most = json_integer_value(set);
    double begun = now();
    asc_generate_options o = {
        .struct_size = sizeof o, .max_tokens = (size_t)most, .on_generated = on_generated, .self = &out};
    shell_put_drawing(s, &o);
    terminal_work_begins(&s->terminal);
    asc_status st = parse(s, q, &question);
    if (st == ASC_OK) st = prompt_ids(s, asc_question_request(question), t);
    free(t->answer);
    t->answer = malloc((size_t)most * sizeof *t->answer);
    if (st == ASC_OK && t->answer == NULL) st = ASC_RESOURCE_EXHAUSTED;
    if (st == ASC_OK) st = asc_generate(asc_subject_model(s->subject), t->ids, t->n_ids, &o, t->answer, &n);
    t->answer_seconds = now() - begun;
    if (out.last != '\n') asc_text_adds(s->out, "\n");
    if (st == ASC_OK) asc_text_adds(s->out, "\n");
    shell_flush(s);
    terminal_work_ends(&s->terminal);
    if (st == ASC_OK) st = keep_answer(s, t, n);
    asc_question_destroy(question);
    return st == ASC_OK || shell_error(s, st);
}

/* ---- the attribution ---- */

bool shell_ask(shell *s, turn *t, json_t *asked, bool quiet) {
    asc_question *q = NULL;
    asc_answer *a = NULL;
    double begun = now();
    terminal_work_begins(&s->terminal);
    asc_status st = asc_subject_check_file(s->subject);
    if (st == ASC_OK) st = parse(s, asked, &q);
    if (st == ASC_OK) st = asc_ask(s->subject, q, &a);
    if (s->o->clear_progress != NULL) s->o->clear_progress();
    if (st != ASC_OK && (!quiet || st == ASC_CANCELLED)) shell_error(s, st);
    terminal_work_ends(&s->terminal);
    if (st != ASC_OK) {
        asc_question_destroy(q);
        return false;
    }
    asc_answer_destroy(t->result);
    asc_question_destroy(t->question);
    json_decref(t->asked);
    t->result = a;
    t->question = q;
    t->asked = json_incref(asked);
    t->explain_seconds = now() - begun;
    return true;
}

/* Scores of each answer token cost next to nothing where prompts are run anyway; where each token takes a
 * backward pass of its own, they wait until somebody wants them. */
static bool matrix_is_cheap(const shell *s, json_t *q) {
    static const char *const not_with[] = {"per_token", "versus", "versus_ids", "layers", "neuron", "span"};
    const char *method = json_string_value(json_object_get(q, "method"));
    const char *output = json_string_value(json_object_get(q, "output"));
    for (size_t i = 0; i < sizeof not_with / sizeof *not_with; i++) {
        if (json_object_get(q, not_with[i]) != NULL) return false;
    }
    if (s->kind != ASC_KEY_PROMPTS || (output != NULL && strcmp(output, "kl") == 0)) return false;
    int i = asc_method_find(method != NULL ? method : "feature-ablation");
    return i >= 0 && !asc_method_traits_at((size_t)i).by_gradient;
}

static bool ask_with_matrix(shell *s, turn *t, json_t *q, bool quiet) {
    json_t *with = json_copy(q);
    json_object_set_new(with, "per_token", json_true());
    bool ok = shell_ask(s, t, with, quiet);
    json_decref(with);
    return ok;
}

/* Fills in question and answer of t. */
static bool explain(shell *s, turn *t) {
    json_t *q = question_of(s, t);
    if (t->n_answer > 0 && !has_target(s)) {
        json_t *ids = json_array();
        for (size_t i = 0; i < t->n_answer; i++) json_array_append_new(ids, json_integer(t->answer[i]));
        json_object_set_new(q, "target_ids", ids);
    }
    asc_error_clear(s->ctx);
    bool ok = matrix_is_cheap(s, q) && ask_with_matrix(s, t, q, true);
    if (!ok && asc_error_code(s->ctx) != ASC_CANCELLED) ok = shell_ask(s, t, q, false);
    json_decref(q);
    const asc_result *r = ok ? asc_answer_result(t->result) : NULL;
    if (r == NULL || t->said != NULL || r->target == NULL) return ok;
    t->said = malloc(r->target_len + 1); /* an answer that was set: what a conversation goes on from */
    if (t->said != NULL) {
        memcpy(t->said, r->target, r->target_len + 1);
        t->said_len = r->target_len;
    }
    return ok;
}

static bool is_contrast(const turn *t) {
    return json_object_get(t->asked, "versus") != NULL || json_object_get(t->asked, "versus_ids") != NULL;
}

/* Tokens of two answers have no pairs, so that a contrast has no scores of single ones; its answer has. */
static bool need_words(shell *s, turn *t) {
    turn *one = t->words == NULL ? turn_create() : NULL;
    json_t *asked = one != NULL ? json_copy(t->asked) : NULL;
    if (t->words != NULL) return true;
    json_object_del(asked, "versus");
    json_object_del(asked, "versus_ids");
    bool ok = one != NULL && asked != NULL && ask_with_matrix(s, one, asked, true) &&
              asc_answer_result(one->result)->n_matrix > 0;
    json_decref(asked);
    if (ok)
        t->words = one;
    else
        turn_release(one);
    return ok;
}

bool shell_need_matrix(shell *s, turn *t) {
    const asc_result *r = asc_answer_result(t->result);
    if (r == NULL || s->kind != ASC_KEY_PROMPTS) return false;
    if (r->n_matrix > 0) return true;
    if (is_contrast(t)) return need_words(s, t);
    return ask_with_matrix(s, t, t->asked, true) && asc_answer_result(t->result)->n_matrix > 0;
}

const turn *shell_words_of(const turn *t) { return t->words != NULL ? t->words : t; }

void shell_put_result(shell *s, const turn *t, bool all) {
    asc_report_style style = shell_style(s);
    const asc_result *r = asc_answer_result(t->result);
    if (all) style.rows = 0;
    if (r != NULL && r->n_matrix > 0 && shell_setting(s, "per_token") == NULL && !all) {
        asc_result shown = *r; /* the matrix is for choosing words: :matrix and :show all print it */
        shown.matrix = shown.matrix_errors = NULL;
        shown.n_matrix = 0;
        asc_report rep = {.request = asc_question_request(t->question),
                          .result = &shown,
                          .tokenizer = shell_tokenizer(s),
                          .weights = s->o->model.weights};
        asc_report_text(s->out, &rep, &style);
    } else {
        asc_answer_text(t->result, s->out, &style);
    }
    shell_flush(s);
}

/* Answers, explains, shows; the turn is kept also when only the answer came. Takes t. */
static bool run_turn(shell *s, turn *t) {
    bool ok = true;
    if (s->kind == ASC_KEY_PROMPTS && t->n_answer == 0 && !has_target(s)) {
        json_t *q = question_of(s, t);
        ok = answer(s, t, q);
        json_decref(q);
    }
    if (ok) {
        ok = explain(s, t);
        if (ok) shell_put_result(s, t, false);
        past_push(&s->past, json_incref(past_now(&s->past)->settings), t);
    }
    turn_release(t);
    return ok;
}

static turn *new_turn(shell *s, asc_view text) {
    turn *t = turn_create();
    if (t != NULL) t->prompt = malloc(text.len + 1);
    if (t == NULL || t->prompt == NULL) {
        turn_release(t);
        shell_fail(s, "", "out of memory");
        return NULL;
    }
    if (text.len > 0) memcpy(t->prompt, text.ptr, text.len);
    t->prompt[text.len] = '\0';
    t->prompt_len = text.len;
    return t;
}

/* Chat is on where the model has a template, unless it was set. */
static bool chatting(const shell *s) {
    const json_t *set = shell_setting(s, ":chat");
    if (s->kind != ASC_KEY_PROMPTS) return false;
    if (set != NULL) return json_is_true(set);
    return asc_model_chat_template(asc_subject_model(s->subject)).len > 0;
}

bool shell_prompt(shell *s, asc_view text) {
    if (s->kind == ASC_KEY_NETS)
        return shell_fail(s, ":load-picture FILE or :input FILE; then :again, after settings",
                          "this net takes pictures or arrays, not text");
    json_t *checked = json_stringn(text.ptr, text.len);
    if (checked == NULL) return shell_fail(s, "write it as UTF-8", "this line is not UTF-8 text");
    json_decref(checked);
    turn *t = new_turn(s, text);
    if (t == NULL) return false;
    t->chat = chatting(s);
    t->before = turn_retain(past_now(&s->past)->last);
    return run_turn(s, t);
}

bool shell_explain_inputs(shell *s, asc_view name) {
    turn *t = new_turn(s, name);
    if (t == NULL) return false;
    t->before = turn_retain(past_now(&s->past)->last);
    return run_turn(s, t);
}

bool shell_again(shell *s) {
    const turn *last = past_now(&s->past)->last;
    if (last == NULL && s->kind == ASC_KEY_NETS) return shell_explain_inputs(s, (asc_view){"inputs", 6});
    if (last == NULL) return shell_fail(s, "type a prompt", "there is nothing to explain yet");
    turn *t = new_turn(s, (asc_view){last->prompt, last->prompt_len});
    if (t == NULL) return false;
    t->chat = last->chat;
    t->before = turn_retain(last->before);
    t->answer_seconds = last->answer_seconds;
    t->answer = malloc((last->n_answer + 1) * sizeof *t->answer);
    t->ids = malloc((last->n_ids + 1) * sizeof *t->ids);
    t->said = malloc(last->said_len + 1);
    if (t->answer == NULL || t->ids == NULL || t->said == NULL) {
        turn_release(t);
        return shell_fail(s, "", "out of memory");
    }
    if (last->n_answer > 0) memcpy(t->answer, last->answer, last->n_answer * sizeof *t->answer);
    if (last->n_ids > 0) memcpy(t->ids, last->ids, last->n_ids * sizeof *t->ids);
    if (last->said_len > 0) memcpy(t->said, last->said, last->said_len);
    t->said[last->said_len] = '\0';
    t->said_len = last->said_len;
    t->n_answer = last->n_answer;
    t->n_ids = last->n_ids;
    return run_turn(s, t);
}

/* An error that is there without the new settings too is not their fault. */
bool shell_try_settings(shell *s, json_t *settings) {
    char before[1200] = "";
    asc_question *q = NULL;
    json_t *old = base_question(past_now(&s->past)->settings), *fresh = base_question(settings);
    if (s->kind != ASC_KEY_NETS) {
        json_object_set_new(old, "prompt", json_string("a"));
        json_object_set_new(fresh, "prompt", json_string("a"));
    }
    asc_status was = parse(s, old, &q);
    if (was != ASC_OK) strncat(before, asc_error_message(s->ctx), sizeof before - 1);
    asc_question_destroy(q);
    asc_status st = parse(s, fresh, &q);
    asc_question_destroy(q);
    json_decref(old);
    json_decref(fresh);
    if (st == ASC_OK || (was != ASC_OK && strncmp(before, asc_error_message(s->ctx), sizeof before - 1) == 0))
        return true;
    return shell_error(s, st);
}

turn *shell_last_explained(shell *s) {
    turn *t = past_now(&s->past)->last;
    if (t != NULL && t->result != NULL) return t;
    shell_fail(s, s->kind == ASC_KEY_NETS ? ":load-picture FILE or :input FILE" : "type a prompt first",
               "there is no attribution yet");
    return NULL;
}
