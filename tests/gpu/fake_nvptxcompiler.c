/* fake_nvptxcompiler: nvPTXCompiler's functions, for tests. The "machine code" of a text is the text behind its
 * options; words of the text say what goes wrong: `refuse`, `crash`, `endless` (until the callback says stop),
 * `stubborn` (a minute, whatever it says).
 *
 *     "// hello" for -arch=sm_80   ->   "-arch=sm_80 // hello"
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#ifdef NEEDS_CXX /* as archives from 13.5 on: something of the C++ library */
extern char object_of_cxx[] __asm__("_ZSt4cerr");
#else
static char object_of_cxx[1];
#endif

typedef struct {
    char *text, *code, *log;
    int (*callback)(void *, void *);
    void *payload;
} Compiler;

API int nvPTXCompilerGetVersion(unsigned *major, unsigned *minor)
{
    char *volatile object = object_of_cxx; /* volatile: no compiler can leave it out */
    return *major = 13, *minor = 7, object ? 0 : 1;
}

API int nvPTXCompilerCreate(Compiler **c, size_t n, const char *text)
{
    if (n != strlen(text) + 1) return 2; /* the zero counts */
    *c = calloc(1, sizeof **c);
    (*c)->text = strdup(text);
    return 0;
}

API int nvPTXCompilerDestroy(Compiler **c)
{
    free((*c)->text), free((*c)->code), free((*c)->log), free(*c);
    *c = NULL;
    return 0;
}

API int nvPTXCompilerSetFlowCallback(Compiler *c, int (*callback)(void *, void *), void *payload)
{
    c->callback = callback, c->payload = payload;
    return 0;
}

API int nvPTXCompilerCompile(Compiler *c, int n, const char *const *options)
{
    size_t room = strlen(c->text) + 1;
    if (strstr(c->text, "refuse")) return c->log = strdup("line 1: refused\n"), 3;
    if (strstr(c->text, "crash")) *(volatile int *)0 = 1;
    if (strstr(c->text, "endless")) {
        while (!c->callback(c->payload, NULL)) (void)poll(NULL, 0, 10);
        return 9;
    }
    if (strstr(c->text, "stubborn")) (void)poll(NULL, 0, 60000);
    for (int k = 0; k < n; k++) room += strlen(options[k]) + 1;
    c->code = calloc(1, room);
    for (int k = 0; k < n; k++) strcat(strcat(c->code, options[k]), " ");
    strcat(c->code, c->text);
    return 0;
}

API int nvPTXCompilerGetCompiledProgramSize(Compiler *c, size_t *n) { return *n = strlen(c->code), 0; }
API int nvPTXCompilerGetCompiledProgram(Compiler *c, void *out) { return memcpy(out, c->code, strlen(c->code)), 0; }
API int nvPTXCompilerGetErrorLogSize(Compiler *c, size_t *n) { return *n = c->log ? strlen(c->log) : 0, 0; }
API int nvPTXCompilerGetErrorLog(Compiler *c, char *out) { return memcpy(out, c->log, strlen(c->log)), 0; }
API int nvPTXCompilerGetInfoLogSize(Compiler *c, size_t *n) { return (void)c, *n = 0, 0; }
API int nvPTXCompilerGetInfoLog(Compiler *c, char *out) { return (void)c, (void)out, 0; }
