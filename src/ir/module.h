/* module.h: what the text of a kernel has besides statements, for the modules that write it: names, tables, buffers. */
#ifndef IR_MODULE_H
#define IR_MODULE_H

#include "ir/ir.h"

void ir_check_name(WbbCx *cx, const IrKernel *k); /* fails where the kernel's is no identifier of PTX */
/* The name in the module of a table, shared array or function of the kernel: the kernel's name comes first. */
const char *ir_module_name(WbbArena *a, const IrKernel *k, const char *own);
/* The bytes of a table in memory, *n of them: elements narrower than a byte are packed, low bits first. */
const uint8_t *ir_table_bytes(WbbArena *a, const IrBuffer *table, size_t *n);
/* Shared arrays of a kernel that are more than a block has statically are one array, whose size the launch says: its
 * bytes, 0 where there is none, and the first byte of a buffer in it. */
enum { IR_STATIC_SHARED = 48 << 10 }; /* CUDA C++ Programming Guide, shared memory: more must be dynamic */
int64_t ir_dynamic_shared(const IrKernel *k);
int64_t ir_shared_offset(const IrKernel *k, uint32_t buffer);
#define IR_DYNAMIC "dynamic" /* its name, as of a buffer */
bool *ir_constant_buffers(WbbArena *a, const IrKernel *k); /* by buffer: nothing changes it while the kernel runs */
/* The largest power of two up to the buffer's alignment that divides its size, both in bytes: an access that reads
 * whole aligned words where it needs parts of them stays inside. One element alone has no other part. */
uint32_t ir_word_align(const IrBuffer *b);
/* The alignment in bytes that facts prove of the address of an element, at most the buffer's own; packed elements:
 * whole bytes. rounded: of an access that may be made wider, over elements that nobody asked for: one that large still
 * ends inside the buffer. */
uint32_t ir_align_of(IrGraph *g, const IrBuffer *b, ScType type, IrRef index, bool rounded);

/* Is a word of bytes made of the same byte of four others: pack(pack(part<i>(w), part<i>(x)), pack(part<i>(y),
 * part<i>(z)))? from: the nodes of which they are words; byte: its number in a word. */
typedef struct {
    IrRef of;
    uint32_t word;
} IrWordOfBytes;
bool ir_transposed_row(const IrGraph *g, IrRef r, IrWordOfBytes from[4], uint32_t *byte);

/* lines.c: what made a line of code: for comments, and for `.loc` directives and the tables behind them */
typedef enum {
    IR_BY_NODE, IR_BY_INDEX, IR_BY_LANES, IR_BY_LOAD, IR_BY_STORE, IR_BY_FOR, IR_BY_IF, IR_BY_END,
    IR_BY_LABEL, IR_BY_LLVM
} IrWhat;
typedef struct {
    uint8_t what;    /* IrWhat */
    IrRef node;      /* whose rule and origin it has; 0: none */
    uint32_t buffer; /* of a load or store */
} IrMaker;
IrMaker ir_made_by(const IrGraph *g, IrRef r);
/* "patterns/tiles.py:9 add.f32 <- %add.3"; rule: what it says of the rule, or NULL */
void ir_put_maker(WbbBuf *out, const IrKernel *k, IrMaker m, const char *rule, const IrOrigin *origins,
                  uint32_t n_origins);

typedef struct {
    WbbArena *arena;
    const char *hlo_file;    /* NULL: HLO instructions are not named */
    const IrOrigin *origins; /* by IrGraph.origin - 1 */
    uint32_t n_origins;
    const char *files[64];   /* `.file` numbers, from 1 */
    uint32_t n_files, n_names;
    WbbBuf names;
    uint32_t *name_of;       /* by origin: number of its label + 1; 0: none yet */
    const char *last_file;   /* what the last `.loc` said; a function begins without one */
    uint32_t last_line, last_origin;
} IrLines;
void ir_begin_lines(IrLines *l); /* of a function */
/* The rule, inlined at the HLO instruction; without a rule (NULL) that alone; without both line 0. origin: 0: none.
 * Nothing where the last `.loc` said the same. */
void ir_put_loc(IrLines *l, WbbBuf *out, const char *rule_file, uint32_t rule_line, uint32_t origin);
void ir_put_line_tables(const IrLines *l, WbbBuf *out);

#endif
