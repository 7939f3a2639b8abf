/* max_pool_last and average_pool_last: as max_pool and average_pool (pooling.c), channels last.
 *
 * in:   X [N, spatial.., C]
 * out:  Y [N, spatial.., C]
 * ints: a mode, then for each spatial axis: kernel, stride, dilation, pad before, pad after.
 *       max_pool_last's mode is 0, average_pool_last's is count_include_pad.
 * An output folds its window in row-major order, a vector of channels at a time.
 */
#include <math.h>

#include "chunks.h"
#include "pooling.h"

enum { LINES, VECTORS }; /* prepare's notes: output lines and channel vectors of a chunk */

#define STRIP 4 /* vectors that pass a window together */

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t line_count(const pool *p) {
    return p->batch * p->out[DEPTH] * p->out[HEIGHT];
}

static int32_t prepare(asc_call *call) {
    pool p;
    int32_t code = ASC_FN(pool_read)(call, 1, &p);
    if (code || asc_numel(&call->out[0]) == 0) return code;
    double window = (double)p.kernel[DEPTH] * (double)p.kernel[HEIGHT] * (double)p.kernel[WIDTH];
    double bytes = (double)p.out[WIDTH] * (double)p.channels * (window + 1);
    int64_t cost = bytes > 1e9 ? (int64_t)1e9 : (int64_t)bytes;
    int64_t vectors = asc_ceil_div(p.channels, ASC_VF), lines = line_count(&p);
    call->scratch[LINES] = asc_chunk_items(call, lines, cost);
    call->scratch[VECTORS] = vectors;
    if (lines < 2 * call->threads) /* few lines: channels are split instead */
        call->scratch[VECTORS] = asc_chunk_items(call, vectors, cost / vectors * lines);
    return ASC_OK;
}

int32_t ASC_FN(average_pool_last_prepare)(asc_call *call) {
    return prepare(call);
}

int32_t ASC_FN(max_pool_last_prepare)(asc_call *call) {
    ASC_REQUIRE(call, call->n_ints < 1 || call->ints[0] == 0, "max_pool_last: the mode is 0");
    return prepare(call);
}

/* The window of one output: where its first tap inside reads, and how many there are. */
typedef struct window {
    const float *x;
    int64_t taps[AXES], step[AXES];
    float count;
} window;

static inline __attribute__((always_inline)) void fold(const window *w, int maximum, int vectors, int tail,
                                                       int64_t lanes, float *y) {
    vf sum[STRIP];
    for (int v = 0; v < vectors; v++) sum[v] = vf_set(maximum ? -INFINITY : 0);
    for (int64_t d = 0; d < w->taps[DEPTH]; d++)
        for (int64_t h = 0; h < w->taps[HEIGHT]; h++)
            for (int64_t k = 0; k < w->taps[WIDTH]; k++) {
                const float *x = w->x + d * w->step[DEPTH] + h * w->step[HEIGHT] + k * w->step[WIDTH];
                for (int v = 0; v < vectors; v++) {
                    vf value = tail ? vf_load_tail(x, lanes, 0) : vf_load(x + v * ASC_VF);
                    sum[v] = maximum ? pool_larger(sum[v], value) : sum[v] + value;
                }
            }
    for (int v = 0; v < vectors; v++) {
        if (!maximum) sum[v] = w->count > 0 ? sum[v] / vf_set(w->count) : vf_set(0);
        if (tail)
            vf_store_tail(y, sum[v], lanes);
        else
            vf_store(y + v * ASC_VF, sum[v]);
    }
}

/* Channels [from, to) of one output. */
static inline __attribute__((always_inline)) void fold_channels(window w, int maximum, int64_t from, int64_t to,
                                                                float *y) {
    const float *x = w.x;
    int64_t c = from;
    for (; c + STRIP * ASC_VF <= to; c += STRIP * ASC_VF) {
        w.x = x + c;
        fold(&w, maximum, STRIP, 0, 0, y + c);
    }
    for (; c < to; c += ASC_VF) {
        w.x = x + c;
        if (to - c >= ASC_VF)
            fold(&w, maximum, 1, 0, 0, y + c);
        else
            fold(&w, maximum, 1, 1, to - c, y + c);
    }
}

/* Narrows the window to its taps along an axis, whose elements lie `step` floats apart. */
static inline __attribute__((always_inline)) void find_taps(const pool *p, int axis, int64_t o, int64_t step,
                                                            window *w) {
    int64_t start = pool_start(p, axis, o), wide = (p->kernel[axis] - 1) * p->dilation[axis];
    taps t = {0, p->kernel[axis]};
    int inside = start >= 0 && start + wide < p->in[axis];
    if (!inside) t = ASC_FN(pool_taps)(p, axis, o);
    w->taps[axis] = t.end - t.first;
    w->step[axis] = p->dilation[axis] * step;
    if (t.first < t.end) w->x += (start + t.first * p->dilation[axis]) * step;
    w->count *= (float)(inside ? p->kernel[axis] : ASC_FN(pool_counted)(p, axis, o));
}

static inline __attribute__((always_inline)) void pool_line(const pool *p, int maximum, int64_t line, int64_t from,
                                                            int64_t to) {
    int64_t image = line / p->out[HEIGHT] / p->out[DEPTH];
    float *y = p->y + line * p->out[WIDTH] * p->channels;
    window w = {.x = p->x + image * p->in_size * p->channels, .count = 1};
    find_taps(p, DEPTH, line / p->out[HEIGHT] % p->out[DEPTH], p->in[HEIGHT] * p->in[WIDTH] * p->channels, &w);
    find_taps(p, HEIGHT, line % p->out[HEIGHT], p->in[WIDTH] * p->channels, &w);
    for (int64_t o = 0; o < p->out[WIDTH]; o++, y += p->channels) {
        window pixel = w;
        find_taps(p, WIDTH, o, p->channels, &pixel);
        fold_channels(pixel, maximum, from, to, y);
    }
}

static inline __attribute__((always_inline)) void run_chunk(const asc_call *call, int64_t chunk, const pool *p,
                                                            int maximum) {
    int64_t parts = asc_ceil_div(asc_ceil_div(p->channels, ASC_VF), call->scratch[VECTORS]);
    int64_t from = chunk % parts * call->scratch[VECTORS] * ASC_VF;
    int64_t to = least(from + call->scratch[VECTORS] * ASC_VF, p->channels);
    int64_t first = chunk / parts * call->scratch[LINES], end = least(first + call->scratch[LINES], line_count(p));
    for (int64_t line = first; line < end; line++) pool_line(p, maximum, line, from, to);
}

static void max_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    run_chunk(call, chunk, arg, 1);
}

static void average_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    run_chunk(call, chunk, arg, 0);
}

static int32_t run(const asc_call *call, asc_chunk_fn fn) {
    pool p;
    int32_t code = ASC_FN(pool_read)(call, 1, &p);
    if (code || asc_numel(&call->out[0]) == 0) return code;
    int64_t parts = asc_ceil_div(asc_ceil_div(p.channels, ASC_VF), call->scratch[VECTORS]);
    asc_parallel(call, asc_ceil_div(line_count(&p), call->scratch[LINES]) * parts, fn, &p);
    return ASC_OK;
}

int32_t ASC_FN(max_pool_last_run)(const asc_call *call) {
    return run(call, max_chunk);
}

int32_t ASC_FN(average_pool_last_run)(const asc_call *call) {
    return run(call, average_chunk);
}
