/* printer.h: what the files of the printer share; nothing outside this room includes it. */
#ifndef IR_PRINTER_H
#define IR_PRINTER_H

#include "ir/ir.h"

#define IR_NOWHERE UINT32_MAX

/* Where a node's name would stand: before statement `stmt` of block `block`; behind the last one is where a block yields. */
typedef struct {
    uint32_t block, stmt;
} IrPlace;

typedef struct {
    IrPlace in; /* the statement that the block belongs to; of a body: IR_NOWHERE */
    uint32_t depth, first_slot; /* heads[first_slot + stmt]: names before that statement */
} IrPrinted;

typedef struct {
    const char *name;
    bool visible;
    uint32_t others; /* names made of it so far */
} IrWord;

typedef struct {
    WbbBuf *out;
    const IrKernel *k; /* NULL when one node is printed */
    const IrGraph *g;
    WbbArena *scratch;
    struct { IrPrinted *items; uint32_t n, capacity; } blocks;
    uint32_t n_slots;
    /* by ref; of the body that is being printed */
    uint32_t *uses; /* times that the text shows it */
    uint8_t *deep;  /* calls below it, down to names */
    bool *named;
    IrPlace *place;
    uint32_t *name, *next; /* number of its name; next name at the same place */
    uint8_t *mark;
    /* by ref; of the whole text */
    uint32_t *age; /* when the text first showed it */
    /* by slot */
    IrRef *heads;
    uint32_t n_ages, n_names, next_block;
    const char **vars, **values; /* by number: as they are written; NULL: by their own names */
    WbbMap words;                /* of all names, an IrWord each */
    int depth_left; /* when one node is printed */
} IrPrinter;

/* print.c */
IrPrinter ir_printer(WbbBuf *out, WbbArena *scratch, const IrGraph *g);
void ir_put_node(IrPrinter *p, IrRef r, IrType expected);       /* its name, or its expression */
void ir_put_expression(IrPrinter *p, IrRef r, IrType expected); /* whether it has a name or not */
void ir_put_type(WbbBuf *out, IrType type);
void ir_put_const(WbbBuf *out, IrType type, uint64_t bits);
bool ir_is_leaf(const IrNode *n);

#endif
