/* proto: a module that XLA dumped as a protocol buffer (xla/service/hlo.proto, xla/xla_data.proto), as HLO text.
 *
 * A message is a list of fields; each has a number and, by its wire type, a number as value or bytes. Whatever is
 * damaged, or of a number that is not known, is a wbb_fail with the file and the byte: a field that is left out would
 * be another module.
 *
 *     0a 05 6a 69 74 5f 66     field 1, bytes: 5 of them, "jit_f"
 *     48 2a                    field 9, a number: 42
 */
#ifndef HLO_PROTO_H
#define HLO_PROTO_H

#include "hlo/inner.h"

typedef enum { PB_NUMBER = 0, PB_64 = 1, PB_BYTES = 2, PB_32 = 5 } HloPbWire;

typedef struct {
    const char *file;
    const uint8_t *start; /* of the file */
    WbbCx *cx;
    WbbArena *arena;
    uint32_t depth;       /* of messages inside each other, against HLO_NESTING_LIMIT */
} HloPbFile;

typedef struct {
    uint32_t number;
    HloPbWire wire;
    uint64_t value;      /* of PB_NUMBER, PB_32, PB_64 */
    const uint8_t *at;   /* of PB_BYTES the first of n; else the value's own */
    size_t n;
} HloPbField;

typedef struct {
    HloPbFile *file;
    const uint8_t *at;   /* its first byte, for messages */
    const HloPbField *fields;
    uint32_t n;
} HloPb;

/* proto_wire.c ----------------------------------------------------------------------------------------------------- */
void hlo_pb_fail(const HloPbFile *f, const uint8_t *at, const char *format, ...) WBB_NORETURN WBB_PRINTF(3, 4);
HloPb hlo_pb_message(HloPbFile *f, const uint8_t *at, size_t n);
/* The last field of that number, as the format has it, or NULL. Of another wire type than `wire`: a wbb_fail. */
const HloPbField *hlo_pb_field(const HloPb *m, uint32_t number, HloPbWire wire);
int64_t hlo_pb_int(const HloPb *m, uint32_t number);                 /* 0 if it is not there */
bool hlo_pb_has(const HloPb *m, uint32_t number);                    /* with another value than 0 or no bytes */
const char *hlo_pb_text(const HloPb *m, uint32_t number);            /* ""; a NUL in it is a wbb_fail */
HloPb hlo_pb_inner(const HloPb *m, uint32_t number);                 /* one without fields if it is not there */
HloPb hlo_pb_of(const HloPb *m, const HloPbField *field);            /* the message that a field is */
const HloPbField *hlo_pb_next(const HloPb *m, uint32_t number, uint32_t *at); /* of PB_BYTES; from *at on, 0 first */
/* A repeated number: one a field, or many in the bytes of one. */
const int64_t *hlo_pb_ints(const HloPb *m, uint32_t number, uint32_t *n);
/* The same of 4 or 8 bytes each, which are put one behind the other. */
const uint8_t *hlo_pb_fixed(const HloPb *m, uint32_t number, uint32_t bytes, size_t *n);
/* Every field's number is among `known`, which a 0 ends; `what`: "an instruction". */
void hlo_pb_check_known(const HloPb *m, const uint16_t *known, const char *what);
/* A name of the text: letters, digits, '_', '.', '-'. */
const char *hlo_pb_name(const HloPb *m, uint32_t number, const char *what);
void hlo_pb_put_quoted(WbbBuf *out, const char *text, size_t n);     /* in quotes, escaped as XLA does */
void hlo_pb_put_value(WbbBuf *out, const char *text, size_t n); /* that, or JSON as it is, as in the text of XLA */
/* A repeated number as a list, if it has as many as `least`: "[1,2]" */
void hlo_pb_put_list(WbbBuf *out, const char *before, const HloPb *m, uint32_t number, const char *after,
                     uint32_t least);
void hlo_pb_put_ints(WbbBuf *out, const char *name, const HloPb *m, uint32_t number); /* ", name={1,2}" */

/* proto_shape.c -------------------------------------------------------------------------------------------------- */
const HloShape *hlo_pb_shape(const HloPb *m);
void hlo_pb_put_program_shape(WbbBuf *out, const HloPb *m); /* (f32[8]{0})->f32[8]{0} */
void hlo_pb_literal(const HloPb *m, HloInstruction *i);     /* of the constant i, whose shape is set */

/* proto_notes.c: metadata, shardings, frontend attributes, tables of source lines --------------------------------- */
void hlo_pb_put_metadata(WbbBuf *out, const HloPb *m);
void hlo_pb_put_sharding(WbbBuf *out, const HloPb *m); /* {replicated} */
void hlo_pb_put_frontend(WbbBuf *out, const HloPb *m); /* {a="b"} */
void hlo_pb_put_tables(WbbBuf *out, const HloPb *m);

/* proto_instruction.c: all but name, operands, called computations and control predecessors ------------------ */
void hlo_pb_read_instruction(const HloPb *m, HloInstruction *i);
/* The attribute that names called computation k of n: "to_apply". */
const char *hlo_pb_called_by(const HloInstruction *i, uint32_t k, uint32_t n);

#endif
