/* max_pool_last and average_pool_last: as max_pool and average_pool (pooling.c), channels last.
 *
 * in:   X [N, spatial.., C], float32 or bfloat16
 * out:  Y [N, spatial.., C], likewise
 * ints: asc_pool_params
 *       max_pool_last's mode is 0, average_pool_last's is count_include_pad.
 * An output folds its window in row-major order, a vector of channels at a time.
 */
#include <math.h>

#include "bfloat16.h"
#include "pooling.h"

typedef struct pool_last_note {
    pool pool;              /* without pointers */
    int64_t lines, vectors; /* output lines and channel vectors of a chunk */
} pool_last_note;
ASC_KERNEL_NOTE(average_pool_last, pool_last_note)
ASC_KERNEL_NOTE(max_pool_last, pool_last_note)

static pool_last_note *note_of(const asc_call *call) {
    return call->note;
}

#define STRIP 4 /* vectors that pass a window together */

static int64_t line_count(const pool *p) {
    return p->batch * p->out[DEPTH] * p->out[HEIGHT];
}

static int32_t prepare(asc_call *call, int maxima) {
    pool p;
    int32_t code = ASC_FN(pool_read)(call, 1, &p);
    if (!code && maxima) code = ASC_FN(pool_see)(call, &p);
    if (code || asc_numel(&call->out[0]) == 0) return code;
    note_of(call)->pool = p;
    double window = (double)p.kernel[DEPTH] * (double)p.kernel[HEIGHT] * (double)p.kernel[WIDTH];
    double bytes = (double)p.out[WIDTH] * (double)p.channels * (window + 1);
    int64_t cost = bytes > 1e9 ? (int64_t)1e9 : (int64_t)bytes;
    int64_t vectors = asc_ceil_div(p.channels, ASC_VF), lines = line_count(&p);
    note_of(call)->lines = asc_chunk_items(call, lines, cost);
    note_of(call)->vectors = vectors;
    if (lines < 2 * call->threads) /* few lines: channels are split instead */
        note_of(call)->vectors = asc_chunk_items(call, vectors, cost / vectors * lines);
    return ASC_OK;
}

int32_t ASC_FN(average_pool_last_prepare)(asc_call *call) {
    return prepare(call, 0);
}

int32_t ASC_FN(max_pool_last_prepare)(asc_call *call) {
    ASC_REQUIRE(call, call->n_ints < 1 || !ASC_INTS_AS(asc_pool_params, call)->mode, "max_pool_last: the mode is 0");
    return prepare(call, 1);
}

/* The window of one output: where its first tap inside reads, and how many there are. */
typedef struct window {
    const void *x;
    int64_t taps[AXES], step[AXES];
    float count;
} window;

/* What is made of windows: their maximum or average, read from and written as bfloat16 or float32. */
typedef struct folding {
    int maximum, x_narrow, y_narrow;
} folding;

/* A sum takes about so many taps of a window, and the sums are added up: one sum of a whole image would lose the bits
 * of what comes last. */
#define RUN 256

static inline __attribute__((always_inline)) void fold(const window *w, folding f, int64_t channel, int vectors,
                                                       int tail, int64_t lanes, void *y) {
    vf sum[STRIP], runs[STRIP];
    int64_t row = w->taps[WIDTH], held = 0;
    int in_runs = !f.maximum && w->taps[DEPTH] * w->taps[HEIGHT] * row > RUN;
    for (int v = 0; v < vectors; v++) {
        sum[v] = vf_set(f.maximum ? -INFINITY : 0);
        runs[v] = vf_set(0);
    }
    for (int64_t d = 0; d < w->taps[DEPTH]; d++)
        for (int64_t h = 0; h < w->taps[HEIGHT]; h++)
            for (int64_t k = 0; k < row;) {
                int64_t end = asc_least(row, k + RUN), at = channel + d * w->step[DEPTH] + h * w->step[HEIGHT];
                for (held += end - k; k < end; k++)
                    for (int v = 0; v < vectors; v++) {
                        int64_t from = at + k * w->step[WIDTH] + v * ASC_VF;
                        vf value = image_load(w->x, from, f.x_narrow, tail, lanes);
                        sum[v] = f.maximum ? pool_larger(sum[v], value) : sum[v] + value;
                    }
                if (!in_runs || held < RUN) continue;
                held = 0;
                for (int v = 0; v < vectors; v++) {
                    runs[v] = runs[v] + sum[v];
                    sum[v] = vf_set(0);
                }
            }
    for (int v = 0; v < vectors; v++) {
        if (in_runs) sum[v] = runs[v] + sum[v];
        if (!f.maximum) sum[v] = w->count > 0 ? sum[v] / vf_set(w->count) : vf_set(0);
        image_store(y, channel + v * ASC_VF, sum[v], f.y_narrow, tail, lanes);
    }
}

/* Channels [from, to) of one output. */
static inline __attribute__((always_inline)) void fold_channels(const window *w, folding f, int64_t from, int64_t to,
                                                                void *y) {
    int64_t c = from;
    for (; c + STRIP * ASC_VF <= to; c += STRIP * ASC_VF) fold(w, f, c, STRIP, 0, 0, y);
    for (; c + ASC_VF <= to; c += ASC_VF) fold(w, f, c, 1, 0, 0, y);
    if (c < to) fold(w, f, c, 1, 1, to - c, y);
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
    if (t.first < t.end) w->x = image_at(w->x, (start + t.first * p->dilation[axis]) * step, p->x_narrow);
    w->count *= (float)(inside ? p->kernel[axis] : ASC_FN(pool_counted)(p, axis, o));
}

static inline __attribute__((always_inline)) void pool_line(const pool *p, folding f, int64_t line, int64_t from,
                                                            int64_t to) {
    int64_t image = line / p->out[HEIGHT] / p->out[DEPTH];
    int64_t out = line * p->out[WIDTH] * p->channels;
    window w = {.x = image_at(p->x, image * p->in_size * p->channels, p->x_narrow), .count = 1};
    find_taps(p, DEPTH, line / p->out[HEIGHT] % p->out[DEPTH], p->in[HEIGHT] * p->in[WIDTH] * p->channels, &w);
    find_taps(p, HEIGHT, line % p->out[HEIGHT], p->in[WIDTH] * p->channels, &w);
    for (int64_t o = 0; o < p->out[WIDTH]; o++, out += p->channels) {
        window pixel = w;
        find_taps(p, WIDTH, o, p->channels, &pixel);
        fold_channels(&pixel, f, from, to, (void *)image_at(p->y, out, f.y_narrow));
    }
}

static inline __attribute__((always_inline)) void run_chunk(const asc_call *call, int64_t chunk, const pool *p,
                                                            folding f) {
    int64_t parts = asc_ceil_div(asc_ceil_div(p->channels, ASC_VF), note_of(call)->vectors);
    int64_t from = chunk % parts * note_of(call)->vectors * ASC_VF;
    int64_t to = asc_least(from + note_of(call)->vectors * ASC_VF, p->channels);
    int64_t first = chunk / parts * note_of(call)->lines, end = asc_least(first + note_of(call)->lines, line_count(p));
    for (int64_t line = first; line < end; line++) pool_line(p, f, line, from, to);
}

static void max_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const pool *p = arg;
    (void)worker;
    if (p->x_narrow)
        run_chunk(call, chunk, p, (folding){1, 1, 1});
    else
        run_chunk(call, chunk, p, (folding){1, 0, 0});
}

static void average_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const pool *p = arg;
    (void)worker;
    if (p->x_narrow)
        run_chunk(call, chunk, p, (folding){0, 1, p->y_narrow});
    else
        run_chunk(call, chunk, p, (folding){0, 0, p->y_narrow});
}

static int32_t run(const asc_call *call, asc_chunk_fn fn) {
    if (asc_numel(&call->out[0]) == 0) return ASC_OK;
    pool p = ASC_FN(pool_at)(call, &note_of(call)->pool);
    int64_t parts = asc_ceil_div(asc_ceil_div(p.channels, ASC_VF), note_of(call)->vectors);
    asc_parallel(call, asc_ceil_div(line_count(&p), note_of(call)->lines) * parts, fn, &p);
    return ASC_OK;
}

int32_t ASC_FN(max_pool_last_run)(const asc_call *call) {
    return run(call, max_chunk);
}

int32_t ASC_FN(average_pool_last_run)(const asc_call *call) {
    return run(call, average_chunk);
}

static void schedule(const asc_call *call, char *text, size_t room) {
    const pool_last_note *note = note_of(call);
    if (asc_numel(&call->out[0]) == 0) {
        asc_format(text, room, ASC_NO_SCHEDULE);
        return;
    }
    int64_t parts = asc_ceil_div(asc_ceil_div(note->pool.channels, ASC_VF), note->vectors);
    asc_say_chunks(call, parts > 1 ? "parts_of_channels" : "lines",
                   asc_ceil_div(line_count(&note->pool), note->lines) * parts, text, room);
}

void ASC_FN(max_pool_last_schedule)(const asc_call *call, char *text, size_t room) {
    schedule(call, text, room);
}

void ASC_FN(average_pool_last_schedule)(const asc_call *call, char *text, size_t room) {
    schedule(call, text, room);
}
