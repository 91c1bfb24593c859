/* ascribe/chat.h - chat messages: read from JSON, turned into the tokens of a prompt by the model's own
 * template. asc_explain takes messages directly (ascribe/attr.h); this is for everything else.
 */
#ifndef ASCRIBE_CHAT_H
#define ASCRIBE_CHAT_H

#include "ascribe/attr.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_messages {
    asc_message *v;   /* borrow from `memory` */
    asc_view *extras; /* [n]: what else each has, as asc_request.message_extras */
    size_t n;
    void *memory;
} asc_messages;

/* Accepts [{"role", "content"}, ...] or {"messages": [...]}; content is a string or a list of {"type":
 * "text", "text"} parts; a message with tool_calls may go without. Errors: INVALID_ARGUMENT naming line and
 * column, or the message and key. *out is empty on failure. */
ASC_API ASC_MUST_USE asc_status asc_messages_parse(asc_ctx *ctx, asc_view json, asc_messages *out);
ASC_API void asc_messages_free(asc_ctx *ctx, asc_messages *m);

typedef struct asc_chat_prompt {
    char *text; /* rendered, NUL-terminated */
    size_t len;
    asc_token *tokens;
    size_t n_tokens;
} asc_chat_prompt;

/* Renders the messages by the template in the model's file, the opening of the assistant's turn at the end,
 * and makes tokens of it. What a message says never becomes a special token. Errors: FAILED_PRECONDITION (no
 * template in the file), those of the template (its construct, line and column). *out is empty on failure. */
ASC_API ASC_MUST_USE asc_status asc_chat_prompt_make(asc_ctx *ctx, const asc_model *m,
                                                     const asc_message *messages, size_t n,
                                                     asc_chat_prompt *out);
/* The same of a request's conversation: its messages, what else they have, and its template_vars. */
ASC_API ASC_MUST_USE asc_status asc_chat_prompt_of(asc_ctx *ctx, const asc_model *m, const asc_request *req,
                                                   asc_chat_prompt *out);
ASC_API void asc_chat_prompt_free(asc_ctx *ctx, asc_chat_prompt *p);

#ifdef __cplusplus
}
#endif
#endif
