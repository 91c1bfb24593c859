/* ask_net_picture.c - a picture as the input: base64 of a PNG or JPEG file, resized, cropped and normalised
 * as the question or else the model's folder says. */
#include "ask_net_parts.h"

/* At most two sides: width and height. */
static asc_status read_size(asc_question *q, asc_key_id id, int64_t size[2]) {
    size_t n = 0;
    asc_status st = asc_ask_sizes(q, id, size, 2, &n);
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        if (size[i] > ASC_IMAGE_MAX_SIDE)
            return ASC_FAIL(q->ctx, ASC_RESOURCE_EXHAUSTED, "\"%s\": %lld pixels; at most %d are taken",
                            asc_ask_name(id), (long long)size[i], ASC_IMAGE_MAX_SIDE);
    }
    return st;
}

/* Small files can hold large pictures, and questions come from others: their size counts before the pixels
 * take memory. */
static asc_status check_pixels(asc_question *q, asc_view file) {
    int64_t width, height;
    if (!asc_image_peek(file.ptr, file.len, &width, &height) || width * height <= ASC_QUESTION_MAX_PIXELS)
        return ASC_OK;
    ASC_FAIL(q->ctx, ASC_RESOURCE_EXHAUSTED, "a picture of %lld x %lld pixels; a question takes at most %lld",
             (long long)width, (long long)height, (long long)ASC_QUESTION_MAX_PIXELS);
    return asc_hint(q->ctx, "make the picture smaller first; nets look at far fewer pixels");
}

asc_status asc_ask_net_picture(asc_question *q) {
    static const asc_key_id companions[] = {ASC_KEY_ID_RESIZE, ASC_KEY_ID_CROP, ASC_KEY_ID_NORMALISE,
                                            ASC_KEY_ID_CHANNELS};
    asc_ask_net *a = q->of_net;
    asc_picture_words words = {0};
    asc_image whole = {0};
    asc_view text = {0}, file = {0};
    for (size_t i = 0; i < sizeof companions / sizeof *companions; i++) {
        if (asc_ask_has(q, companions[i]) && !asc_ask_has(q, ASC_KEY_ID_IMAGE))
            return asc_ask_refuse(q, "\"%s\" goes with \"image\"", asc_ask_name(companions[i]));
    }
    asc_status st = asc_ask_text(q, ASC_KEY_ID_IMAGE, &text);
    if (st != ASC_OK || text.ptr == NULL) return st;
    int64_t i = asc_net_picture_input(q->net);
    if (i < 0) return asc_ask_refuse(q, "\"image\": the net has no input that is a picture (4 dimensions)");
    a->picture_input = (size_t)i;
    ASC_TRY(read_size(q, ASC_KEY_ID_RESIZE, words.resize));
    ASC_TRY(read_size(q, ASC_KEY_ID_CROP, words.crop));
    ASC_TRY(asc_ask_choice(q, ASC_KEY_ID_NORMALISE, &words.normalise));
    ASC_TRY(asc_ask_choice(q, ASC_KEY_ID_CHANNELS, &words.channels));
    a->prep = asc_net_picture_prep(q->net, a->picture_input, &words);
    ASC_TRY(asc_ask_base64(q, (asc_ask_place){ASC_KEY_ID_IMAGE, NULL}, text, &file));
    ASC_TRY(check_pixels(q, file));
    asc_array *own = asc_ask_own(q);
    if (own == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    ASC_TRY(asc_image_decode(q->ctx, file.ptr, file.len, NULL, &whole));
    ASC_TRY(asc_image_to_array(q->ctx, &whole, &a->prep, own, &a->picture));
    a->inputs[i] = *own;
    if (whole.note[0] != '\0') asc_logf(q->ctx, ASC_LOG_INFO, "image: %s", whole.note);
done:
    asc_image_free(q->ctx, &whole);
    if (st != ASC_OK && file.ptr != NULL) asc_fail_context(q->ctx, "image");
    return st;
}
