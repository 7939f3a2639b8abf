/* Reading the arguments of a pooling, and which taps of its windows lie where. */
#include "pooling.h"

#define LARGEST INT32_MAX /* of every extent, so that positions can't overflow */

/* Taps of a window that starts at `start` which lie in [from, to). */
static taps taps_between(const pool *p, int axis, int64_t start, int64_t from, int64_t to) {
    taps t = {pool_steps(from - start, p->dilation[axis]), pool_steps(to - start, p->dilation[axis])};
    t.first = asc_least(t.first, p->kernel[axis]);
    t.end = asc_least(t.end, p->kernel[axis]);
    if (t.end < t.first) t.end = t.first;
    return t;
}

taps ASC_FN(pool_taps)(const pool *p, int axis, int64_t o) {
    return taps_between(p, axis, pool_start(p, axis, o), 0, p->in[axis]);
}

int64_t ASC_FN(pool_counted)(const pool *p, int axis, int64_t o) {
    int64_t from = p->mode ? -p->before[axis] : 0, to = p->mode ? p->in[axis] + p->after[axis] : p->in[axis];
    taps t = taps_between(p, axis, pool_start(p, axis, o), from, to);
    return t.end - t.first;
}

taps ASC_FN(pool_reach)(const pool *p, int axis) {
    int64_t last = pool_start(p, axis, asc_most(p->out[axis], 1) - 1), to = p->in[axis] + p->before[axis];
    taps t = {pool_steps(-last, p->dilation[axis]), pool_steps(to, p->dilation[axis])};
    return (taps){asc_least(t.first, p->kernel[axis]), asc_least(t.end, p->kernel[axis])};
}

/* Leaves out what only padding has: the file says how large that is. */
static void narrow(pool *p, int axis) {
    taps t = ASC_FN(pool_reach)(p, axis);
    if (t.first < t.end) {
        p->before[axis] -= t.first * p->dilation[axis];
        p->kernel[axis] = t.end - t.first;
    } else {
        p->kernel[axis] = 1; /* no window has an element, nor has its first tap */
    }
}

static int is_within(int64_t n, int64_t least) {
    return n >= least && n <= LARGEST;
}

static int32_t read_axis(const asc_call *call, pool *p, int axis, const asc_pool_axis *v) {
    p->kernel[axis] = v->kernel;
    p->stride[axis] = v->stride;
    p->dilation[axis] = v->dilation;
    p->before[axis] = v->before;
    p->after[axis] = v->after;
    ASC_REQUIRE(call,
                is_within(v->kernel, 1) && is_within(v->stride, 1) && is_within(v->dilation, 1) &&
                    is_within(v->before, 0) && is_within(v->after, 0),
                "pool: kernel, stride and dilation are at least 1, pads at least 0");
    ASC_REQUIRE(call, p->in[axis] <= LARGEST && p->out[axis] <= LARGEST, "pool: a spatial axis is too long");
    /* Divided towards zero, as onnxruntime does, less than a step that is missing is one window, which is cut at the
     * end; formulas of free sizes are rounded down, to none. */
    int64_t room = p->in[axis] + v->before + v->after - (v->kernel - 1) * v->dilation - 1;
    ASC_REQUIRE(call, room >= 0 || room <= -v->stride || p->out[axis] > 0,
                "pool: a window is larger than the padded input");
    return ASC_OK;
}

int32_t ASC_FN(pool_read)(const asc_call *call, int channels_last, pool *p) {
    const asc_tensor *x = &call->in[0], *y = &call->out[0];
    int spatial = x->rank - 2;
    ASC_REQUIRE(call, spatial >= 1 && spatial <= AXES, "pool needs one to three spatial axes");
    ASC_REQUIRE(
        call,
        call->n_ints == ASC_MEMBERS(asc_pool_params) + ASC_MEMBERS(asc_pool_axis) * spatial && call->n_floats == 0,
        "pool: wrong number of arguments");
    int channel_axis = channels_last ? x->rank - 1 : 1, spatial_axis = channels_last ? 1 : 2;
    ASC_REQUIRE(call, y->rank == x->rank && y->dims[0] == x->dims[0] && y->dims[channel_axis] == x->dims[channel_axis],
                "pool: the output has another batch or other channels");
    const asc_pool_params *given = ASC_INTS_AS(asc_pool_params, call);
    *p = (pool){.mode = given->mode, .in_size = 1, .out_size = 1};
    p->x_narrow = x->dtype == ASC_BFLOAT16;
    p->y_narrow = y->dtype == ASC_BFLOAT16;
    ASC_REQUIRE(call, p->mode == 0 || p->mode == 1, "pool: the mode is 0 or 1");
    p->batch = y->dims[0];
    p->channels = y->dims[channel_axis];
    for (int a = 0; a < AXES; a++) p->in[a] = p->out[a] = p->kernel[a] = p->stride[a] = p->dilation[a] = 1;
    for (int i = 0; i < spatial; i++) {
        int a = AXES - spatial + i;
        p->in[a] = x->dims[spatial_axis + i];
        p->out[a] = y->dims[spatial_axis + i];
        int32_t code = read_axis(call, p, a, &given->axes[i]);
        if (code) return code;
        if (!p->mode) narrow(p, a);
    }
    for (int a = 0; a < AXES; a++)
        ASC_REQUIRE(call,
                    asc_mul_ok(p->in_size, p->in[a], &p->in_size) && asc_mul_ok(p->out_size, p->out[a], &p->out_size),
                    "pool: an image is too large");
    return ASC_OK;
}

int32_t ASC_FN(pool_see)(const asc_call *call, const pool *p) {
    if (asc_numel(&call->out[0]) == 0) return ASC_OK;
    for (int a = 0; a < AXES; a++) {
        if (p->in[a] >= p->dilation[a]) continue;
        for (int64_t o = 0; o < p->out[a]; o++) {
            taps t = ASC_FN(pool_taps)(p, a, o);
            ASC_REQUIRE(call, t.first < t.end, "pool: a window sees padding alone, whose maximum ONNX doesn't define");
        }
    }
    return ASC_OK;
}

pool ASC_FN(pool_at)(const asc_call *call, const pool *found) {
    pool p = *found;
    p.x = call->in[0].data;
    p.y = call->out[0].data;
    p.index = call->n_out > 1 ? call->out[1].data : NULL;
    return p;
}
