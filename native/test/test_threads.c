/* Many threads bind and execute one model at once, on their own data and at changing shapes. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ascend_rt.h"
#include "check.h"
#include "sample_bundle.h"

#define THREADS 8
#define ROUNDS 300

typedef struct worker {
    pthread_t thread;
    asc_model *model;
    int index;
    int failures;
} worker;

/* s = N * 5, and two runs on the same x give the same bits, whatever runs beside them. */
static int one_round(worker *w, int64_t n) {
    float x[4 * 40], y[5 * 40], again[5 * 40];
    int64_t s[1] = {0};
    asc_tensor shape = {.dims = {n, 4}, .dtype = ASC_FLOAT32, .rank = 2};
    asc_bound *bound;
    asc_status status;
    const void *in[] = {x};
    void *out[] = {y, s}, *out_again[] = {again, s};
    for (int i = 0; i < 4 * n; i++) x[i] = (float)(i * (w->index + 1));
    if (asc_bind(w->model, 0, &shape, 1, &bound, &status) != ASC_OK) return 0;
    int good = asc_execute(bound, in, out, NULL, &status) == ASC_OK && s[0] == n * 5;
    good &= asc_execute(bound, in, out_again, NULL, &status) == ASC_OK;
    asc_bound_release(bound);
    return good && memcmp(y, again, sizeof(float) * 5 * (size_t)n) == 0;
}

static void *work(void *arg) {
    worker *w = arg;
    for (int i = 0; i < ROUNDS; i++) w->failures += !one_round(w, 1 + (i * (w->index + 3)) % 40);
    return NULL;
}

int main(void) {
    uint64_t size;
    uint8_t *file = sample_bundle(&size);
    asc_options o = {.struct_bytes = sizeof o, .num_threads = 2, .max_bound = 5};
    asc_status status;
    asc_model *m;
    worker workers[THREADS];
    CHECK(asc_model_from_memory(file, size, &o, &m, &status) == ASC_OK);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.model = asc_model_retain(m), .index = i};
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    asc_model_release(m);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK(workers[i].failures == 0);
        asc_model_release(workers[i].model);
    }
    free(file);
    return check_failures();
}
