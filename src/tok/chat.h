/* chat.h - chat messages to the prompt text a model was trained on, by the template in its own file.
 * The result says of every byte whose it is, so that text written by a user can never become a special token,
 * and so that scores of tokens add up to scores of messages. */
#ifndef ASC_CHAT_H
#define ASC_CHAT_H

#include "ctx.h"
#include "json.h"

typedef struct asc_chat_message {
    asc_view role, content; /* borrowed; any bytes */
} asc_chat_message;

/* Zero-initialise, then set struct_size = sizeof(asc_chat_options). */
typedef struct asc_chat_options {
    size_t struct_size;
    bool add_generation_prompt;    /* end with the opening of the assistant's turn */
    asc_view bos_token, eos_token; /* text of these tokens; the template may print them */
    /* JSON texts of objects: of each message what it has beside role and content (tool_calls, name, ...; a
     * "content" in it stands over the message's), and variables of the template (tools, enable_thinking,
     * ...). NULL and {NULL, 0}: nothing. Their strings are literal. */
    const asc_view *extras; /* [n] */
    asc_view vars;
} asc_chat_options;

/* Bytes [start, end) of the text. */
typedef struct asc_chat_span {
    size_t start, end;
    int32_t message; /* index of the message they belong to, -1 = to none (opening, generation prompt) */
    bool is_content; /* the message's content, not what the template or its role put around it */
    bool literal;    /* came from the caller: must be tokenized as ordinary text, never as a special token */
} asc_chat_span;

typedef struct asc_chat_text {
    char *text; /* NUL-terminated; may hold NUL bytes */
    size_t len;
    asc_chat_span *spans; /* ascending, without gaps, from 0 to len */
    size_t n_spans;
} asc_chat_text;

/* Limits of the messages; reaching one is RESOURCE_EXHAUSTED. The template's limits are in jinja.h. */
enum {
    ASC_CHAT_MAX_MESSAGES = 100000,
    ASC_CHAT_MAX_JSON = 1 << 26 /* bytes of a JSON text */
};

/* Renders `n` messages. A template byte belongs to the message whose loop iteration wrote it, a byte of a
 * message to that message wherever it is written. Roles count as literal unless they consist of ASCII
 * letters, digits, '_' and
 * '-' (templates do build special tokens from roles). Errors: INVALID_ARGUMENT (broken template, or its own
 * raise_exception; the message holds its text), UNIMPLEMENTED (names the construct, line and column),
 * RESOURCE_EXHAUSTED (names the limit), CANCELLED. *out is all zero on failure, else freed by
 * asc_chat_text_free. */
ASC_MUST_USE asc_status asc_chat_render(asc_ctx *ctx, asc_view chat_template, const asc_chat_message *msgs,
                                        size_t n, const asc_chat_options *opts, asc_chat_text *out);
/* Reads a template without rendering it: INVALID_ARGUMENT or UNIMPLEMENTED as asc_chat_render gives them for
 * what is wrong in the text itself. */
ASC_MUST_USE asc_status asc_chat_check(asc_ctx *ctx, asc_view chat_template);
void asc_chat_text_free(asc_ctx *ctx, asc_chat_text *t);

/* First and last byte (half-open) of everything that belongs to a message; false when nothing does. */
bool asc_chat_extent(const asc_chat_text *t, int32_t message, size_t *start, size_t *end);

/* Messages read from JSON; they borrow from `memory`. */
typedef struct asc_chat_messages {
    asc_chat_message *v;
    asc_view *extras; /* [n]: what else each has, as asc_chat_options takes it */
    size_t n;
    char *memory;
} asc_chat_messages;

/* Accepts [{"role", "content"}, ...] or {"messages": [...]}; content is a string or a list of
 * {"type": "text", "text"} parts, which are joined; a message with tool_calls may go without. Errors:
 * INVALID_ARGUMENT naming the message's index and key. */
ASC_MUST_USE asc_status asc_chat_parse_json(asc_ctx *ctx, const char *text, size_t len,
                                            asc_chat_messages *out);
/* The same of a list that is read already. */
ASC_MUST_USE asc_status asc_chat_read_json(asc_ctx *ctx, const asc_json *list, asc_chat_messages *out);
void asc_chat_messages_free(asc_ctx *ctx, asc_chat_messages *m);

#endif
