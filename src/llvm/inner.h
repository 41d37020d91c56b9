/* What the files of llvm/ share with each other and with nobody else. */
#ifndef LL_INNER_H
#define LL_INNER_H

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <setjmp.h>

#include "llvm/llvm.h"

/* intrinsics.c ---------------------------------------------------------------------------------------------------------------------- */
typedef enum { LL_BINARY, LL_CAST, LL_ICMP, LL_FCMP, LL_FNEG, LL_SELECT } LlForm;
typedef struct {
    const char *name; /* "icmp slt" */
    uint8_t form;
    uint16_t code; /* LLVMOpcode, or predicate */
    bool costly;
} LlOpcode;
typedef struct {
    const char *name;
    const char *overloads; /* which types make the overload, in order: r result, a b c operands; "" if not overloaded */
    bool costly;
} LlIntrinsic;
const LlOpcode *ll_opcode(const char *name, size_t n); /* NULL if not on the menu */
const LlIntrinsic *ll_intrinsic(const char *name, size_t n);

/* scopes.c: a scope is a block of the kernel. 0 is around all; then come the bodies of functions and the kernel's with what is in
 * them, numbered as the statements that open them come, an `if` before its `else`. --------------------------------------------- */
typedef struct {
    uint32_t parent, depth;
    uint32_t root;    /* the body that it is in */
    uint32_t partner; /* of a branch: the other one */
    bool loop;        /* else a branch or a body */
} LlScope;
typedef struct LlHome {
    uint32_t scope;
    struct LlHome *next; /* a later scope, and none within the other */
} LlHome;
typedef struct {
    LlScope *scopes;
    uint32_t n_scopes;
    LlHome **home;   /* by ref: the scopes where a node is emitted, in order; NULL: nothing needs it */
    uint32_t *depth; /* by ref: the innermost scope that binds what the node depends on */
} LlPlaces;
LlPlaces ll_place(WbbArena *a, const IrKernel *k, const RwTables *t);

/* cache.c: code generators, LLVM's errors ------------------------------------------------------------------------------------ */
typedef struct {
    jmp_buf jump;
    char text[512];
} LlFatal;
struct LlCache {
    WbbCx *cx;
    WbbArena *arena;
    struct {
        const TgTarget *target;
        LLVMTargetMachineRef machine;
        bool huge;
    } machines[16];
    uint32_t n_machines;
    const char *libdevice; /* path and bytes, once read */
    const char *bytes;
    size_t n_bytes;
};
LLVMTargetMachineRef ll_machine(LlCache *s, const TgTarget *t, bool huge); /* huge: selects instructions and improves none */
void ll_forget_machine(LlCache *s, const TgTarget *t); /* after a fatal error: neither is to be trusted, nor to be disposed */
LlFatal *ll_catch(LlFatal *f);                           /* fatal errors of this thread go to f from now on; returns the former */

/* What made an instruction: a rule (as in IrGraph.rule), a kind of work, an HLO instruction (as in IrGraph.origin). */
typedef enum { LL_BY_LLVM, LL_BY_INSTR, LL_BY_INDEX, LL_BY_LOAD, LL_BY_STORE, LL_BY_LANES, LL_BY_LOOP, LL_BY_BRANCH, LL_BY_RETURN } LlWhat;
typedef struct {
    uint32_t what, rule, origin;
    uint32_t detail;        /* load, store: buffer; instr: type */
    LLVMMetadataRef place, in; /* in that function */
    const char *text;       /* of its comment, once made */
} LlMaker;

/* A function of the kernel. */
typedef struct {
    LLVMValueRef function;
    LLVMTypeRef type, result;
    bool *reads; /* by buffer: it is a parameter */
} LlCallee;

/* A call, all results of which are there where its scope is open. */
typedef struct {
    uint32_t scope;
    LLVMValueRef value;
} LlCalled;

/* One compile. */
typedef struct {
    LLVMBasicBlockRef block; /* the end of what is there */
    LLVMValueRef end;        /* the branch into the scope that is open below this one, else NULL */
} LlPoint;
typedef struct {
    const LlOpcode *opcode;
    const LlIntrinsic *intrinsic;
    uint32_t n_args;
    struct {
        int8_t operand; /* 0..2; -1: the constant below */
        uint8_t bits;   /* of the constant's type; 0: as the first operand */
        int64_t value;
    } args[4];
} LlRow;
typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const IrKernel *k;
    IrGraph *g;
    const TgTarget *t;
    const LlOptions *o;
    LlCache *cache;
    LlOutput out;
    LlPlaces places;
    LlPoint *points;      /* by scope */
    bool *open;           /* by scope: its statements are being built */
    uint32_t next_scope;  /* to be entered */
    LLVMValueRef *values; /* by ref: in the home that is open */
    LLVMValueRef *vars;   /* by number */
    LLVMValueRef *brought; /* by number of IrValue */
    LLVMValueRef *pointers; /* by buffer: the parameter of the function that is being built; NULL: it has none */
    bool *constant;       /* by buffer: no store changes it */
    LlCallee *callees;    /* by function of the kernel */
    WbbMap called;        /* by function and arguments, an LlCalled for calls of several results */
    IrRef *stack;         /* of nodes to be emitted */
    uint32_t n_stack, stack_capacity;
    LlRow **rows; /* by number in the instruction table */
    uint32_t libdevice_capacity;

    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMDIBuilderRef lines;
    LLVMMetadataRef lines_file, program; /* the function that is being built, as debug information knows it */
    struct {
        LlMaker *items;
        uint32_t n, capacity;
    } makers;
    WbbMap maker_numbers; /* by what a maker says, its number in `makers` */
    LLVMMemoryBufferRef memory;
    LLVMPassBuilderOptionsRef passes;
    char *text; /* LLVM's */
    LLVMTargetMachineRef machine;
    LLVMValueRef function;
    LLVMTypeRef i1, i8, i16, i32, i64;
    bool abandoned; /* a fatal error: nothing of LLVM may be touched any more */
    uint32_t n_errors;
    char diagnostics[2048];
} LlBuild;

/* type.c */
LLVMTypeRef ll_type(LlBuild *b, IrType type);          /* of a value: pred is i1 */
LLVMTypeRef ll_memory_type(LlBuild *b, IrType type);   /* in memory: pred is i8; declines types without a form */
LLVMValueRef ll_splat(LlBuild *b, LLVMValueRef x, uint32_t lanes);
LLVMValueRef ll_const(LlBuild *b, IrType type, uint64_t bits);
LLVMValueRef ll_function(LlBuild *b, const LlIntrinsic *in, LLVMTypeRef *types, size_t n, LLVMTypeRef *type);
LLVMAttributeRef ll_attribute(LlBuild *b, const char *name, uint64_t value);
void ll_take_text(LlBuild *b, char *text, const char **out, size_t *n); /* LLVM's string into the arena */

/* index.c */
LLVMValueRef ll_index(LlBuild *b, IrRef r, bool wide);  /* the value of an emitted index node, in 64 or 32 bits */
LLVMValueRef ll_index_node(LlBuild *b, IrRef r);        /* emit: sum, floordiv, mod, max, min */
LLVMValueRef ll_index_compare(LlBuild *b, IrRef r);
LLVMValueRef ll_index_cast(LlBuild *b, IrRef r);        /* idx */
LLVMValueRef ll_address(LlBuild *b, uint32_t buffer, IrRef index);
bool ll_is_wide(const IrGraph *g, IrRef r);

/* forms.c */
bool ll_is_packed(ScType t);     /* several elements to a byte */
uint32_t ll_parts(IrType t);     /* elements of LLVM's vector to a lane: 2 of complex values, else 1 */
/* An access to packed elements from `index` on; of a load, *load is LLVM's instruction. align: what facts prove of its bytes. */
LLVMValueRef ll_load_packed(LlBuild *b, LLVMValueRef base, LLVMValueRef index, IrType type, uint32_t align, LLVMValueRef *load);
LLVMValueRef ll_store_packed(LlBuild *b, LLVMValueRef v, LLVMValueRef base, LLVMValueRef index, IrType type, uint32_t align);
LLVMValueRef ll_complex(LlBuild *b, const IrNode *n); /* emit: complex, re, im */
LLVMValueRef ll_splat_pairs(LlBuild *b, LLVMValueRef x, uint32_t lanes);

/* instr.c */
LLVMValueRef ll_instr(LlBuild *b, IrRef r);

/* build.c */
void ll_build(LlBuild *b);
bool ll_is_made(LlBuild *b, IrRef r);  /* b->values[r] holds here */
void ll_demand(LlBuild *b, IrRef r, bool address);
uint32_t ll_access_align(LlBuild *b, const IrBuffer *buffer, IrType type, IrRef index);
void ll_at_scope(LlBuild *b, uint32_t scope); /* the builder, to the end of what the scope has so far */

/* statement.c */
/* Build the statements of a new scope, which begins in `block`, and then what it yields. */
typedef struct {
    LLVMBasicBlockRef block; /* where it ends */
    LLVMValueRef *values;    /* what it yields */
} LlEnd;
LlEnd ll_scope(LlBuild *b, const IrBlock *statements, LLVMBasicBlockRef block, const IrRef *yields, uint32_t n);

/* function.c */
void ll_functions(LlBuild *b);          /* those of the kernel, and the kernel's own */
LLVMValueRef ll_call(LlBuild *b, IrRef r); /* emit: a call */

/* lines.c */
void ll_lines_begin(LlBuild *b);
void ll_lines_function(LlBuild *b, const char *name); /* what comes is in b->function */
/* Instructions built from now on belong to the node r, to a store, to a loop or a branch. */
void ll_lines_at(LlBuild *b, IrRef r);
void ll_lines_store(LlBuild *b, const IrStmt *s);
void ll_lines_control(LlBuild *b, LlWhat what);
void ll_lines_end(LlBuild *b);

/* provenance.c */
void ll_say_ptx(LlBuild *b);         /* out.ptx as it came from LLVM to what was asked for */
const char *ll_say_llvm(LlBuild *b); /* the module as text */

/* libdevice.c */
void ll_link(LlBuild *b);

#endif
