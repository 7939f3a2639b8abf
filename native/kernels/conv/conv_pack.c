/* Convolution as a product: panels of 32 output pixels by (channel, tap), packed straight from the
 * image. What a tap reads for 32 pixels is the same pattern in every channel: found once, copied often. */
#include "conv.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

/* Pixels [at, at + count) of a panel lie in one output row; `place` is that of the first, and `base` is
 * where tap 0 reads for it. */
typedef struct run {
    int64_t at, count;
    int64_t place[AXES], base[AXES];
} run;

/* Pixels [at, at + count) read plane[from + i * stride]; those in no segment are padding. */
typedef struct segment {
    int64_t at, count, from;
} segment;

static int find_runs(const conv *c, int64_t pixel, int64_t count, run runs[GEMM_PANEL]) {
    int n = 0;
    for (int64_t at = 0; at < count; n++) {
        run *r = &runs[n];
        int64_t p = pixel + at;
        r->at = at;
        r->place[WIDTH] = p % c->out[WIDTH];
        r->place[HEIGHT] = p / c->out[WIDTH] % c->out[HEIGHT];
        r->place[DEPTH] = p / c->out[WIDTH] / c->out[HEIGHT];
        r->count = c->out[WIDTH] - r->place[WIDTH];
        if (r->count > count - at) r->count = count - at;
        for (int a = 0; a < AXES; a++) r->base[a] = r->place[a] * c->stride[a] - c->pad[a];
        at += r->count;
    }
    return n;
}

/* The next tap, in row-major order. */
static void advance(const conv *c, int64_t place[AXES]) {
    for (int a = WIDTH; a >= DEPTH; a--) {
        if (++place[a] < c->kernel[a]) return;
        place[a] = 0;
    }
}

/* The rows of the block that belong to this tap: channels [*first, result). */
static int64_t channels_of(const conv *c, int64_t tap, int64_t k0, int64_t k, int64_t *first) {
    *first = k0 > tap ? (k0 - tap + c->taps - 1) / c->taps : 0;
    if (k0 + k == c->group_in * c->taps) return c->group_in;
    return k0 + k > tap ? (k0 + k - tap + c->taps - 1) / c->taps : 0;
}

static int find_segments(const conv *c, const run *runs, int n_runs, const int64_t tap[AXES], segment *segments) {
    int n = 0;
    int64_t step = c->stride[WIDTH];
    for (int i = 0; i < n_runs; i++) {
        const run *r = &runs[i];
        int64_t at[AXES];
        for (int a = 0; a < AXES; a++) at[a] = r->base[a] + tap[a] * c->dilation[a];
        if (at[DEPTH] < 0 || at[DEPTH] >= c->in[DEPTH] || at[HEIGHT] < 0 || at[HEIGHT] >= c->in[HEIGHT]) continue;
        int64_t low = 0, high = r->count;
        if (at[WIDTH] < 0) low = (-at[WIDTH] + step - 1) / step;
        if (at[WIDTH] + (high - 1) * step >= c->in[WIDTH])
            high = at[WIDTH] < c->in[WIDTH] ? (c->in[WIDTH] - at[WIDTH] + step - 1) / step : 0;
        if (low >= high) continue;
        int64_t row = (at[DEPTH] * c->in[HEIGHT] + at[HEIGHT]) * c->in[WIDTH];
        segments[n++] = (segment){r->at + low, high - low, row + at[WIDTH] + low * step};
    }
    return n;
}

typedef struct copy_job {
    const float *plane;
    int64_t plane_step, planes, stride;
    const segment *segments;
    int n;
    float *out;
    int64_t out_step;
} copy_job;

static void copy_any(const copy_job *j) {
    const float *plane = j->plane;
    float *out = j->out;
    for (int64_t i = 0; i < j->planes; i++, plane += j->plane_step, out += j->out_step) {
        memset(out, 0, GEMM_PANEL * sizeof *out);
        for (int s = 0; s < j->n; s++) {
            const segment *g = &j->segments[s];
            const float *from = plane + g->from;
            float *to = out + g->at;
            if (j->stride == 1)
                for (int64_t e = 0; e < g->count; e++) to[e] = from[e];
            else
                for (int64_t e = 0; e < g->count; e++) to[e] = from[e * j->stride];
        }
    }
}

#if defined(__AVX512F__)
/* Half a panel is one vector: each segment loads its lanes into place. */
typedef struct lanes {
    int64_t from; /* where lane 0 would read, in bytes from the plane; not dereferenced unless masked in */
    __mmask16 low, high;
} lanes;

static int find_lanes(const copy_job *j, int half, lanes out[16]) {
    int n = 0;
    for (int s = 0; s < j->n; s++) {
        const segment *g = &j->segments[s];
        int64_t first = g->at - 16 * half, last = first + g->count;
        if (first >= 16 || last <= 0) continue;
        uint32_t mask = (last >= 16 ? 0xFFFFu : (1u << last) - 1) & ~(first > 0 ? (1u << first) - 1 : 0);
        out[n].from = (g->from - first * j->stride) * (int64_t)sizeof(float);
        out[n].low = (__mmask16)(j->stride == 1 ? mask : _pdep_u32(mask & 0xFF, 0x5555));
        out[n++].high = (__mmask16)(j->stride == 1 ? 0 : _pdep_u32(mask >> 8, 0x5555));
    }
    return n;
}

static inline const float *at_byte(const float *plane, int64_t byte) {
    return (const float *)((uintptr_t)plane + (uintptr_t)byte);
}

/* `n` and `stride` are constants where it counts, so that the loop over segments vanishes. */
static inline __attribute__((always_inline)) void copy_lanes(const copy_job *j, const lanes *l, int n, int stride,
                                                             float *out) {
    static const int32_t even[16] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
    const __m512i pick = _mm512_loadu_si512(even);
    const float *plane = j->plane;
    for (int64_t i = 0; i < j->planes; i++, plane += j->plane_step, out += j->out_step) {
        __m512 low = _mm512_setzero_ps(), high = low;
        for (int s = 0; s < n; s++) {
            low = _mm512_mask_loadu_ps(low, l[s].low, at_byte(plane, l[s].from));
            if (stride == 2) high = _mm512_mask_loadu_ps(high, l[s].high, at_byte(plane, l[s].from + 64));
        }
        _mm512_storeu_ps(out, stride == 2 ? _mm512_permutex2var_ps(low, pick, high) : low);
    }
}

static void copy_half(const copy_job *j, int half) {
    lanes l[16];
    int n = find_lanes(j, half, l);
    float *out = j->out + 16 * half;
    if (j->stride == 2)
        n == 1 ? copy_lanes(j, l, 1, 2, out) : copy_lanes(j, l, n, 2, out);
    else if (n == 1)
        copy_lanes(j, l, 1, 1, out);
    else if (n == 2)
        copy_lanes(j, l, 2, 1, out);
    else
        copy_lanes(j, l, n, 1, out);
}

static void copy_planes(const copy_job *j) {
    if (j->stride > 2) {
        copy_any(j);
        return;
    }
    copy_half(j, 0);
    copy_half(j, 1);
}
#else
static void copy_planes(const copy_job *j) {
    copy_any(j);
}
#endif

static int64_t panel_pixels(const gemm *g, int64_t panel) {
    int64_t rest = g->n - panel * GEMM_PANEL;
    return rest < GEMM_PANEL ? rest : GEMM_PANEL;
}

void ASC_FN(conv_pack_taps)(const gemm *g, int64_t panel, int64_t k0, int64_t k, float *out) {
    const conv *c = g->source;
    run runs[GEMM_PANEL];
    segment segments[GEMM_PANEL];
    int n_runs = find_runs(c, panel * GEMM_PANEL, panel_pixels(g, panel), runs);
    int64_t place[AXES] = {0};
    for (int64_t tap = 0; tap < c->taps; tap++, advance(c, place)) {
        int64_t first, end = channels_of(c, tap, k0, k, &first);
        if (first >= end) continue;
        copy_job job = {.plane = g->b + first * c->in_size, .plane_step = c->in_size, .planes = end - first};
        job.stride = c->stride[WIDTH];
        job.segments = segments;
        job.n = find_segments(c, runs, n_runs, place, segments);
        job.out = out + (first * c->taps + tap - k0) * GEMM_PANEL;
        job.out_step = c->taps * GEMM_PANEL;
        copy_planes(&job);
    }
}

/* Where output place `o` reads for tap `t`, or -1. */
static int64_t transposed_source(const conv *c, const int64_t o[AXES], const int64_t t[AXES]) {
    int64_t source = 0;
    for (int a = 0; a < AXES; a++) {
        int64_t at = o[a] + c->pad[a] - t[a] * c->dilation[a];
        if (at < 0 || at % c->stride[a] || at / c->stride[a] >= c->in[a]) return -1;
        source = source * c->in[a] + at / c->stride[a];
    }
    return source;
}

void ASC_FN(conv_pack_transposed_taps)(const gemm *g, int64_t panel, int64_t k0, int64_t k, float *out) {
    const conv *c = g->source;
    run runs[GEMM_PANEL];
    int n_runs = find_runs(c, panel * GEMM_PANEL, panel_pixels(g, panel), runs);
    int64_t place[AXES] = {0};
    for (int64_t tap = 0; tap < c->taps; tap++, advance(c, place)) {
        int64_t from[GEMM_PANEL], first, end = channels_of(c, tap, k0, k, &first);
        if (first >= end) continue;
        for (int j = 0; j < GEMM_PANEL; j++) from[j] = -1;
        for (int i = 0; i < n_runs; i++)
            for (int64_t e = 0; e < runs[i].count; e++) {
                int64_t o[AXES] = {runs[i].place[DEPTH], runs[i].place[HEIGHT], runs[i].place[WIDTH] + e};
                from[runs[i].at + e] = transposed_source(c, o, place);
            }
        for (int64_t channel = first; channel < end; channel++) {
            const float *plane = g->b + channel * c->in_size;
            float *row = out + (channel * c->taps + tap - k0) * GEMM_PANEL;
            for (int j = 0; j < GEMM_PANEL; j++) row[j] = from[j] >= 0 ? plane[from[j]] : 0;
        }
    }
}
