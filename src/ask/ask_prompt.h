/* ask_prompt.h - what ask_prompt*.c share. */
#ifndef ASC_ASK_PROMPT_H
#define ASC_ASK_PROMPT_H

#include "ask_parts.h"
#include "chat.h"
#include "template_json.h"

/* What a request borrows beside the question's JSON and arena. */
struct asc_prompt_memory {
    asc_chat_messages chat;
    asc_joined_prompt *joined;
};

/* The prompt and what of it counts, into q->request. */
ASC_MUST_USE asc_status asc_ask_read_prompt(asc_question *q);

#endif
