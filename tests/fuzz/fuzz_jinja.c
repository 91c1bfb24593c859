/* fuzz_jinja.c - templates and messages. The first two bytes are the length of the template, the next that of
 * the first role; what follows is template, role, content. Spans must tile the output and content must keep
 * its bytes. */
#include "chat.h"
#include "jinja.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok) {
    if (!ok) abort();
}

static void check(const asc_chat_text *t) {
    size_t at = 0;
    for (size_t i = 0; i < t->n_spans; i++) {
        require(t->spans[i].start == at && t->spans[i].end > at && t->spans[i].message >= -1 &&
                t->spans[i].message < 2);
        require(!t->spans[i].is_content || (t->spans[i].literal && t->spans[i].message >= 0));
        at = t->spans[i].end;
    }
    require(at == t->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3) return 0;
    const char *p = (const char *)data + 3;
    size_t left = size - 3, n_template = (size_t)data[0] | (size_t)data[1] << 8, n_role = data[2];
    if (n_template > left) n_template = left;
    if (n_role > left - n_template) n_role = left - n_template;
    asc_view template = {p, n_template}, role = {p + n_template, n_role};
    asc_view content = {role.ptr + n_role, left - n_template - n_role};
    const asc_chat_message msgs[] = {{role, content}, {{"user", 4}, role}};
    asc_chat_options o = {.struct_size = sizeof o, .add_generation_prompt = true, .bos_token = {"<s>", 3}};
    asc_chat_text t;
    asc_ctx *ctx = NULL;
    if (asc_ctx_create_base(NULL, &ctx) != ASC_OK) return 0;
    if (asc_chat_render(ctx, template, msgs, 2, &o, &t) == ASC_OK) check(&t);
    asc_chat_text_free(ctx, &t);
    require(ctx->mem.live_allocs == 0);
    asc_ctx_destroy(ctx);
    return 0;
}
