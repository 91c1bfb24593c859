/* do_settings.c - commands that change what is set: keys of the question, conversation, undo. */
#include "line.h"
#include "settings.h"
#include "shell_parts.h"
#include <stdlib.h>
#include <string.h>

/* The settings of now as a new object whose members may be replaced. */
static json_t *copy(const shell *s) { return json_copy(past_now(&s->past)->settings); }

static void keep(shell *s, json_t *take_settings) {
    past_push(&s->past, take_settings, past_now(&s->past)->last);
}

/* The files a key was filled from are forgotten with its value. */
static void forget_source(json_t *settings, const char *key) {
    json_t *from = json_copy(json_object_get(settings, ":from"));
    if (from == NULL) return;
    json_object_del(from, key);
    json_object_set_new(settings, ":from", from);
}

static void note_source(json_t *settings, const char *key, json_t *take_words) {
    json_t *from = json_copy(json_object_get(settings, ":from"));
    if (from == NULL) from = json_object();
    json_object_set_new(from, key, take_words);
    json_object_set_new(settings, ":from", from);
}

static void show_one(shell *s, const char *name, const json_t *value) {
    size_t columns = shell_style(s).columns;
    const json_t *from =
        json_object_get(shell_setting(s, ":from"), name); /* rather than what is in the files */
    if (json_is_array(from)) value = json_array_size(from) == 1 ? json_array_get(from, 0) : from;
    asc_text_addf(s->out, "  %-16s ", name[0] == ':' ? name + 1 : name);
    settings_show_value(s->out, value, columns > 40 ? columns - 24 : 20);
    asc_text_adds(s->out, "\n");
}

static void show_all(shell *s) {
    const char *name;
    json_t *value;
    size_t n = 0;
    json_object_foreach(past_now(&s->past)->settings, name, value) {
        if (strcmp(name, ":from") == 0) continue;
        show_one(s, name, value);
        n++;
    }
    if (n == 0) asc_text_adds(s->out, "  nothing is set (:help set)\n");
    shell_flush(s);
}

/* The methods for this kind of model, and the one in force: what is set, or what was taken last. */
static void show_methods(shell *s, const json_t *set) {
    const char *now = json_string_value(set);
    const turn *last = past_now(&s->past)->last;
    if (now == NULL && last != NULL && last->result != NULL)
        now = s->kind == ASC_KEY_NETS ? asc_answer_attribution(last->result)->method
                                      : asc_answer_result(last->result)->method;
    if (now == NULL) now = s->kind == ASC_KEY_NETS ? "integrated-gradients" : "feature-ablation";
    size_t columns = shell_style(s).columns;
    for (size_t i = 0; asc_method_at(i) != NULL; i++) {
        const asc_method_info *m = asc_method_at(i);
        asc_method_traits has = asc_method_traits_at(i);
        if (!(s->kind == ASC_KEY_NETS ? has.nets : has.prompts)) continue;
        bool chosen = asc_method_find(now) == (int)i;
        asc_text_addf(s->out, "%s %-24s ", chosen ? "*" : " ", m->name);
        asc_text_wrap(s->out, m->doc, 27, columns);
    }
    shell_flush(s);
}

/* The words for a file: its name as it is opened, behind `prefix`. */
static json_t *file_words(asc_view prefix, asc_view file) {
    const char *why;
    size_t n;
    char *path = line_path(file, &n, &why);
    json_t *words = path != NULL
                        ? json_pack("[s#++]", prefix.ptr != NULL ? prefix.ptr : "", (int)prefix.len, path, "")
                        : NULL;
    free(path);
    return words;
}

static bool set_key(shell *s, const asc_question_key *k, asc_view text) {
    char why[1200];
    json_t *v = settings_value(s->ctx, k, text, why, sizeof why);
    if (v == NULL) return shell_fail(s, "", "%s: %s", k->name, why);
    json_t *fresh = copy(s);
    json_object_set_new(fresh, k->name, v);
    forget_source(fresh, k->name);
    if (settings_is_from_file(k) && !(json_is_string(v) && k->choices[0] != '\0'))
        note_source(fresh, k->name, file_words((asc_view){0}, text));
    if (!shell_try_settings(s, fresh)) {
        json_decref(fresh);
        return false;
    }
    keep(s, fresh);
    return true;
}

bool do_key(shell *s, const shell_command *c, asc_view rest) {
    const asc_question_key *k = settings_key((asc_view){c->key, strlen(c->key)}, s->kind);
    const json_t *set = shell_setting(s, c->key);
    if (k == NULL) return shell_fail(s, "", ":%s means nothing for this kind of model", c->name);
    if (rest.len > 0) return set_key(s, k, rest);
    if (strcmp(k->name, "method") == 0) {
        show_methods(s, set);
        return true;
    }
    if (set != NULL)
        show_one(s, k->name, set);
    else
        asc_text_addf(s->out, "  %s is not set: %s\n", k->name, k->doc);
    if (k->choices[0] != '\0') asc_text_addf(s->out, "  one of %s\n", k->choices);
    shell_flush(s);
    return true;
}

static bool is_drawing(const shell *s, asc_view name) {
    return s->kind == ASC_KEY_PROMPTS && shell_drawing_setting(name) != NULL;
}

bool do_set(shell *s, const shell_command *c, asc_view rest) {
    char why[200];
    asc_view name;
    (void)c;
    if (!line_word(&rest, &name)) {
        show_all(s);
        return true;
    }
    const asc_question_key *k = settings_key(name, s->kind);
    if (k == NULL && rest.len > 0 && is_drawing(s, name)) return shell_set_drawing(s, name, rest);
    if (k == NULL) {
        settings_explain_unknown(name, s->kind, why, sizeof why);
        return shell_fail(s, ":set and Tab shows the keys", "%s", why);
    }
    if (rest.len == 0)
        return shell_fail(s, ":unset takes a key back", "%s needs a value: %s", k->name, k->doc);
    return set_key(s, k, rest);
}

bool do_unset(shell *s, const shell_command *c, asc_view rest) {
    char why[200];
    asc_view name;
    (void)c;
    if (!line_word(&rest, &name)) return shell_fail(s, "", ":unset needs the name of a key, or all");
    if (name.len == 3 && memcmp(name.ptr, "all", 3) == 0) {
        keep(s, json_object());
        return true;
    }
    const asc_question_key *k = settings_key(name, s->kind);
    const char *key = k != NULL ? k->name : is_drawing(s, name) ? shell_drawing_setting(name) : NULL;
    if (key == NULL) {
        settings_explain_unknown(name, s->kind, why, sizeof why);
        return shell_fail(s, "", "%s", why);
    }
    if (shell_setting(s, key) == NULL)
        return shell_fail(s, "", "%s is not set", key[0] == ':' ? key + 1 : key);
    json_t *fresh = copy(s);
    json_object_del(fresh, key);
    forget_source(fresh, key);
    keep(s, fresh);
    return true;
}

bool do_chat(shell *s, const shell_command *c, asc_view rest) {
    const json_t *set = shell_setting(s, ":chat");
    bool has = asc_model_chat_template(asc_subject_model(s->subject)).len > 0, on = rest.len == 2;
    (void)c;
    if (rest.len == 0) {
        on = set != NULL ? json_is_true(set) : has;
        asc_text_addf(s->out, "  chat is %s%s\n", on ? "on" : "off",
                      has ? "" : ": this model has no template");
        shell_flush(s);
        return true;
    }
    if (!(rest.len == 2 && memcmp(rest.ptr, "on", 2) == 0) &&
        !(rest.len == 3 && memcmp(rest.ptr, "off", 3) == 0))
        return shell_fail(s, "", ":chat is on or off");
    if (on && !has)
        return shell_fail(s, "leave it off: prompts are continued as they are",
                          "this model has no chat template");
    json_t *fresh = copy(s);
    json_object_set_new(fresh, ":chat", json_boolean(on));
    keep(s, fresh);
    return true;
}

bool do_system(shell *s, const shell_command *c, asc_view rest) {
    const char *why;
    size_t n;
    (void)c;
    json_t *fresh = copy(s);
    json_object_del(fresh, ":system");
    if (rest.len > 0) {
        char *text = line_value(rest, &n, &why);
        json_t *v = text != NULL ? json_stringn(text, n) : NULL;
        free(text);
        if (v == NULL) {
            json_decref(fresh);
            return shell_fail(s, "", ":system: %s", text == NULL ? why : "not UTF-8 text");
        }
        json_object_set_new(fresh, ":system", v);
    }
    keep(s, fresh);
    return true;
}

bool do_new(shell *s, const shell_command *c, asc_view rest) {
    (void)c;
    (void)rest;
    past_push(&s->past, copy(s), NULL);
    return true;
}

static bool travel(shell *s, bool back) {
    const moment *from = past_now(&s->past);
    if (!(back ? past_undo(&s->past) : past_redo(&s->past)))
        return shell_fail(s, "", back ? "there is nothing to undo" : "there is nothing to redo");
    if (s->o->quiet) return true;
    asc_text_adds(s->out, back ? "  undone: " : "  again: ");
    past_difference(back ? past_now(&s->past) : from, back ? from : past_now(&s->past), s->out);
    asc_text_adds(s->out, "\n");
    shell_flush(s);
    return true;
}

bool do_undo(shell *s, const shell_command *c, asc_view rest) {
    (void)c;
    (void)rest;
    return travel(s, true);
}

bool do_redo(shell *s, const shell_command *c, asc_view rest) {
    (void)c;
    (void)rest;
    return travel(s, false);
}

/* ---- inputs of nets ---- */

bool do_picture(shell *s, const shell_command *c, asc_view rest) {
    char why[1200];
    const char *reason;
    size_t n;
    (void)c;
    if (rest.len == 0) return shell_fail(s, "", ":load-picture needs the name of a PNG or JPEG file");
    char *path = line_path(rest, &n, &reason);
    if (path == NULL) return shell_fail(s, "", ":load-picture: %s", reason);
    json_t *picture = settings_base64(s->ctx, path, why, sizeof why), *fresh = NULL;
    bool ok = picture != NULL || shell_fail(s, "", "%s", why);
    if (ok) {
        fresh = copy(s);
        json_object_set_new(fresh, "image", picture);
        json_object_del(fresh, "input");
        forget_source(fresh, "input");
        note_source(fresh, "image", json_pack("[s]", path));
        ok = shell_try_settings(s, fresh);
        if (!ok) json_decref(fresh);
    }
    if (ok) {
        keep(s, fresh);
        ok = shell_explain_inputs(s, (asc_view){path, n});
    }
    free(path);
    return ok;
}

/* "NAME=FILE" for a net with several inputs; the name is that of a port. */
static size_t port_name(const shell *s, asc_view rest) {
    const asc_net *net = asc_subject_net(s->subject);
    const char *equals = memchr(rest.ptr, '=', rest.len);
    size_t n = equals != NULL ? (size_t)(equals - rest.ptr) : 0;
    for (size_t i = 0; n > 0 && i < asc_net_n_inputs(net); i++) {
        const char *name = asc_net_input(net, i).name;
        if (strlen(name) == n && memcmp(name, rest.ptr, n) == 0) return n;
    }
    return 0;
}

bool do_input(shell *s, const shell_command *c, asc_view rest) {
    char why[1200];
    (void)c;
    if (rest.len == 0) return shell_fail(s, "", ":input needs a .npy or .csv file, or a number");
    size_t name = port_name(s, rest), ports = asc_net_n_inputs(asc_subject_net(s->subject));
    if (name == 0 && ports > 1)
        return shell_fail(s, ":model lists the inputs", "this net has %zu inputs: write NAME=FILE", ports);
    asc_view file = name > 0 ? (asc_view){rest.ptr + name + 1, rest.len - name - 1} : rest;
    json_t *v = settings_array(s->ctx, file, why, sizeof why);
    if (v == NULL) return shell_fail(s, "", ":input: %s", why);
    json_t *fresh = copy(s), *words = NULL;
    size_t given = 1;
    if (name > 0) {
        json_t *all = json_copy(json_object_get(fresh, "input"));
        if (!json_is_object(all) || json_object_get(all, "npy_b64") != NULL) {
            json_decref(all);
            all = json_object();
        }
        char *port = strndup(rest.ptr, name);
        json_object_set_new(all, port != NULL ? port : "", v);
        free(port);
        given = json_object_size(all);
        json_object_set_new(fresh, "input", all);
        if (given > 1) words = json_copy(json_object_get(json_object_get(fresh, ":from"), "input"));
    } else {
        json_object_set_new(fresh, "input", v);
    }
    if (words == NULL) words = json_array();
    for (size_t i = 0; name > 0 && i < json_array_size(words); i++) { /* the port had another one */
        if (strncmp(json_string_value(json_array_get(words, i)), rest.ptr, name + 1) == 0)
            json_array_remove(words, i--);
    }
    json_t *one = file_words((asc_view){rest.ptr, name > 0 ? name + 1 : 0}, file);
    json_array_extend(words, one);
    json_decref(one);
    json_object_del(fresh, "image");
    forget_source(fresh, "image");
    note_source(fresh, "input", words);
    if (given == ports && !shell_try_settings(s, fresh)) {
        json_decref(fresh);
        return false;
    }
    keep(s, fresh);
    return given < ports || shell_explain_inputs(s, rest);
}
