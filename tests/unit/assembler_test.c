/* assembler: a library assembles in this process, for several threads at once; what it refuses or does not end with
 * becomes a message; and what is found where. */
#include "target/assembler.h"

#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    const char *ptx;
    uint32_t seconds;
    TgAssembly out;
    WbbArena *arena;
    const char *message;
} Job;

static void assemble(WbbCx *cx, void *arg)
{
    Job *j = arg;
    j->arena = wbb_arena_new(cx);
    j->out = tg_run_assembler(cx, j->arena, &(TgText){.ptx = j->ptx, .arch = "sm_80", .seconds = j->seconds});
}

static void test_library(void **state)
{
    WbbCx *cx = *state;
    Job j = {.ptx = "// hello"};
    assert_int_equal(wbb_guard(cx, assemble, &j), WBB_OK);
    assert_non_null(j.out.cubin.bytes);
    assert_int_equal(j.out.cubin.n, strlen("-arch=sm_80 // hello"));
    assert_memory_equal(j.out.cubin.bytes, "-arch=sm_80 // hello", j.out.cubin.n);
    const TgAssembler x = tg_find_assembler(cx, j.arena);
    assert_string_equal(tg_version_of(cx, j.arena, &x), "nvptxcompiler 13.7");
}

static void test_refused(void **state)
{
    WbbCx *cx = *state;
    Job j = {.ptx = "refuse"};
    assert_int_equal(wbb_guard(cx, assemble, &j), WBB_OK);
    assert_null(j.out.cubin.bytes);
    assert_null(j.out.ended);
    assert_string_equal(j.out.log, "line 1: refused\n");
}

/* One that can be told to stop ends; one that cannot is left behind. */
static void test_endless(void **state)
{
    static const char *const texts[] = {"endless", "stubborn"};
    for (int k = 0; k < 2; k++) {
        Job j = {.ptx = texts[k], .seconds = 1};
        const double start = wbb_now_ms();
        assert_int_equal(wbb_guard(*state, assemble, &j), WBB_OK);
        assert_null(j.out.cubin.bytes);
        assert_string_equal(j.out.ended, "did not end in 1 seconds");
        assert_true(wbb_now_ms() - start < 30000);
    }
}

enum { THREADS = 4, TIMES = 50 };

/* In a thread with a small stack: every text gets its own code. */
static void *many(void *arg)
{
    size_t *bad = arg;
    WbbCx *cx = wbb_cx_new();
    char text[64], expected[96];
    for (size_t k = 0; k < TIMES; k++) {
        snprintf(text, sizeof text, "// %zu of %p", k, arg);
        snprintf(expected, sizeof expected, "-arch=sm_80 %s", text);
        Job j = {.ptx = text};
        if (wbb_guard(cx, assemble, &j) != WBB_OK || j.out.cubin.n != strlen(expected) ||
            memcmp(j.out.cubin.bytes, expected, j.out.cubin.n) != 0)
            ++*bad;
        wbb_arena_free(j.arena);
    }
    wbb_cx_free(cx);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    size_t bad[THREADS] = {0};
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    for (int k = 0; k < THREADS; k++) assert_int_equal(pthread_create(&threads[k], &small, many, &bad[k]), 0);
    for (int k = 0; k < THREADS; k++) pthread_join(threads[k], NULL);
    for (int k = 0; k < THREADS; k++) assert_int_equal(bad[k], 0);
}

/* A library without the functions is missing, as is what does not exist. */
static void test_missing(void **state)
{
    WbbCx *cx = *state;
    char folder[] = "/tmp/warpburg_assembler.XXXXXX", path[128];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libnvptxcompiler.so", folder);
    Job j = {.ptx = "// hello"};
    const char *had = getenv("WARPBURG_PTXAS");
    char *kept = strdup(had);
    setenv("WARPBURG_PTXAS", path, 1);
    assert_int_equal(wbb_guard(cx, assemble, &j), WBB_OK);
    assert_non_null(strstr(j.out.cubin.missing, "was not found"));
    FILE *f = fopen(path, "w");
    fputs("no library", f);
    fclose(f);
    assert_int_equal(wbb_guard(cx, assemble, &j), WBB_OK);
    assert_non_null(strstr(j.out.cubin.missing, "cannot be loaded"));
    setenv("WARPBURG_PTXAS", kept, 1);
    free(kept);
    unlink(path);
    rmdir(folder);
}

static void put(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *p = path + strlen(folder) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = 0;
        (void)mkdir(path, 0777);
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
}

/* In NVIDIA's packages: CUDA 13's before older ones. */
static void test_packages(void **state)
{
    WbbCx *cx = *state;
    WbbArena *a = wbb_arena_new(cx);
    const char *folder = wbb_temp_dir(cx, a);
    put(folder, "cuda_nvcc/bin/ptxas");
    put(folder, "nvjitlink/lib/libnvJitLink.so.12");
    setenv("WARPBURG_NVIDIA", wbb_format(a, "/nowhere:%s", folder), 1);
    const char *found = tg_find_in_packages(cx, a, "bin/ptxas");
    assert_string_equal(found, wbb_format(a, "%s/cuda_nvcc/bin/ptxas", folder));
    put(folder, "cu13/bin/ptxas");
    found = tg_find_in_packages(cx, a, "bin/ptxas");
    assert_string_equal(found, wbb_format(a, "%s/cu13/bin/ptxas", folder));
    assert_null(tg_find_in_packages(cx, a, "bin/nvdisasm"));
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    assert_string_equal(tg_find_kind(cx, a, TG_PTXAS), found);
    found = tg_find_kind(cx, a, TG_NVJITLINK);
    assert_string_equal(found, wbb_format(a, "%s/nvjitlink/lib/libnvJitLink.so.12", folder));
    setenv("PATH", path, 1);
    free(path);
    unsetenv("WARPBURG_NVIDIA");
    const char *const argv[] = {"rm", "-r", folder, NULL};
    assert_int_equal(wbb_run_process(cx, a, argv, 20, NULL).status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_library), TEST(test_refused), TEST(test_endless),
                                       TEST(test_threads), TEST(test_missing), TEST(test_packages)};
    setenv("WARPBURG_PTXAS", getenv("FAKE_NVPTXCOMPILER"), 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
