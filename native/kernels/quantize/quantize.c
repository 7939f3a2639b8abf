/* dequantize: y = (x - zero point) * scale, x int8, uint8, int16, uint16 or int32 and y float32.
 * quantize: y = saturate(round(x / scale) + zero point), half to even, x float32 and y of 8 or 16 bits. NaN becomes
 * the least value.
 *
 * in:   x, scale (float32), zero point (absent: 0; dims of scale, type of the integers)
 * out:  y, dims of x
 * ints: asc_quantize_params. One element of scale: for the whole tensor. A vector: one for each index of `axis` (block
 * 0). As many axes as x: one for each `block` indices of `axis`, the other dims being x's.
 */
#include <math.h>

#include "asc_plan.h"
#include "chunks.h"
#include "quantise_row.h"

typedef struct scaling {
    int64_t outer, axis, inner; /* x as three axes */
    int64_t block, blocks;      /* scale: [outer or 1, blocks, inner or 1] */
    int per_outer, per_inner;
    int64_t rows_per_chunk;
} scaling;

static int32_t read_scaling(const asc_call *call, scaling *s) {
    const asc_tensor *x = &call->in[0], *scale = &call->in[1], *y = &call->out[0];
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_quantize_params) && asc_same_dims(x, y),
                "quantisation takes two ints and keeps the shape");
    if (asc_has_input(call, 2))
        ASC_REQUIRE(call, asc_numel(&call->in[2]) == asc_numel(scale), "scale and zero point differ in shape");
    const asc_quantize_params *p = ASC_INTS_AS(asc_quantize_params, call);
    int64_t axis = p->axis, block = p->block;
    *s = (scaling){.outer = 1, .axis = asc_numel(x), .inner = 1, .block = 1, .blocks = 1};
    if (asc_numel(scale) == 1 && block == 0) {
        s->block = s->axis > 0 ? s->axis : 1;
        return ASC_OK;
    }
    ASC_REQUIRE(call, axis >= 0 && axis < x->rank && block >= 0, "the axis of a quantised tensor is outside it");
    s->outer = asc_count(x, 0, (int)axis);
    s->axis = x->dims[axis];
    s->inner = asc_count(x, (int)axis + 1, x->rank);
    if (block == 0) {
        ASC_REQUIRE(call, scale->rank == 1 && scale->dims[0] == s->axis, "scale is not as long as its axis");
        s->blocks = s->axis;
        return ASC_OK;
    }
    ASC_REQUIRE(call, scale->rank == x->rank, "a scale for blocks has as many axes as what it scales");
    for (int i = 0; i < x->rank; i++) {
        int64_t wanted = i == axis ? x->dims[i] / block + (x->dims[i] % block != 0) : x->dims[i];
        ASC_REQUIRE(call, scale->dims[i] == wanted, "scale does not have one element for each block");
    }
    s->block = block;
    s->blocks = scale->dims[axis];
    s->per_outer = s->per_inner = 1;
    return ASC_OK;
}

/* Where the scales of row `row` of [outer * axis, inner] begin. */
static inline int64_t scale_at(const scaling *s, int64_t row) {
    int64_t block = row % s->axis / s->block + (s->per_outer ? row / s->axis * s->blocks : 0);
    return s->per_inner ? block * s->inner : block;
}

/* Elements [at, at + n) with one scale, or with one each. */
typedef struct run {
    int64_t at, n, scale;
    int each;
} run;

/* The run that begins at row `row`, and the rows it takes; rows of one element are taken together. */
static int64_t next_run(const scaling *s, int64_t row, int64_t end, run *r) {
    *r = (run){row * s->inner, s->inner, scale_at(s, row), s->per_inner};
    if (s->inner != 1) return 1;
    int64_t left = s->axis - row % s->axis, in_block = s->block - row % s->axis % s->block;
    r->each = s->block == 1;
    r->n = left < end - row ? left : end - row;
    if (!r->each && in_block < r->n) r->n = in_block;
    return r->n;
}

typedef void (*run_fn)(const asc_call *call, const run *r);
typedef struct job {
    scaling scaling;
    run_fn fn;
} job;

static void run_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const job *j = arg;
    const scaling *s = &j->scaling;
    int64_t rows = s->outer * s->axis, row = chunk * s->rows_per_chunk, left = rows - row;
    int64_t end = row + (s->rows_per_chunk < left ? s->rows_per_chunk : left);
    for (run r; row < end;) {
        row += next_run(s, row, end, &r);
        j->fn(call, &r);
    }
}

static int32_t run_all(const asc_call *call, run_fn fn) {
    job j = {.fn = fn};
    int32_t code = read_scaling(call, &j.scaling);
    if (code || asc_numel(&call->in[0]) == 0) return code;
    int64_t rows = j.scaling.outer * j.scaling.axis;
    j.scaling.rows_per_chunk = asc_chunk_items(call, rows, 8 * j.scaling.inner);
    asc_parallel(call, asc_ceil_div(rows, j.scaling.rows_per_chunk), run_chunk, &j);
    return ASC_OK;
}

/* `wide` holds the difference of two of `type`. */
#define DEQUANTIZE(type, wide)                                                                                    \
    static void dequantize_##type(const asc_call *call, const run *r) {                                           \
        const type *x = (const type *)call->in[0].data + r->at, *zero = call->n_in > 2 ? call->in[2].data : NULL; \
        const float *scale = (const float *)call->in[1].data + r->scale;                                          \
        float *y = (float *)call->out[0].data + r->at;                                                            \
        if (!r->each) {                                                                                           \
            wide z = zero ? zero[r->scale] : 0;                                                                   \
            float by = *scale;                                                                                    \
            for (int64_t i = 0; i < r->n; i++) y[i] = (float)((wide)x[i] - z) * by;                               \
        } else if (zero) {                                                                                        \
            zero += r->scale;                                                                                     \
            for (int64_t i = 0; i < r->n; i++) y[i] = (float)((wide)x[i] - (wide)zero[i]) * scale[i];             \
        } else {                                                                                                  \
            for (int64_t i = 0; i < r->n; i++) y[i] = (float)x[i] * scale[i];                                     \
        }                                                                                                         \
    }
DEQUANTIZE(int8_t, int32_t)
DEQUANTIZE(uint8_t, int32_t)
DEQUANTIZE(int16_t, int32_t)
DEQUANTIZE(uint16_t, int32_t)
DEQUANTIZE(int32_t, int64_t)

/* Saturated before it is converted: a float outside the integer's range has no defined conversion. */
#define QUANTIZE(type, low, high)                                                                                      \
    static inline type quantize_##type##_one(float x, float scale, float zero) {                                       \
        float v = rintf(x / scale) + zero;                                                                             \
        v = v > (low) ? v : (low);                                                                                     \
        return (type)(v < (high) ? v : (high));                                                                        \
    }                                                                                                                  \
    static void quantize_##type(const asc_call *call, const run *r) {                                                  \
        const float *x = (const float *)call->in[0].data + r->at, *scale = (const float *)call->in[1].data + r->scale; \
        const type *zero = call->n_in > 2 ? call->in[2].data : NULL;                                                   \
        type *y = (type *)call->out[0].data + r->at;                                                                   \
        if (!r->each && sizeof *y == 1) {                                                                              \
            quantise_row(x, r->n, *scale, zero ? (float)zero[r->scale] : 0, low, high, (uint8_t *)y);                  \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t i = 0; i < r->n; i++) {                                                                           \
            int64_t at = r->each ? i : 0;                                                                              \
            y[i] = quantize_##type##_one(x[i], scale[at], zero ? (float)zero[r->scale + at] : 0);                      \
        }                                                                                                              \
    }
QUANTIZE(int8_t, -128.0f, 127.0f)
QUANTIZE(uint8_t, 0.0f, 255.0f)
QUANTIZE(int16_t, -32768.0f, 32767.0f)
QUANTIZE(uint16_t, 0.0f, 65535.0f)

int32_t ASC_FN(dequantize_prepare)(asc_call *call) {
    scaling s;
    return read_scaling(call, &s);
}

int32_t ASC_FN(dequantize_run)(const asc_call *call) {
    static const run_fn BY_TYPE[] = {
        [ASC_UINT8] = dequantize_uint8_t, [ASC_INT8] = dequantize_int8_t,   [ASC_UINT16] = dequantize_uint16_t,
        [ASC_INT16] = dequantize_int16_t, [ASC_INT32] = dequantize_int32_t,
    };
    return run_all(call, BY_TYPE[call->in[0].dtype]);
}

int32_t ASC_FN(quantize_prepare)(asc_call *call) {
    scaling s;
    return read_scaling(call, &s);
}

int32_t ASC_FN(quantize_run)(const asc_call *call) {
    static const run_fn BY_TYPE[] = {
        [ASC_UINT8] = quantize_uint8_t,
        [ASC_INT8] = quantize_int8_t,
        [ASC_UINT16] = quantize_uint16_t,
        [ASC_INT16] = quantize_int16_t,
    };
    return run_all(call, BY_TYPE[call->out[0].dtype]);
}
