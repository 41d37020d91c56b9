/* library_threads: 8 threads compile the same fusions at once, with a context each, and get the bytes that one gets.
 * Run by tests/doors/library.py, which gives the files and the number of compiles of a thread.
 *
 *     library_threads 12 a.hlo b.hlo   ->   "8 threads, 12 compiles each, 2 files: 0 differ"
 */
#include "warpburg.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, MOST = 4096 };

typedef struct {
    char *text, *first; /* first: status, messages, PTX and kernel.json of the compile alone */
} File;

static File files[MOST];
static int n_files, n_compiles;

static char *compile(wb_context *cx, const char *text)
{
    wb_kernel *k = NULL;
    const wb_status s = wb_compile(cx, "f.hlo", text, strlen(text), NULL, &k);
    const char *ptx = k ? wb_kernel_ptx(k) : "", *json = k ? wb_kernel_json(k) : "", *said = wb_messages(cx);
    const size_t n = strlen(ptx) + strlen(json) + strlen(said) + 32;
    char *all = malloc(n);
    snprintf(all, n, "%d\n%s%s%s", (int)s, said, ptx, json);
    wb_kernel_free(k);
    return all;
}

static void *compile_all(void *arg)
{
    wb_context *cx = wb_context_new();
    intptr_t differ = 0;
    for (int i = 0; i < n_compiles; i++) {
        const File *f = &files[(i + *(int *)arg * 7) % n_files]; /* each thread has an order of its own */
        char *got = compile(cx, f->text);
        differ += strcmp(got, f->first) != 0;
        free(got);
    }
    wb_context_free(cx);
    return (void *)differ;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    intptr_t differ = 0;
    wb_context *cx = wb_context_new();
    n_compiles = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 2; i < argc && n_files < MOST; i++) {
        FILE *f = fopen(argv[i], "rb");
        if (!f) return perror(argv[i]), 1;
        char *text = calloc(1, 1 << 20);
        if (!fread(text, 1, (1 << 20) - 1, f)) return 1;
        fclose(f);
        files[n_files++] = (File){text, compile(cx, text)};
    }
    wb_context_free(cx);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, compile_all, &numbers[i])) return 1;
    }
    for (int i = 0; i < THREADS; i++) {
        void *d;
        pthread_join(threads[i], &d);
        differ += (intptr_t)d;
    }
    printf("%d threads, %d compiles each, %d files: %d differ\n", THREADS, n_compiles, n_files, (int)differ);
    for (int i = 0; i < n_files; i++) free(files[i].text), free(files[i].first);
    return differ != 0;
}
