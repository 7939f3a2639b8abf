/* serve_kernels.c - runs kernels for the tests of another machine (tests/kernels/other_cpu.py), by pipes.
 *
 * First writes the ISA levels: their number, then for each whether it is supported, and its name. Then reads requests:
 * a head, the operands as asc_tensor whose `data` is the place within their bytes, the sizes of these, the arguments,
 * and the bytes of the inputs. Answers with a code, the status, and the bytes of the outputs, which a pattern filled.
 * Both sides are little-endian and have the same structs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ascend_rt.h"

#define PATTERN 0xa5
#define MOST 256 /* operands, and arguments of a kind are read as they come */

typedef struct head {
    char op[64];
    int32_t isa, threads;
    uint32_t n_in, n_out, n_ints, n_floats;
} head;

static void fail(const char *text) {
    fprintf(stderr, "serve_kernels: %s\n", text);
    exit(2);
}

static void read_all(void *to, size_t bytes) {
    if (bytes && fread(to, 1, bytes, stdin) != bytes) fail("a request ends early");
}

static void write_all(const void *from, size_t bytes) {
    if (bytes && fwrite(from, 1, bytes, stdout) != bytes) fail("nobody reads the answer");
}

static void *room(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!memory) fail("no memory");
    return memory;
}

static void say_levels(void) {
    int32_t count = ASC_ISA_COUNT;
    write_all(&count, sizeof count);
    for (int32_t isa = 0; isa < count; isa++) {
        char name[16] = {0};
        int32_t supported = asc_isa_supported(isa);
        strncpy(name, asc_isa_name(isa), sizeof name - 1);
        write_all(&supported, sizeof supported);
        write_all(name, sizeof name);
    }
    fflush(stdout);
}

static void serve(const head *h) {
    static asc_tensor operands[MOST];
    static uint64_t bytes[MOST];
    void *memory[MOST];
    uint32_t n = h->n_in + h->n_out;
    if (n > MOST) fail("too many operands");
    read_all(operands, n * sizeof *operands);
    read_all(bytes, n * sizeof *bytes);
    int64_t *ints = room(h->n_ints * sizeof *ints);
    double *floats = room(h->n_floats * sizeof *floats);
    read_all(ints, h->n_ints * sizeof *ints);
    read_all(floats, h->n_floats * sizeof *floats);
    for (uint32_t i = 0; i < n; i++) {
        memory[i] = room(bytes[i]);
        if (i < h->n_in)
            read_all(memory[i], bytes[i]);
        else
            memset(memory[i], PATTERN, bytes[i]);
        operands[i].data = operands[i].dtype == ASC_UNDEFINED ? NULL : (char *)memory[i] + (uintptr_t)operands[i].data;
    }
    asc_status status;
    int32_t code = asc_kernel_call(h->isa, h->op, operands, h->n_in, operands + h->n_in, h->n_out, ints, h->n_ints,
                                   floats, h->n_floats, h->threads, &status);
    write_all(&code, sizeof code);
    write_all(&status, sizeof status);
    for (uint32_t i = 0; i < n; i++) {
        if (i >= h->n_in) write_all(memory[i], bytes[i]);
        free(memory[i]);
    }
    fflush(stdout);
    free(ints);
    free(floats);
}

int main(void) {
    head h;
    say_levels();
    while (fread(&h, sizeof h, 1, stdin) == 1) serve(&h);
    return 0;
}
