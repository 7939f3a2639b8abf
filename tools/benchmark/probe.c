/* probe.c - what this machine can do right now: the floors of the benchmark's rows.
 *
 * Each function starts `threads` threads, has them work for about `seconds`, and returns a rate. Arithmetic
 * runs in registers, on vectors as wide as the library's kernels use; exp is the kernels' own. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "vmath.h"

#define MAX_THREADS 64
#define LANES 16 /* independent accumulators: more than latency times rate of an FMA */
#define PORTION 65536

typedef struct probe_part {
    int64_t (*work)(struct probe_part *); /* one portion; returns the units done */
    const char *source;
    char *target;
    int64_t reads, writes;
    int streaming;
    double seconds, rate;
    float sink;
    pthread_barrier_t *start;
} probe_part;

static double probe_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *probe_run(void *argument) {
    probe_part *part = argument;
    part->work(part); /* pages touched, caches warm */
    pthread_barrier_wait(part->start);
    double begin = probe_now(), end = begin;
    int64_t units = 0;
    while (end - begin < part->seconds) {
        units += part->work(part);
        end = probe_now();
    }
    part->rate = (double)units / (end - begin);
    return NULL;
}

/* Sum of the rates of all threads, or 0 when they can't be started. */
static double probe_together(probe_part *parts, int threads, double seconds) {
    pthread_t ids[MAX_THREADS];
    pthread_barrier_t start;
    if (threads < 1 || threads > MAX_THREADS || pthread_barrier_init(&start, NULL, (unsigned)threads)) return 0;
    for (int i = 0; i < threads; i++) {
        parts[i].start = &start;
        parts[i].seconds = seconds;
        if (pthread_create(&ids[i], NULL, probe_run, &parts[i])) exit(1); /* a process of its own */
    }
    double rate = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        rate += parts[i].rate;
    }
    pthread_barrier_destroy(&start);
    return rate;
}

static double probe_arithmetic(int64_t (*work)(probe_part *), int threads, double seconds) {
    probe_part parts[MAX_THREADS] = {0};
    for (int i = 0; i < MAX_THREADS; i++) parts[i].work = work;
    return probe_together(parts, threads, seconds);
}

/* One variable per accumulator: GCC keeps an array of vectors in memory. */
#define EACH(step) FOUR(step, ) FOUR(step, 1) FOUR(step, 2) FOUR(step, 3)
#define FOUR(step, n) step(n##4) step(n##5) step(n##6) step(n##7)

static int64_t probe_fma_portion(probe_part *part) {
    const vf a = vf_set(0.999f), b = vf_set(0.001f);
#define BEGIN(i) vf sum##i = vf_set((float)i);
#define STEP(i) sum##i = vf_fma(sum##i, a, b);
#define END(i) part->sink += sum##i[0];
    EACH(BEGIN)
    for (int n = 0; n < PORTION; n++) {
        EACH(STEP)
    }
    EACH(END)
#undef BEGIN
#undef STEP
    return (int64_t)PORTION * LANES * ASC_VF * 2;
}

static int64_t probe_exp_portion(probe_part *part) {
    enum { COUNT = 2048 }; /* floats: 8 KB, in the first-level cache */
    float x[COUNT];
    vf sum = {0};
    for (int i = 0; i < COUNT; i++) x[i] = -0.001f * (float)i;
    for (int n = 0; n < PORTION / COUNT; n++) {
        for (int i = 0; i < COUNT; i += 2 * ASC_VF) {
            sum = vf_max(sum, vf_exp(vf_load(x + i)));
            sum = vf_max(sum, vf_exp(vf_load(x + i + ASC_VF)));
        }
        __asm__("" : "+m"(x));
    }
    part->sink += sum[0];
    return PORTION / COUNT * COUNT;
}

#if defined(__AVX512BF16__)
static int64_t probe_bf16_portion(probe_part *part) {
    const __m512bh a = (__m512bh)_mm512_set1_epi16(0x3c00), b = (__m512bh)_mm512_set1_epi16(0x3b00);
#define BEGIN(i) __m512 sum##i = _mm512_set1_ps((float)i);
#define STEP(i) sum##i = _mm512_dpbf16_ps(sum##i, a, b);
    EACH(BEGIN)
    for (int n = 0; n < PORTION; n++) {
        EACH(STEP)
    }
    EACH(END)
#undef BEGIN
#undef STEP
    return (int64_t)PORTION * LANES * 32 * 2;
}
#endif

/* Reads and writes its part in step, a block of each at a time; one unit is one pass. */
static int64_t probe_move_portion(probe_part *part) {
    enum { BLOCKS = 64 };
    vf sum[4] = {{0}};
    const int64_t wide = (int64_t)sizeof(vf), group = 4 * wide;
    for (int block = 0; block < BLOCKS; block++) {
        int64_t from = part->reads / group * block / BLOCKS * group;
        int64_t to = part->reads / group * (block + 1) / BLOCKS * group;
        for (int64_t at = from; at < to; at += group)
            for (int i = 0; i < 4; i++) {
                vf x = vf_load((const float *)(part->source + at + i * wide));
                sum[i] = vf_max(sum[i], x);
            }
        from = part->writes / group * block / BLOCKS * group;
        to = part->writes / group * (block + 1) / BLOCKS * group;
#if defined(__AVX512F__)
        if (part->streaming) {
            for (int64_t at = from; at < to; at += wide)
                _mm512_stream_ps((float *)(part->target + at), _mm512_setzero_ps());
            continue;
        }
#endif
        for (int64_t at = from; at < to; at += wide) vf_store((float *)(part->target + at), (vf){0});
    }
    for (int i = 0; i < 4; i++) part->sink += sum[i][0];
    return 1;
}

/* float32 operations a second, two a multiply-add */
double probe_fma(int threads, double seconds) {
    return probe_arithmetic(probe_fma_portion, threads, seconds);
}

/* exponentials a second */
double probe_exp(int threads, double seconds) {
    return probe_arithmetic(probe_exp_portion, threads, seconds);
}

/* bfloat16 operations a second, two a multiply-add; 0 without the instruction */
double probe_bf16(int threads, double seconds) {
#if defined(__AVX512BF16__)
    return probe_arithmetic(probe_bf16_portion, threads, seconds);
#else
    (void)threads, (void)seconds;
    return 0;
#endif
}

/* Seconds to read `reads` bytes and write `writes` others, again and again, so in the caches as far as they
 * fit; `streaming` stores around the caches. 0 without memory. */
double probe_move(int64_t reads, int64_t writes, int streaming, int threads, double seconds) {
    probe_part parts[MAX_THREADS] = {0};
    int64_t page = 4096, share_in = (reads / threads + page) / page * page;
    int64_t share_out = (writes / threads + page) / page * page;
    char *source = aligned_alloc((size_t)page, (size_t)(share_in * threads));
    char *target = aligned_alloc((size_t)page, (size_t)(share_out * threads));
    double rate = 0;
    if (source && target) {
        memset(source, 1, (size_t)(share_in * threads));
        memset(target, 1, (size_t)(share_out * threads));
        for (int i = 0; i < threads && i < MAX_THREADS; i++) {
            parts[i] = (probe_part){.work = probe_move_portion,
                                    .source = source + i * share_in,
                                    .target = target + i * share_out,
                                    .reads = reads / threads,
                                    .writes = writes / threads,
                                    .streaming = streaming};
        }
        rate = probe_together(parts, threads, seconds);
    }
    free(source);
    free(target);
    return rate > 0 ? threads / rate : 0;
}
