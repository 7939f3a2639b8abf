/* run_bundle.c - `run_bundle m.om RUNS 2x1024 ...`: a program on the public interface alone. It opens a bundle, binds
 * its first partition to float32 inputs of these dims, and runs it on ones. It prints "ready", and after each line that
 * it reads the first element of the first output, or the code and text of the error. Exits 0 when all runs succeeded,
 * 1 for an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ascend_rt.h"

#define MOST 8

static int say(const char *step, int32_t code, const asc_status *status) {
    printf("%s: error %d: %s\n", step, code, status->text);
    return 1;
}

/* The number of elements; 0 when the text is no dims. */
static size_t read_dims(const char *text, asc_tensor *t) {
    size_t n = 1;
    t->dtype = ASC_FLOAT32;
    for (char *end; t->rank < ASC_MAX_RANK; text = end + 1) {
        long dim = strtol(text, &end, 10);
        if (end == text || dim < 1) return 0;
        t->dims[t->rank++] = dim;
        n *= (size_t)dim;
        if (*end != 'x') return *end ? 0 : n;
    }
    return 0;
}

static float *ones(size_t n) {
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; x && i < n; i++) x[i] = 1;
    return x;
}

static size_t bytes_of(const asc_tensor *t) {
    size_t n = asc_dtype_bytes(t->dtype);
    for (int32_t d = 0; d < t->rank; d++) n *= (size_t)t->dims[d];
    return n;
}

static int run(asc_bound *bound, const void *const *in, int runs) {
    const asc_tensor *outputs;
    asc_status status;
    uint32_t n = asc_bound_outputs(bound, &outputs);
    void *out[MOST] = {0};
    int ready = n <= MOST, failed = 0;
    for (uint32_t i = 0; i < n && ready; i++) ready = (out[i] = calloc(bytes_of(&outputs[i]) + 1, 1)) != NULL;
    puts(ready ? "ready" : "run: no memory for outputs");
    fflush(stdout);
    for (int r = 0; r < runs && ready && getchar() != EOF; r++) {
        int32_t code = asc_execute(bound, in, out, NULL, &status);
        if (code != ASC_OK)
            failed = say("run", code, &status);
        else
            printf("%g\n", (double)*(const float *)out[0]);
        fflush(stdout);
    }
    for (uint32_t i = 0; i < n && i < MOST; i++) free(out[i]);
    return failed || !ready;
}

int main(int argc, char **argv) {
    asc_options options = {.struct_bytes = sizeof options};
    asc_status status;
    asc_model *model = NULL;
    asc_bound *bound = NULL;
    asc_tensor shapes[MOST] = {0};
    const void *in[MOST] = {0};
    uint32_t n = 0;
    int failed = argc < 4 || argc > 3 + MOST;
    for (; !failed && n < (uint32_t)argc - 3; n++) {
        size_t elements = read_dims(argv[3 + n], &shapes[n]);
        failed = !elements || !(in[n] = ones(elements));
    }
    if (failed) fputs("usage: run_bundle m.om RUNS 2x1024 ...; or there is no memory for the inputs\n", stdout);
    int32_t code = failed ? ASC_OK : asc_model_open(argv[1], &options, &model, &status);
    if (code != ASC_OK) failed = say("open", code, &status);
    code = failed ? ASC_OK : asc_bind(model, 0, shapes, n, &bound, &status);
    if (code != ASC_OK) failed = say("bind", code, &status);
    if (bound) failed = run(bound, in, atoi(argv[2]));
    asc_bound_release(bound);
    asc_model_release(model);
    for (uint32_t i = 0; i < MOST; i++) free((void *)in[i]);
    return failed;
}
