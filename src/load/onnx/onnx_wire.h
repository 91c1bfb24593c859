/* onnx_wire.h - bounded reading of the protobuf wire format (the public encoding description, version 3):
 * varints, fixed 32 and 64 bit numbers, length-delimited fields. Every length is compared with what is left
 * of the enclosing message before it is used; nothing is copied or allocated. Groups (deprecated before ONNX
 * existed) are refused. */
#ifndef ASC_ONNX_WIRE_H
#define ASC_ONNX_WIRE_H

#include "ctx.h"
#include "view.h"

typedef enum asc_wire_type {
    ASC_WIRE_VARINT = 0,
    ASC_WIRE_FIXED64 = 1,
    ASC_WIRE_BYTES = 2,
    ASC_WIRE_FIXED32 = 5
} asc_wire_type;

/* One field as it stands in the file. */
typedef struct asc_wire_field {
    uint32_t number;
    asc_wire_type type;
    uint64_t value;      /* varint, fixed32, fixed64: the bits */
    const uint8_t *data; /* bytes: where they start */
    size_t len;
} asc_wire_field;

/* A message being read. `what` names it in errors ("NodeProto"). */
typedef struct asc_wire {
    asc_ctx *ctx;
    const char *file; /* name for messages */
    const char *what;
    const uint8_t *start; /* of the whole file, for offsets */
    const uint8_t *p, *end;
    asc_status st; /* set when asc_wire_next returned false because of an error */
} asc_wire;

/* Reads the next field; false at the end of the message and on an error (then w->st is set). */
bool asc_wire_next(asc_wire *w, asc_wire_field *f);
/* A reader of the message that field f of w holds. */
asc_wire asc_wire_sub(const asc_wire *w, const asc_wire_field *f, const char *what);
/* How often field `number` occurs; 0 behind an error (w is not moved). */
size_t asc_wire_count(const asc_wire *w, uint32_t number);
/* Reads a varint at *p; false when it does not end before `end` or has over 64 bits. */
bool asc_wire_varint(const uint8_t **p, const uint8_t *end, uint64_t *out);

/* Starts a message "FILE: at byte N: WHAT: ..." with DATA_LOSS and a hint; sets and returns w->st. */
asc_status asc_wire_bad(asc_wire *w, const char *fmt, ...) ASC_PRINTF(2, 3);
/* w->st set unless f has that type: a number where a message is wanted, and the reverse. */
bool asc_wire_expect(asc_wire *w, const asc_wire_field *f, asc_wire_type type);

static inline asc_view asc_wire_view(const asc_wire_field *f) {
    return asc_view_make((const char *)f->data, f->len);
}

#endif
