/* max_pool and average_pool over up to three spatial axes, channels first.
 *
 * in:   X [N, C, spatial..]
 * out:  Y [N, C, spatial..]; max_pool also, if wanted, the position of each maximum in X, flattened
 * ints: asc_pool_params
 *       max_pool's mode is storage_order: 1 counts positions column by column (two axes at most).
 *       average_pool's mode is count_include_pad.
 * Windows are cut at the padded input; a maximum ignores padding, and NaN is larger than all. What a
 * window past everything would hold is the maximum of nothing, -infinity, or the average 0.
 */
#include "pooling.h"

#include <math.h>

typedef struct pool_note {
    pool pool;    /* without pointers */
    int64_t step; /* planes of a chunk */
} pool_note;
ASC_KERNEL_NOTE(average_pool, pool_note)
ASC_KERNEL_NOTE(max_pool, pool_note)

static pool_note *note_of(const asc_call *call) {
    return call->note;
}

static int32_t prepare(asc_call *call, int maxima) {
    pool p;
    int32_t code = ASC_FN(pool_read)(call, 0, &p);
    if (!code && maxima) code = ASC_FN(pool_see)(call, &p);
    if (code) return code;
    note_of(call)->pool = p;
    double window = (double)p.kernel[DEPTH] * (double)p.kernel[HEIGHT] * (double)p.kernel[WIDTH];
    double ns = ((double)p.out_size * window / (p.out[WIDTH] > 4 ? 4 : 1) + 30) / 2;
    note_of(call)->step = ns > 8000 ? 1 : 1 + (int64_t)(8000 / ns);
    return ASC_OK;
}

int32_t ASC_FN(average_pool_prepare)(asc_call *call) {
    return prepare(call, 0);
}

int32_t ASC_FN(max_pool_prepare)(asc_call *call) {
    if (call->n_out > 1 && call->out[1].dtype != ASC_UNDEFINED) {
        ASC_REQUIRE(call, asc_same_dims(&call->out[0], &call->out[1]),
                    "max_pool: the indices have other dims than the maxima");
        ASC_REQUIRE(call, call->n_ints < 1 || !ASC_INTS_AS(asc_pool_params, call)->mode || call->in[0].rank <= 4,
                    "max_pool: storage_order needs one or two axes");
    }
    return prepare(call, 1);
}

/* y[i] = op(y[i], x[i * step]) */
static inline __attribute__((always_inline)) void fold_row(int maximum, float *y, const float *x, int64_t step,
                                                           int64_t n) {
    int64_t i = 0;
    if (step == 1) {
        for (; i + ASC_VF <= n; i += ASC_VF) {
            vf a = vf_load(y + i), b = vf_load(x + i);
            vf_store(y + i, maximum ? pool_larger(a, b) : a + b);
        }
        if (i == n) return;
        vf a = vf_load_tail(y + i, n - i, 0), b = vf_load_tail(x + i, n - i, 0);
        vf_store_tail(y + i, maximum ? pool_larger(a, b) : a + b, n - i);
        return;
    }
    for (; i < n; i++) {
        float a = y[i], b = x[i * step];
        y[i] = maximum ? (b > a || b != b ? b : a) : a + b;
    }
}

/* op over n neighbours: whole vectors lane by lane, then the lanes, then the rest. */
static inline __attribute__((always_inline)) float fold_run(int maximum, float start, const float *x, int64_t n) {
    vf acc = vf_set(maximum ? -INFINITY : 0);
    int64_t i = 0;
    for (; i + ASC_VF <= n; i += ASC_VF) acc = maximum ? pool_larger(acc, vf_load(x + i)) : acc + vf_load(x + i);
    if (i) {
        float lanes[ASC_VF];
        vf_store(lanes, acc);
        for (int j = 0; j < ASC_VF; j++)
            start = maximum ? (lanes[j] > start || lanes[j] != lanes[j] ? lanes[j] : start) : start + lanes[j];
    }
    for (; i < n; i++) start = maximum ? (x[i] > start || x[i] != x[i] ? x[i] : start) : start + x[i];
    return start;
}

/* One row of input folded into outputs [from, to) of a row, over the taps of the width. */
static inline __attribute__((always_inline)) void fold_line(const pool *p, int maximum, const float *x, int64_t from,
                                                            int64_t to, float *y) {
    if (p->out[WIDTH] == 1 && p->dilation[WIDTH] == 1) {
        taps t = ASC_FN(pool_taps)(p, WIDTH, 0);
        y[0] = fold_run(maximum, y[0], x + pool_start(p, WIDTH, 0) + t.first, t.end - t.first);
        return;
    }
    int64_t step = p->stride[WIDTH];
    taps reach = ASC_FN(pool_reach)(p, WIDTH);
    for (int64_t k = reach.first; k < reach.end; k++) {
        int64_t shift = k * p->dilation[WIDTH] - p->before[WIDTH]; /* output o reads o * step + shift */
        int64_t low = asc_most(pool_steps(-shift, step), from);
        int64_t high = asc_least(pool_steps(p->in[WIDTH] - shift, step), to);
        if (low >= high) continue;
        if (step == 1)
            fold_row(maximum, y + low, x + low + shift, 1, high - low);
        else if (step == 2)
            fold_row(maximum, y + low, x + low * 2 + shift, 2, high - low);
        else
            fold_row(maximum, y + low, x + low * step + shift, step, high - low);
    }
}

/* A line of output: its taps of the other axes, and where the first of them reads. */
typedef struct line {
    const float *x;
    int64_t deep, high, plane, row; /* taps, and floats from one to the next */
    int64_t counted;                /* by an average, of the other axes */
} line;

static line find_line(const pool *p, const float *x, int64_t d, int64_t h) {
    taps deep = ASC_FN(pool_taps)(p, DEPTH, d), high = ASC_FN(pool_taps)(p, HEIGHT, h);
    int64_t at_d = pool_start(p, DEPTH, d) + deep.first * p->dilation[DEPTH];
    int64_t at_h = pool_start(p, HEIGHT, h) + high.first * p->dilation[HEIGHT];
    line l = {x, deep.end - deep.first, high.end - high.first, 0, 0, 0};
    if (l.deep > 0 && l.high > 0) l.x = x + (at_d * p->in[HEIGHT] + at_h) * p->in[WIDTH];
    l.plane = p->dilation[DEPTH] * p->in[HEIGHT] * p->in[WIDTH];
    l.row = p->dilation[HEIGHT] * p->in[WIDTH];
    l.counted = ASC_FN(pool_counted)(p, DEPTH, d) * ASC_FN(pool_counted)(p, HEIGHT, h);
    return l;
}

static void divide(const pool *p, const line *l, int64_t from, int64_t to, float *y) {
    for (int64_t o = from; o < to; o++) {
        int64_t count = l->counted * ASC_FN(pool_counted)(p, WIDTH, o);
        y[o] = count ? y[o] / (float)count : 0;
    }
}

/* Outputs [from, to) of a line, tap after tap. */
static inline __attribute__((always_inline)) void pool_by_tap(const pool *p, int maximum, const line *l, int64_t from,
                                                              int64_t to, float *y) {
    for (int64_t o = from; o < to; o++) y[o] = maximum ? -INFINITY : 0;
    for (int64_t i = 0; i < l->deep; i++)
        for (int64_t j = 0; j < l->high; j++) fold_line(p, maximum, l->x + i * l->plane + j * l->row, from, to, y);
    if (!maximum) divide(p, l, from, to, y);
}

/* Neighbours whose windows lie inside the width, a step of 1 apart: at most a vector of them, all taps in a row. */
static inline __attribute__((always_inline)) void pool_vector(const pool *p, int maximum, const line *l, int64_t o,
                                                              int tail, int64_t lanes, float *y) {
    vf acc = vf_set(maximum ? -INFINITY : 0);
    for (int64_t i = 0; i < l->deep; i++)
        for (int64_t j = 0; j < l->high; j++) {
            const float *x = l->x + i * l->plane + j * l->row + o - p->before[WIDTH];
            for (int64_t k = 0; k < p->kernel[WIDTH]; k++, x += p->dilation[WIDTH]) {
                vf value = tail ? vf_load_tail(x, lanes, 0) : vf_load(x);
                acc = maximum ? pool_larger(acc, value) : acc + value;
            }
        }
    int64_t count = l->counted * p->kernel[WIDTH];
    if (!maximum) acc = count ? acc / vf_set((float)count) : vf_set(0);
    if (tail)
        vf_store_tail(y + o, acc, lanes);
    else
        vf_store(y + o, acc);
}

/* Neighbours at a border, a step of 1 apart. */
static inline __attribute__((always_inline)) void pool_border(const pool *p, int maximum, const line *l, int64_t from,
                                                              int64_t to, float *y) {
    for (int64_t o = from; o < to; o++) {
        float acc = maximum ? -INFINITY : 0;
        taps t = ASC_FN(pool_taps)(p, WIDTH, o);
        for (int64_t i = 0; i < l->deep; i++)
            for (int64_t j = 0; j < l->high; j++) {
                const float *x = l->x + i * l->plane + j * l->row;
                for (int64_t k = t.first; k < t.end; k++) {
                    int64_t at = o - p->before[WIDTH] + k * p->dilation[WIDTH];
                    acc = maximum ? (x[at] > acc || x[at] != x[at] ? x[at] : acc) : acc + x[at];
                }
            }
        y[o] = acc;
    }
    if (!maximum) divide(p, l, from, to, y);
}

/* Outputs of a line whose windows lie inside the width, [low, high). */
typedef struct middle {
    int64_t low, high;
} middle;

static inline middle middle_of(const pool *p) {
    int64_t wide = (p->kernel[WIDTH] - 1) * p->dilation[WIDTH], out = p->out[WIDTH];
    int64_t low = asc_least(p->before[WIDTH], out);
    return (middle){low, asc_least(asc_most(p->in[WIDTH] + p->before[WIDTH] - wide, low), out)};
}

/* Whether a tap takes the whole line, else a vector of neighbours all of its taps. */
static inline int goes_by_tap(const pool *p) {
    middle m = middle_of(p);
    return p->stride[WIDTH] != 1 || m.high - m.low < 2;
}

static inline __attribute__((always_inline)) void pool_line(const pool *p, int maximum, const line *l, float *y) {
    middle m = middle_of(p);
    int64_t low = m.low, high = m.high, o = low, out = p->out[WIDTH];
    if (goes_by_tap(p)) {
        pool_by_tap(p, maximum, l, 0, out, y);
        return;
    }
    pool_border(p, maximum, l, 0, low, y);
    for (; o + ASC_VF <= high; o += ASC_VF) pool_vector(p, maximum, l, o, 0, 0, y);
    if (o < high) pool_vector(p, maximum, l, o, 1, high - o, y);
    pool_border(p, maximum, l, high, out, y);
}

static inline __attribute__((always_inline)) void pool_plane(const pool *p, int maximum, int64_t plane) {
    const float *x = p->x + plane * p->in_size;
    float *y = p->y + plane * p->out_size;
    for (int64_t d = 0; d < p->out[DEPTH]; d++)
        for (int64_t h = 0; h < p->out[HEIGHT]; h++, y += p->out[WIDTH]) {
            line l = find_line(p, x, d, h);
            pool_line(p, maximum, &l, y);
        }
}

/* The maximum of one window and where it first occurs in its plane. */
static int64_t find_maximum(const pool *p, const float *x, const int64_t o[AXES], float *value) {
    taps t[AXES];
    int64_t start[AXES], best = 0;
    for (int a = 0; a < AXES; a++) {
        t[a] = ASC_FN(pool_taps)(p, a, o[a]);
        start[a] = pool_start(p, a, o[a]);
    }
    *value = -INFINITY;
    int seen = 0;
    for (int64_t i = t[DEPTH].first; i < t[DEPTH].end; i++)
        for (int64_t j = t[HEIGHT].first; j < t[HEIGHT].end; j++)
            for (int64_t k = t[WIDTH].first; k < t[WIDTH].end; k++) {
                int64_t h = start[HEIGHT] + j * p->dilation[HEIGHT], w = start[WIDTH] + k * p->dilation[WIDTH];
                int64_t at = ((start[DEPTH] + i * p->dilation[DEPTH]) * p->in[HEIGHT] + h) * p->in[WIDTH] + w;
                if (seen && !(x[at] > *value || (x[at] != x[at] && *value == *value))) continue;
                seen = 1;
                *value = x[at];
                best = p->mode ? w * p->in[HEIGHT] + h : at;
            }
    return best;
}

static void index_plane(const pool *p, int64_t plane) {
    int64_t at = plane * p->out_size, o[AXES];
    for (o[DEPTH] = 0; o[DEPTH] < p->out[DEPTH]; o[DEPTH]++)
        for (o[HEIGHT] = 0; o[HEIGHT] < p->out[HEIGHT]; o[HEIGHT]++)
            for (o[WIDTH] = 0; o[WIDTH] < p->out[WIDTH]; o[WIDTH]++, at++)
                p->index[at] = plane * p->in_size + find_maximum(p, p->x + plane * p->in_size, o, p->y + at);
}

static void max_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const pool *p = arg;
    int64_t first = chunk * note_of(call)->step, end = asc_least(first + note_of(call)->step, p->batch * p->channels);
    (void)worker;
    for (int64_t i = first; i < end; i++) {
        if (p->index)
            index_plane(p, i);
        else
            pool_plane(p, 1, i);
    }
}

static void average_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const pool *p = arg;
    int64_t first = chunk * note_of(call)->step, end = asc_least(first + note_of(call)->step, p->batch * p->channels);
    (void)worker;
    for (int64_t i = first; i < end; i++) pool_plane(p, 0, i);
}

static int32_t run(const asc_call *call, asc_chunk_fn fn) {
    pool p = ASC_FN(pool_at)(call, &note_of(call)->pool);
    if (p.out_size) asc_parallel(call, asc_ceil_div(p.batch * p.channels, note_of(call)->step), fn, &p);
    return ASC_OK;
}

int32_t ASC_FN(max_pool_run)(const asc_call *call) {
    return run(call, max_chunk);
}

int32_t ASC_FN(average_pool_run)(const asc_call *call) {
    return run(call, average_chunk);
}

static void schedule(const asc_call *call, int indices, char *text, size_t room) {
    const pool *p = &note_of(call)->pool;
    if (!p->out_size || p->batch * p->channels == 0) {
        asc_format(text, room, ASC_NO_SCHEDULE);
        return;
    }
    asc_say_chunks(call,
                   indices          ? "window_by_window"
                   : goes_by_tap(p) ? "tap_by_tap"
                                    : "vectors",
                   asc_ceil_div(p->batch * p->channels, note_of(call)->step), text, room);
}

void ASC_FN(max_pool_schedule)(const asc_call *call, char *text, size_t room) {
    schedule(call, call->n_out > 1 && call->out[1].dtype != ASC_UNDEFINED, text, room);
}

void ASC_FN(average_pool_schedule)(const asc_call *call, char *text, size_t room) {
    schedule(call, 0, text, room);
}
