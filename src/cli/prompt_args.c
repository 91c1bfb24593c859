/* prompt_args.c - the options that give a prompt: a text, a file, ids, or a conversation. */
#include "cli.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 64 << 20 }; /* of a prompt or chat file */

static asc_view view_of(const char *s) { return (asc_view){s, strlen(s)}; }

static int read_file(cli *c, cli_prompt *p, const char *path) {
    asc_status st = asc_text_create(c->ctx, &p->file);
    if (st == ASC_OK) st = asc_text_read(p->file, path, MOST_BYTES);
    return st == ASC_OK ? EXIT_DONE : cli_error(c, st);
}

static int read_chat(cli *c, cli_prompt *p) {
    int rc = read_file(c, p, c->value[OPT_CHAT]);
    if (rc != EXIT_DONE) return rc;
    asc_status st = asc_messages_parse(c->ctx, asc_text_view(p->file), &p->parsed);
    if (st != ASC_OK)
        return cli_error_in(c, st, c->value[OPT_CHAT],
                            "write it as [{\"role\": \"user\", \"content\": \"...\"}, ...]");
    p->messages = p->parsed.v;
    p->n_messages = p->parsed.n;
    p->extras = p->parsed.extras;
    return EXIT_DONE;
}

static int read_tools(cli *c, json_t *vars) {
    json_error_t e;
    asc_text *file = NULL;
    if (!cli_has(c, OPT_TOOLS)) return EXIT_DONE;
    asc_status st = asc_text_create(c->ctx, &file);
    if (st == ASC_OK) st = asc_text_read(file, c->value[OPT_TOOLS], MOST_BYTES);
    asc_view v = st == ASC_OK ? asc_text_view(file) : (asc_view){NULL, 0};
    json_t *tools = st == ASC_OK ? json_loadb(v.ptr != NULL ? v.ptr : "", v.len, JSON_ALLOW_NUL, &e) : NULL;
    bool list = json_is_array(tools);
    asc_text_destroy(file);
    if (st == ASC_OK && list && json_object_set(vars, "tools", tools) != 0) st = ASC_RESOURCE_EXHAUSTED;
    json_decref(tools);
    if (st != ASC_OK) return cli_error(c, st);
    if (tools == NULL)
        return cli_usage("--tools: '%.200s', line %d: %s", c->value[OPT_TOOLS], e.line, e.text);
    return list ? EXIT_DONE : cli_usage("--tools: '%.200s' holds no list", c->value[OPT_TOOLS]);
}

/* --tools and --template-var as one object for the chat template. A value that is no JSON is a text. */
static int read_vars(cli *c, cli_prompt *p) {
    if (!cli_has(c, OPT_TOOLS) && !cli_has(c, OPT_TEMPLATE_VAR)) return EXIT_DONE;
    json_t *vars = json_object();
    int rc = vars != NULL ? read_tools(c, vars) : cli_error(c, ASC_RESOURCE_EXHAUSTED);
    for (size_t i = 0; rc == EXIT_DONE && cli_nth(c, OPT_TEMPLATE_VAR, i) != NULL; i++) {
        const char *s = cli_nth(c, OPT_TEMPLATE_VAR, i), *eq = strchr(s, '=');
        char name[200];
        if (eq == NULL || eq == s || eq - s >= (long)sizeof name) {
            rc = cli_usage("--template-var is NAME=VALUE, not '%.60s'", s);
            break;
        }
        memcpy(name, s, (size_t)(eq - s));
        name[eq - s] = '\0';
        if (json_object_get(vars, name) != NULL) {
            rc = cli_usage("--template-var %s is given twice", name);
            break;
        }
        json_t *v = json_loads(eq + 1, JSON_DECODE_ANY, NULL);
        if (v == NULL) v = json_string(eq + 1);
        if (json_object_set_new(vars, name, v) != 0) rc = cli_usage("--template-var %s is not UTF-8", name);
    }
    if (rc == EXIT_DONE) p->vars = json_dumps(vars, JSON_COMPACT);
    if (rc == EXIT_DONE && p->vars == NULL) rc = cli_error(c, ASC_RESOURCE_EXHAUSTED);
    json_decref(vars);
    return rc;
}

static void read_user(cli *c, cli_prompt *p) {
    if (cli_has(c, OPT_SYSTEM))
        p->own[p->n_messages++] = (asc_message){view_of("system"), view_of(c->value[OPT_SYSTEM])};
    p->own[p->n_messages++] = (asc_message){view_of("user"), view_of(c->value[OPT_USER])};
    p->messages = p->own;
}

int cli_prompt_read(cli *c, cli_prompt *p) {
    static const cli_option_id sources[] = {OPT_PROMPT, OPT_TEXT_PROMPT, OPT_PROMPT_FILE, OPT_CHAT,
                                            OPT_USER,   OPT_IDS,         OPT_TEMPLATE,    OPT_DOCUMENTS};
    int given = 0, which = -1;
    *p = (cli_prompt){0};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (!cli_has(c, sources[i])) continue;
        given++;
        which = (int)sources[i];
    }
    if (given == 0)
        return cli_usage(
            "no prompt: give --prompt TEXT (text encoders: --text TEXT), --prompt-file FILE (- for standard "
            "input), --user TEXT, --chat FILE, --ids LIST, --template TEXT or --documents FILE");
    if (given > 1)
        return cli_usage("more than one prompt: give one of --prompt, --prompt-file, --user, --chat, --ids, "
                         "--template and "
                         "--documents");
    bool document = cli_has(c, OPT_QUESTION) || which == OPT_TEMPLATE || which == OPT_DOCUMENTS;
    if (cli_has(c, OPT_SYSTEM) && which != OPT_USER && !document)
        return cli_usage("--system goes with --user or --question");
    if ((cli_has(c, OPT_TOOLS) || cli_has(c, OPT_TEMPLATE_VAR)) && which != OPT_USER && which != OPT_CHAT &&
        !document)
        return cli_usage("--%s goes with a conversation: --user, --chat or --question",
                         cli_options[cli_has(c, OPT_TOOLS) ? OPT_TOOLS : OPT_TEMPLATE_VAR].name);
    int read = read_vars(c, p);
    if (read != EXIT_DONE) return read;
    switch (which) {
    case OPT_PROMPT:
        p->text = view_of(c->value[OPT_PROMPT]);
        return EXIT_DONE;
    case OPT_TEXT_PROMPT:
        p->text = view_of(c->value[OPT_TEXT_PROMPT]);
        return EXIT_DONE;
    case OPT_PROMPT_FILE: {
        int rc = read_file(c, p, c->value[OPT_PROMPT_FILE]);
        if (rc != EXIT_DONE) return rc;
        p->text = asc_text_view(p->file);
        if (p->text.len > 0 && p->text.ptr[p->text.len - 1] == '\n') {
            p->text.len--;
            if (p->text.len > 0 && p->text.ptr[p->text.len - 1] == '\r') p->text.len--;
        }
        return EXIT_DONE;
    }
    case OPT_TEMPLATE: /* feature_args.c makes the text */
    case OPT_DOCUMENTS:
        return EXIT_DONE;
    case OPT_CHAT:
        return read_chat(c, p);
    case OPT_USER:
        read_user(c, p);
        return EXIT_DONE;
    default:
        return cli_ids(c, OPT_IDS, &p->ids, &p->n_ids);
    }
}

void cli_prompt_free(cli *c, cli_prompt *p) {
    asc_messages_free(c->ctx, &p->parsed);
    asc_text_destroy(p->file);
    free(p->ids);
    free(p->vars);
    *p = (cli_prompt){0};
}

asc_request cli_prompt_request(const cli_prompt *p) {
    return (asc_request){.struct_size = sizeof(asc_request),
                         .prompt = p->text,
                         .prompt_ids = p->ids,
                         .n_prompt_ids = p->n_ids,
                         .messages = p->messages,
                         .n_messages = p->n_messages,
                         .message_extras = p->extras,
                         .template_vars = {p->vars, p->vars != NULL ? strlen(p->vars) : 0}};
}

int cli_prompt_ids(cli *c, const asc_model *m, const cli_prompt *p, int32_t **out, size_t *n) {
    const asc_tokenizer *tk = asc_model_tokenizer(m);
    asc_chat_prompt chat = {0};
    asc_token *tokens = NULL;
    asc_status st = ASC_OK;
    *out = NULL;
    *n = p->n_ids;
    if (p->messages != NULL) {
        const asc_request q = cli_prompt_request(p);
        st = asc_chat_prompt_of(c->ctx, m, &q, &chat);
        tokens = chat.tokens;
        *n = chat.n_tokens;
    } else if (p->ids == NULL) {
        asc_tokenizer_info info = asc_tokenizer_get_info(tk);
        asc_tokenize_options o = {.struct_size = sizeof o, .add_bos_eos = true};
        st = asc_tokenize(c->ctx, tk, p->text, &o, &tokens, n);
        if (info.add_eos && *n > 0 && tokens[*n - 1].id == info.eos) --*n; /* the text is to be continued */
        if (p->text.len == 0) *n = 0;
    }
    if (st != ASC_OK) return cli_error(c, st);
    int32_t *ids = malloc((*n + 1) * sizeof *ids);
    for (size_t i = 0; ids != NULL && i < *n; i++) ids[i] = p->ids != NULL ? p->ids[i] : tokens[i].id;
    if (p->messages != NULL)
        asc_chat_prompt_free(c->ctx, &chat);
    else
        asc_tokens_free(c->ctx, tokens);
    if (ids == NULL) return cli_error(c, ASC_RESOURCE_EXHAUSTED);
    *out = ids;
    return EXIT_DONE;
}
