/* inner.h: the declarations that the files of llvm/ share, private to the module.
 *
 * Calls go one way: compile.c -> function.c -> statement.c -> node.c -> load.c, call.c, instr.c, index.c, forms.c ->
 * type.c. */
#ifndef LL_INNER_H
#define LL_INNER_H

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <setjmp.h>

#include "ir/demand.h"
#include "ir/module.h"
#include "ir/sums.h"
#include "llvm/llvm.h"

enum { LL_GLOBAL = 1, LL_SHARED = 3, LL_CONSTANT = 4 }; /* LLVM's address spaces */

/* intrinsics.c */
/* LL_ATOMIC orders no other access: LLVM leaves the order of some out of the PTX (22.1: of inc). LL_EXCHANGE compares
 * first */
typedef enum {
    LL_BINARY, LL_CAST, LL_ICMP, LL_FCMP, LL_FNEG, LL_SELECT, LL_ATOMIC, LL_EXCHANGE
} LlForm;
typedef struct {
    const char *name; /* "icmp slt" */
    uint8_t form;
    uint16_t code; /* LLVMOpcode, or predicate */
} LlOpcode;
typedef struct {
    const char *name;
    const char *overloads; /* the overloaded types, in order: r result, a b c operands; "" if not overloaded */
} LlIntrinsic;
const LlOpcode *ll_opcode(const char *name, size_t n); /* NULL: not in the table */
const LlIntrinsic *ll_intrinsic(const char *name, size_t n);

/* cache.c: code generators and LLVM's fatal errors */
typedef struct {
    jmp_buf jump;
    char text[512];
} LlFatal;
struct LlCache {
    WbbCx *cx;
    WbbArena *arena;
    struct {
        const char *target, *ptx; /* name and version: targets with numbers disabled are copies that share them */
        LLVMTargetMachineRef machine;
        bool huge;
    } machines[16];
    uint32_t n_machines;
    const char *libdevice; /* path; NULL: not read yet */
    const char *bytes;
    size_t n_bytes;
};
LLVMTargetMachineRef ll_machine(LlCache *s, const TgTarget *t, bool huge); /* huge: without LLVM's own improvements */
/* after a fatal error: drops the machines without disposing them */
void ll_forget_machine(LlCache *s, const TgTarget *t);
/* fatal errors of this thread go to f; returns the previous one */
LlFatal *ll_catch(LlFatal *f);

typedef struct {
    IrMaker made;
    LLVMMetadataRef location; /* debug location whose line is the maker's number */
    LLVMMetadataRef function; /* the function of `location` */
    const char *text;         /* its comment; NULL: not made yet */
} LlMaker;

/* A function of the kernel. */
typedef struct {
    LLVMValueRef function;
    LLVMTypeRef type, result;
    bool *reads; /* by buffer: true if it is a parameter */
} LlCallee;

/* A call with several results, available while its scope is open. */
typedef struct {
    uint32_t scope;
    LLVMValueRef value;
} LlCalled;

/* Where the nodes of a scope are emitted. */
typedef struct {
    LLVMBasicBlockRef block; /* the last block of the scope so far */
    LLVMValueRef before;     /* insert before this branch into an open inner scope; NULL: at the end of `block` */
} LlInsertPoint;

/* A row of the instruction table, parsed. */
typedef struct {
    const LlOpcode *opcode;
    const LlIntrinsic *intrinsic;
    uint32_t n_args;
    struct {
        int8_t operand; /* 0..2; -1: the constant below; -2, -3, -4: an immediate of the node */
        uint8_t bits;   /* width of the constant's type; 0: the type of the first operand */
        int64_t value;
    } args[4];
} LlRow;

/* One compile. */
typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const IrKernel *k;
    IrGraph *g;
    const TgTarget *t;
    const LlOptions *o;
    LlCache *cache;
    LlOutput out;
    IrPlacement scopes;
    LlInsertPoint *points;  /* by scope */
    bool *open;             /* by scope: its statements are being built */
    uint32_t next_scope;    /* number of the scope that is entered next */
    LLVMValueRef *values;   /* by ref: the value in the open scope that emitted the node; see ir/demand.h */
    LLVMValueRef *vars;     /* by number of IrVar */
    LLVMValueRef *results;  /* by number of IrValue */
    /* by buffer: its pointer in the function that is being built; NULL: the function does not read it */
    LLVMValueRef *pointers;
    bool *constant;         /* by buffer: no store changes it */
    bool *done;             /* by buffer: a `do` accesses it */
    bool *turned;           /* by buffer: a `repeat` stores to it, when it is this thread's turn: others see that */
    LlCallee *callees;      /* by function of the kernel */
    WbbMap called;          /* by function and arguments, an LlCalled for calls of several results */
    WbbMap offsets;         /* by block and terms, the sums and addresses that were made of them */
    IrDemand demand;
    LlRow **rows; /* by number in the instruction table */
    uint32_t libdevice_capacity;

    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMDIBuilderRef lines;
    LLVMMetadataRef lines_file, program; /* debug information: the file of makers, the function that is being built */
    struct {
        LlMaker *items;
        uint32_t n, capacity;
    } makers;
    WbbMap maker_numbers; /* by what a maker says, its number in `makers` */
    LLVMMemoryBufferRef memory;
    LLVMPassBuilderOptionsRef passes;
    char *text; /* allocated by LLVM, disposed of with the compile */
    LLVMTargetMachineRef machine;
    LLVMValueRef function;
    LLVMTypeRef i1, i8, i16, i32, i64;
    size_t reserved; /* bytes, by wbb_reserve */
    bool abandoned; /* after a fatal error: LLVM's objects must not be used or disposed of */
    uint32_t n_errors;
    char diagnostics[2048];
} LlBuild;

/* type.c */
LLVMTypeRef ll_type(LlBuild *b, IrType type);          /* of a value: pred is i1 */
LLVMTypeRef ll_memory_type(LlBuild *b, IrType type);   /* in memory: pred is i8; declines types that LLVM lacks */
uint32_t ll_parts(IrType t);                           /* elements of LLVM's vector per lane: 2 for complex, else 1 */
LLVMValueRef ll_splat(LlBuild *b, LLVMValueRef x, uint32_t lanes);
LLVMValueRef ll_const(LlBuild *b, IrType type, uint64_t bits);
LLVMValueRef ll_function(LlBuild *b, const LlIntrinsic *in, LLVMTypeRef *types, size_t n, LLVMTypeRef *type);
LLVMAttributeRef ll_attribute(LlBuild *b, const char *name, uint64_t value);
/* copies LLVM's string to the arena, disposes of it */
void ll_take_text(LlBuild *b, char *text, const char **out, size_t *n);

/* index.c */
LLVMValueRef ll_index(LlBuild *b, IrRef r, bool wide); /* the value of an emitted index node, in 64 or 32 bits */
LLVMValueRef ll_index_node(LlBuild *b, IrRef r);       /* emits sum, floordiv, mod, max, min */
LLVMValueRef ll_index_compare(LlBuild *b, IrRef r);    /* emits a comparison of index values; NULL: it is not one */
LLVMValueRef ll_index_cast(LlBuild *b, IrRef r);       /* emits idx */
LLVMValueRef ll_address(LlBuild *b, uint32_t buffer, IrRef index);

/* forms.c */
/* Accesses to packed elements, the first at element `index`, of proved byte alignment `align`. *load: LLVM's load
 * instruction. */
LLVMValueRef ll_load_packed(LlBuild *b, LLVMValueRef base, LLVMValueRef index, IrType type, uint32_t align,
                            LLVMValueRef *load);
LLVMValueRef ll_store_packed(LlBuild *b, LLVMValueRef v, LLVMValueRef base, LLVMValueRef index, IrType type,
                             uint32_t align);
LLVMValueRef ll_complex(LlBuild *b, const IrNode *n); /* emits complex, re, im */
LLVMValueRef ll_splat_pairs(LlBuild *b, LLVMValueRef x, uint32_t lanes);

/* instr.c */
LLVMValueRef ll_instr(LlBuild *b, IrRef r);
/* The same for a `do`: it stays where it is built. address: of the memory that it accesses, or NULL. */
LLVMValueRef ll_instr_at(LlBuild *b, IrRef r, LLVMValueRef address, LLVMValueRef from);
/* one that is not overloaded, by its name in intrinsics.c; args: NULL where it takes none */
LLVMValueRef ll_call_intrinsic(LlBuild *b, const char *name, LLVMValueRef *args);
LLVMValueRef ll_barrier(LlBuild *b); /* of the threads of the block */
void ll_cluster_barrier(LlBuild *b); /* .. of the cluster */
/* The same address in the shared memory of block number `rank` of the cluster. */
LLVMValueRef ll_peer(LlBuild *b, LLVMValueRef address, uint64_t rank);
void ll_copy_group(LlBuild *b, const IrNode *n); /* copy_commit, copy_wait */

/* call.c */
LLVMValueRef ll_call(LlBuild *b, IrRef r); /* emits a call */

/* load.c */
/* the value in memory at an index, of any type; both are emitted already */
LLVMValueRef ll_load(LlBuild *b, IrRef r, uint32_t buffer, IrRef index);
uint32_t ll_align(LlBuild *b, uint32_t buffer, IrType type, IrRef index); /* of an access, in bytes */
/* Makes a load or a store one that may meet others of the kind, and atomics. */
void ll_relaxed(const LlBuild *b, LLVMValueRef access, IrType type);

/* node.c */
void ll_emit(void *build, IrRef r, uint32_t scope); /* an IrEmit */
void ll_at_scope(LlBuild *b, uint32_t scope);      /* moves the builder to the insert point of the scope */

/* statement.c */
typedef struct {
    LLVMBasicBlockRef block; /* the last block of the scope */
    LLVMValueRef *values;    /* of the yields */
} LlScopeEnd;
/* Builds the statements of the next scope, from `block` on, and its n yields. */
LlScopeEnd ll_scope(LlBuild *b, const IrBlock *statements, LLVMBasicBlockRef block, const IrRef *yields, uint32_t n);

/* addresses.c */
void ll_plain_addresses(LlBuild *b); /* addresses in units of elements */

/* zeros.c */
void ll_keep_zeros(LlBuild *b); /* no select between zeros of two signs becomes a minimum or maximum */

/* maxima.c */
void ll_keep_maxima(LlBuild *b); /* no maximum of three operands where it is no cheaper than two of two */

/* function.c */
void ll_build(LlBuild *b); /* the kernel and its functions */

/* lines.c */
void ll_lines_begin(LlBuild *b);
void ll_lines_function(LlBuild *b, const char *name); /* b->function is the function that is built from here on */
/* Instructions built from here on belong to the node r, to an access, to a loop or a branch. */
void ll_lines_at(LlBuild *b, IrRef r);
void ll_lines_access(LlBuild *b, IrWhat what, IrRef value, uint32_t buffer);
void ll_lines_control(LlBuild *b, IrWhat what);
void ll_lines_end(LlBuild *b);

/* provenance.c */
void ll_annotate_ptx(LlBuild *b);      /* out.ptx from LLVM's text to the text that the options ask for */
const char *ll_print_llvm(LlBuild *b); /* the module as text, with comments if the options ask for them */

/* libdevice.c */
void ll_link(LlBuild *b);

#endif
