/* files.h: makes a fuzzer a program that reads the given files, for machines without libFuzzer and to reproduce a
 * crash. A fuzzer includes it after its LLVMFuzzerTestOneInput. Without -DFUZZ_FILES it has no effect.
 *
 *     build/tests/map_fuzz crash-1234
 */
#ifndef FUZZ_FILES_H
#define FUZZ_FILES_H
#ifdef FUZZ_FILES

int main(int argc, char **argv)
{
    for (int k = 1; k < argc; k++) {
        FILE *f = fopen(argv[k], "rb");
        if (!f) return 2;
        static uint8_t bytes[1 << 22];
        const size_t n = fread(bytes, 1, sizeof bytes, f);
        fclose(f);
        (void)LLVMFuzzerTestOneInput(bytes, n);
    }
    return 0;
}

#endif
#endif
