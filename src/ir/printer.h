/* printer.h: what the files of the printer share; only src/ir includes it. */
#ifndef IR_PRINTER_H
#define IR_PRINTER_H

#include "ir/scopes.h"

#define IR_NONE UINT32_MAX /* no number, no place */

typedef struct {
    const char *name;
    bool visible;
    uint32_t others; /* names made from it so far: name_2, .. */
} IrWord;

struct IrPrinter {
    WbbBuf *out;
    const IrKernel *k; /* NULL when one node is printed */
    const char *const *reads; /* by callee: a call is written as a read of this array, name[i, j]; NULL: as a call */
    const IrGraph *g;
    WbbArena *scratch;
    IrScopes scopes;      /* of the body that is being printed, scope 1 */
    uint32_t outer;       /* blocks around that body */
    uint32_t *first_slot; /* by scope: first_name[first_slot + stmt] is the first name before that statement */
    /* by ref; of the body that is being printed */
    uint32_t *uses; /* times that the text shows it */
    uint8_t *depth; /* operations below it, down to names */
    bool *named;    /* it is written once, with a name */
    bool *done;     /* a `do` names it, and so it has no name of its own */
    IrPlace *position;          /* where it is named: before all its uses */
    uint32_t *name, *next_name; /* the number of its name; the next node named at the same position */
    uint8_t *mark;              /* of ir_gather */
    uint32_t *age; /* by ref, of the whole text: when it was first shown */
    IrRef *first_name; /* by slot: the first node that is named there */
    uint32_t n_ages, n_names, next_scope;
    const char **vars, **values; /* by number: the names that are written; NULL: those of the graph */
    WbbMap words;                /* of all names, an IrWord each */
    int depth_left; /* operations that may still be printed below this one; negative: no limit */
};

/* print.c */
IrPrinter ir_printer(WbbBuf *out, WbbArena *scratch, const IrGraph *g);
void ir_put_node(IrPrinter *p, IrRef r, IrType expected);       /* its name, or its expression */
void ir_put_expression(IrPrinter *p, IrRef r, IrType expected); /* whether it has a name or not */
void ir_put_effect(IrPrinter *p, const IrStmt *s); /* op(addresses, operands) of a `do` */
void ir_put_type(WbbBuf *out, IrType type);
void ir_put_const(WbbBuf *out, IrType type, uint64_t bits);
bool ir_is_leaf(const IrNode *n);

#endif
