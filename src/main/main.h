/* main: the command line. Each command is a file, with tables of what it takes (command.h).
 *
 * main.c and run_main.c list the commands of the two executables; dispatch.c calls the one that is asked for. This
 * header declares the commands, and the rows of options that several commands take: T is the command's struct,
 * which has a field of the option's name.
 */
#ifndef MAIN_MAIN_H
#define MAIN_MAIN_H

#include "main/command.h"
#include "scalar/scalar.h"

/* Without a compiler: run.c, eval.c. */
extern const Command main_run_bundle, main_eval, main_batch;
/* With a compiler: main_compile and main_run are in compile.c, each other in the file of its name. */
extern const Command main_compile, main_run, main_hlo, main_fuse, main_map, main_graph, main_ir, main_stats;
extern const Command main_cache, main_assembler, main_explore;

/* Rows of options. */
#define MAIN_OPTION_JSON(T)                                                                                            \
    {FLAG("--json", T, json, "print JSON, one object a line")}
#define MAIN_OPTION_TARGET(T)                                                                                          \
    {WORD("--target", T, target, "SM", "compile for this GPU generation"), .standard = "sm_90",                        \
     .choices = {.list = main_target_names}}
/* Fields `const char *accuracy` and `bool approx`; main_accuracy reads them. */
#define MAIN_OPTION_ACCURACY(T)                                                                                        \
    {WORD("--accuracy", T, accuracy, "LEVEL",                                                                          \
          "how far functions may be off, as `rules budget` says: little; as much as XLA's own; as the machine's "      \
          "approximations"), .choices = {.words = "exact xla approx"}},                               \
    {FLAG("--approx", T, approx, "the same as --accuracy approx")}
/* Field `const char *assume`; main_read_hlo takes it. */
#define MAIN_OPTION_ASSUME(T)                                                                                          \
    {WORD("--assume", T, assume, "LIST",                                                                               \
          "what holds of every operation on floats, some of contract,nnan,nsz: a sum may take a product unrounded; "   \
          "no value is a nan; the sign of a zero does not matter (docs/assume.md)")}
#define MAIN_OPTION_DETERMINISTIC(T)                                                                                   \
    {FLAG("--deterministic", T, deterministic,                                                                         \
          "combine the updates of a scatter in their order: the same bits in every run, at the price of a sort")}
#define MAIN_OPTION_BACKEND(T)                                                                                         \
    {WORD("--backend", T, backend, "WHICH",                                                                            \
          "what writes the PTX: LLVM; the tables, which decline what they have no text for; or the tables, and LLVM, "   \
          "where the build has it, for that: the default"), .choices = {.words = "llvm ptx either"}}
#define MAIN_OPTION_DISABLE(T)                                                                                         \
    {LIST("--disable", T, disable, "RULE", "do not apply a rule, FILE.py:LINE or FILE.py:LINE[INSTANCE]")}
#define MAIN_OPTION_ALIGN(T)                                                                                           \
    {NUMBER("--align", T, align, "BYTES", "alignment of buffers, their elements' at least"), .standard = "16",         \
     .choices = {.words = "1 2 4 8 16 32 64 128 256"}}
#define MAIN_OPTION_LAYOUT(T)                                                                                          \
    {WORD("--layout", T, layout, "TEXT",                                                                               \
          "the layout that the kernel has: which thread has which elements; --emit plan prints one")}
#define MAIN_OPTION_PLAN(T)                                                                                            \
    {WORD("--plan", T, plan, "FILE",                                                                                   \
          "follow this plan: the choices that --emit plan prints, of one kernel or of a program, or some others"),     \
     .value = VALUE_FILE}
#define MAIN_OPTION_LINES(T)                                                                                           \
    {FLAG("--lines", T, lines, "put the lines of rules and of the HLO text into the PTX, as .loc")}
#define MAIN_OPTION_CUT(T)                                                                                             \
    {WORD("--cut", T, cut, "HOW", "which kernels a module becomes: the same on every target, or by modelled time"),    \
     .standard = "priced", .choices = {.words = "plain priced"}}
enum { MAIN_THREADS = 16 }; /* of the simulator and the evaluator, at most */
#define MAIN_OPTION_NO_CACHE(T)                                                                                        \
    {FLAG("--no-cache", T, no_cache, "take nothing from the cache of earlier runs, and keep nothing there")}
#define MAIN_OPTION_JOBS(T, what, standard)                                                                            \
    {NUMBER("--jobs", T, jobs, "N", what " (default: the number of cores, " standard " at most)"), .letter = 'j'}
#define MAIN_OPTION_INPUTS(T)                                                                                          \
    {LIST("--input", T, inputs, "F.npy", "value of the next parameter, instead of made values"),                       \
     .value = VALUE_FILE}
#define MAIN_OPTION_SEED(T, what)                                                                                      \
    {NUMBER("--seed", T, seed, "N", what), .standard = "0"}
#define MAIN_OPTION_CASE(T)                                                                                            \
    {WORD("--case", T, which, "CASE",                                                                                  \
          "which values are made; w: usual ones, indices of all rows; n: those with indices 0 to 7, e: with edge "      \
          "values, p: without negative floats, d: of each sum one outweighs the others, s: sums that no order can "      \
          "round, t: tiny, u: subnormal, c: constants of the kernel"),                                                                                               \
     .standard = "w", .choices = {.words = "w n e p d s t u c"}}

/* run.c: what --accuracy and --approx say; SC_EXACT if they are not given. */
ScAccuracy main_accuracy(const char *accuracy, bool approx);

/* run.c: the text of a file, with --assume LIST in its header; LIST NULL: as it is. */
const char *main_read_hlo(WbbCx *cx, WbbArena *a, const char *file, const char *assume, size_t *n);

/* files.c: names of files, where a folder stands for the modules in it, and in its folders: names that end in .hlo,
 * and the texts of modules that XLA dumps. `bundles`: a folder that holds a bundle stays one word. */
Words main_files(WbbCx *cx, WbbArena *a, const Words *words, bool bundles);
/* The folder of a file's bundle among those of several files: "generated/softmax" of corpus/generated/softmax.hlo,
 * where the word was corpus. */
const char *main_stem(WbbArena *a, const Words *words, const char *file);
/* Where what is made of each file goes: a single one's to `output`, several ones' to OUTPUT/STEM, each its own: fails
 * where two are the same, and says what they are. NULLs where there is no output. */
const char **main_folders(WbbCx *cx, WbbArena *a, const Words *words, const Words *files, const char *output,
                          const char *what);

/* What became of several files, or kernels. */
typedef struct {
    uint32_t good, wrong, failed, declined[WHY_COUNT]; /* wrong: WBB_CHECK */
} Outcomes;
void main_count(Outcomes *o, WbbStatus s, WbbWhy why);
/* The same of texts that a quotation mark ends: ok", declined", and a reason. */
void main_count_named(Outcomes *o, const char *status, const char *reason);
/* Notes "9 files: 7 compiled, 2 declined (1 library, 1 shape), 0 failed". */
void main_note_outcomes(WbbCx *cx, const Outcomes *o, const char *what, const char *done);

/* each.c: the same work for each file of a command, one after the other. */
typedef WbbStatus MainOne(const Call *call, const char *file, const char *output);
typedef struct {
    const Words *words;
    const char *output; /* NULL: none. Of several files `one` gets OUTPUT/STEM, of a single one OUTPUT */
    const char *done;   /* "run", of a file that came to its end */
    const char *single; /* an option that was given and is about one file; NULL: there is none */
    bool bundles;
    MainOne *one;
} Each;
/* The worst status: one bad file does not stop the others; of several, outcomes are counted in a note. */
WbbStatus main_each_file(const Call *call, const Each *e);

/* compile.c: choices of rows: targets, and passes over the IR. */
const char *main_target_names(WbbArena *a);
const char *main_pass_names(WbbArena *a);

#endif
