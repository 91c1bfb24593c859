/* page_form.c - the form, made of the table of keys and the table of methods: nothing that they know is said
 * here again. The same fields serve browsers with and without scripts.
 */
#include "page.h"
#include <ctype.h>
#include <string.h>

/* Which keys stand open, and which come first behind "More options". */
static const char *const first_decoder[] = {"method", "target", "versus", NULL};
static const char *const first_encoder[] = {"method", "label", "similar_to", NULL};
static const char *const first_net[] = {"method", "target", "site", NULL};
static const char *const next_keys[] = {"generate", "features", "baseline",     "output", "system",
                                        "second",   "versus",   "target_value", "mask",   NULL};
/* Keys that the form asks for in its own way, or that have no place in it. */
static const char *const not_here[] = {"prompt", "text", "user", "messages", "image", "dry_run", NULL};

static bool in(const char *const *list, const char *name) {
    for (; *list != NULL; list++)
        if (strcmp(*list, name) == 0) return true;
    return false;
}

/* The next of the choices "a|b|token:ID"; false: there is none. */
static bool next_choice(const char **at, asc_view *out) {
    if (**at == '\0') return false;
    size_t n = strcspn(*at, "|");
    *out = (asc_view){*at, n};
    *at += n + ((*at)[n] == '|');
    return true;
}

/* A part in capitals stands for any text: then one may type. */
static bool is_open(const char *choices) {
    for (const char *p = choices; *p != '\0'; p++)
        if (isupper((unsigned char)*p)) return true;
    return false;
}

static void put_options(FILE *f, const char *choices) {
    asc_view c;
    while (next_choice(&choices, &c)) {
        bool any = false;
        for (size_t i = 0; i < c.len; i++) any = any || isupper((unsigned char)c.ptr[i]);
        if (any) continue;
        fputs("<option value=\"", f);
        page_put(f, c);
        fputs("\">", f);
        page_put(f, c);
        fputs("</option>", f);
    }
}

static void put_methods(FILE *f, asc_subject_kind kind) {
    const asc_method_info *m;
    for (size_t i = 0; (m = asc_method_at(i)) != NULL; i++) {
        if (!page_method_known(i, kind)) continue;
        fputs("<option>", f);
        page_puts(f, m->name);
        fputs("</option>", f);
    }
}

static void put_label(FILE *f, const char *name) {
    fprintf(f, "<label for=\"k-%s\">", name);
    for (const char *p = name; *p != '\0'; p++) fputc(*p == '_' ? ' ' : *p, f);
    fputs("</label>", f);
}

static void put_control(FILE *f, const asc_question_key *k, asc_subject_kind kind) {
    const char *type = asc_key_type_name(k->type);
    char common[256];
    snprintf(common, sizeof common, "id=\"k-%s\" name=\"%s\" data-type=\"%s\" aria-describedby=\"d-%s\"",
             k->name, k->name, type, k->name);
    if (strcmp(k->name, "method") == 0) {
        fprintf(f, "<select %s><option value=\"\">default</option>", common);
        put_methods(f, kind);
        fputs("</select>", f);
    } else if (k->type == ASC_KEY_CHOICE && !is_open(k->choices)) {
        fprintf(f, "<select %s><option value=\"\">default</option>", common);
        put_options(f, k->choices);
        fputs("</select>", f);
    } else if (k->choices[0] != '\0') {
        fprintf(f, "<input %s list=\"l-%s\" autocomplete=\"off\" spellcheck=\"false\" placeholder=\"", common,
                k->name);
        page_puts(f, k->choices);
        fprintf(f, "\"><datalist id=\"l-%s\">", k->name);
        put_options(f, k->choices);
        fputs("</datalist>", f);
    } else if (k->type == ASC_KEY_BASE64 || k->type == ASC_KEY_PICTURE) {
        fprintf(f, "<input type=\"file\" %s>", common);
    } else {
        bool number = k->type == ASC_KEY_COUNT || k->type == ASC_KEY_NUMBER || k->type == ASC_KEY_WHOLE;
        fprintf(f, "<input %s autocomplete=\"off\"%s>", common, number ? " inputmode=\"decimal\"" : "");
    }
}

static void put_key(FILE *f, const asc_question_key *k, asc_subject_kind kind) {
    fputs("<p>", f);
    if (k->type == ASC_KEY_BOOL) {
        fprintf(f,
                "<label class=\"check\"><input type=\"checkbox\" name=\"%s\" value=\"true\" data-type=\"true "
                "or false\" aria-describedby=\"d-%s\"> ",
                k->name, k->name);
        for (const char *p = k->name; *p != '\0'; p++) fputc(*p == '_' ? ' ' : *p, f);
        fputs("</label>", f);
    } else {
        put_label(f, k->name);
        put_control(f, k, kind);
    }
    fprintf(f, "<small id=\"d-%s\">", k->name);
    page_puts(f, k->doc);
    fputs("</small></p>\n", f);
}

static const asc_question_key *key_of(const char *name, asc_subject_kind kind) {
    const asc_question_key *k;
    for (size_t i = 0; (k = asc_question_key_at(i)) != NULL; i++)
        if (strcmp(k->name, name) == 0 && page_key_known(k, kind)) return k;
    return NULL;
}

/* Those of a list that this kind of model knows, without those of `but`. */
static void put_keys(FILE *f, const char *const *list, const char *const *but, asc_subject_kind kind) {
    const asc_question_key *k;
    for (size_t i = 0; list[i] != NULL; i++)
        if ((but == NULL || !in(but, list[i])) && (k = key_of(list[i], kind)) != NULL) put_key(f, k, kind);
}

static void put_text(FILE *f, asc_subject *s) {
    bool encoder = asc_subject_get_kind(s) == ASC_SUBJECT_ENCODER;
    fprintf(f,
            "<p><label for=\"q\">%s</label><textarea id=\"q\" name=\"ask-text\" rows=\"3\" "
            "aria-describedby=\"q-hidden\"></textarea>"
            "<small id=\"q-hidden\" role=\"status\"></small></p>\n",
            encoder ? "Text" : "Prompt");
    if (!page_is_chat(s)) return;
    fputs("<p class=\"row\"><label for=\"as\">It is</label><span><select id=\"as\" name=\"ask-as\"><option "
          "value=\"user\">a message to the model</option>"
          "<option value=\"prompt\">the beginning of a text, as it is</option></select></span></p>\n",
          f);
}

void page_fields(FILE *f, asc_subject *s, bool wants_token) {
    asc_subject_kind kind = asc_subject_get_kind(s);
    const char *const *first = kind == ASC_SUBJECT_NET       ? first_net
                               : kind == ASC_SUBJECT_ENCODER ? first_encoder
                                                             : first_decoder;
    const asc_question_key *k;
    if (kind != ASC_SUBJECT_NET) put_text(f, s);
    if (page_picture_input(s) >= 0)
        fputs("<div class=\"drop\" id=\"drop\"><label for=\"picture\">Picture (PNG or JPEG)</label><input "
              "id=\"picture\" name=\"image\" "
              "type=\"file\" accept=\"image/png,image/jpeg\"><small id=\"picture-name\" "
              "role=\"status\"></small>"
              "<small data-script hidden>Or drop a picture here, or paste one.</small><canvas id=\"preview\" "
              "hidden></canvas></div>\n",
              f);
    if (wants_token) /* scripts ask for it when they need it */
        fputs("<p data-plain><label for=\"token\">Token of this server</label><input id=\"token\" "
              "name=\"token\" type=\"password\" "
              "autocomplete=\"off\"></p>\n",
              f);
    fputs("<div class=\"grid\">\n", f);
    put_keys(f, first, NULL, kind);
    fputs("</div>\n<details>\n<summary>More options</summary>\n<div class=\"grid\">\n", f);
    put_keys(f, next_keys, first, kind);
    for (size_t i = 0; (k = asc_question_key_at(i)) != NULL; i++) {
        bool shown = in(first, k->name) || in(next_keys, k->name) || in(not_here, k->name);
        if (page_key_known(k, kind) && !shown) put_key(f, k, kind);
    }
    fputs("</div>\n<p data-script hidden><label class=\"check\"><input type=\"checkbox\" name=\"ask-save\" "
          "checked> "
          "keep the results at the server (permalink, download as a page)</label></p>\n</details>\n",
          f);
}
