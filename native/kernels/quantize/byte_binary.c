/* byte_binary: the sum or product of two images of 8 bits, as float32 with a scale each, in 8 bits again.
 *
 * in:     A, B, uint8 or int8
 * out:    Y of their dims and type: saturate(round(cut(a op b) / y_scale) + y_zero), a = (A - a_zero) a_scale
 * ints:   asc_byte_binary_params
 * floats: asc_byte_binary_floats
 * Each step is rounded as the elementwise program of these steps rounds it.
 */
#include "asc_plan.h"
#include "chunks.h"
#include "quantise_row.h"

enum { A, B, BLOCK = 256 };

typedef struct job {
    int64_t op, bytes, step; /* of a chunk */
    int64_t block;           /* BLOCK: as a constant GCC warns of loops of quantise_row that it takes apart */
    float a_zero, b_zero, a_scale, b_scale, cut_low, cut_high;
    float y_zero, y_scale, low, high;
    int is_signed;
} job;

static int is_scale(double x) {
    return x > 0 && x < 1e30; /* no sum or product of scaled bytes is infinite */
}

int32_t ASC_FN(byte_binary_prepare)(asc_call *call) {
    ASC_REQUIRE(
        call,
        call->n_ints == ASC_MEMBERS(asc_byte_binary_params) && call->n_floats == ASC_MEMBERS(asc_byte_binary_floats),
        "byte_binary takes its operation and zero points, and five floats");
    const asc_byte_binary_params *p = ASC_INTS_AS(asc_byte_binary_params, call);
    const asc_byte_binary_floats *f = ASC_FLOATS_AS(asc_byte_binary_floats, call);
    int64_t least = call->in[A].dtype == ASC_INT8 ? -128 : 0, zeros[] = {p->a_zero, p->b_zero, p->y_zero};
    ASC_REQUIRE(call, p->op >= 0 && p->op < ASC_BYTE_BINARY_COUNT, "byte_binary: the operation is unknown");
    for (int i = 0; i < 3; i++)
        ASC_REQUIRE(call, zeros[i] >= least && zeros[i] <= least + 255, "byte_binary: a zero point is out of range");
    ASC_REQUIRE(call, is_scale(f->a_scale) && is_scale(f->b_scale) && is_scale(f->y_scale),
                "byte_binary: a scale is not positive");
    ASC_REQUIRE(call, f->low <= f->high, "byte_binary: the bounds are in the wrong order");
    ASC_REQUIRE(call, asc_same_dims(&call->in[A], &call->in[B]) && asc_same_dims(&call->in[A], &call->out[0]),
                "byte_binary: its operands and its result differ in shape");
    return ASC_OK;
}

/* As one loop over numbers, which compilers turn into one over vectors; no product is contracted with a sum here:
 * CMakeLists.txt. */
#define COMBINE(name, type, combination)                                                                \
    static void name(const job *j, const void *left, const void *right, float *restrict made) {         \
        const type *a = left, *b = right;                                                               \
        const float a_zero = j->a_zero, b_zero = j->b_zero, a_scale = j->a_scale, b_scale = j->b_scale; \
        const float low = j->cut_low, high = j->cut_high;                                               \
        for (int64_t i = 0; i < BLOCK; i++) {                                                           \
            float x = ((float)a[i] - a_zero) * a_scale, y = ((float)b[i] - b_zero) * b_scale;           \
            float z = combination;                                                                      \
            z = z > low ? z : low;                                                                      \
            made[i] = z < high ? z : high;                                                              \
        }                                                                                               \
    }
COMBINE(add_u8, uint8_t, x + y)
COMBINE(add_i8, int8_t, x + y)
COMBINE(multiply_u8, uint8_t, x *y)
COMBINE(multiply_i8, int8_t, x *y)

static void run_block(const job *j, const uint8_t *a, const uint8_t *b, uint8_t *y) {
    float sums[BLOCK];
    if (j->op == ASC_BYTE_BINARY_ADD)
        (j->is_signed ? add_i8 : add_u8)(j, a, b, sums);
    else
        (j->is_signed ? multiply_i8 : multiply_u8)(j, a, b, sums);
    quantise_row(sums, j->block, j->y_scale, j->y_zero, j->low, j->high, y);
}

static void run_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const job *j = arg;
    const uint8_t *a = call->in[A].data, *b = call->in[B].data;
    uint8_t *y = call->out[0].data, tail[3][BLOCK] = {{0}};
    int64_t i = chunk * j->step, end = asc_least(i + j->step, j->bytes);
    (void)worker;
    for (; i + BLOCK <= end; i += BLOCK) run_block(j, a + i, b + i, y + i);
    if (i == end) return;
    memcpy(tail[0], a + i, (size_t)(end - i));
    memcpy(tail[1], b + i, (size_t)(end - i));
    run_block(j, tail[0], tail[1], tail[2]);
    memcpy(y + i, tail[2], (size_t)(end - i));
}

int32_t ASC_FN(byte_binary_run)(const asc_call *call) {
    const asc_byte_binary_params *p = ASC_INTS_AS(asc_byte_binary_params, call);
    const asc_byte_binary_floats *f = ASC_FLOATS_AS(asc_byte_binary_floats, call);
    job j = {.op = p->op, .block = BLOCK, .bytes = asc_numel(&call->in[A]), .is_signed = call->in[A].dtype == ASC_INT8};
    if (j.bytes == 0) return ASC_OK;
    j.step = asc_chunk_items(call, asc_ceil_div(j.bytes, BLOCK), 8 * BLOCK) * BLOCK;
    j.a_zero = (float)p->a_zero;
    j.b_zero = (float)p->b_zero;
    j.a_scale = (float)f->a_scale;
    j.b_scale = (float)f->b_scale;
    j.cut_low = (float)f->low;
    j.cut_high = (float)f->high;
    j.y_zero = (float)p->y_zero;
    j.y_scale = (float)f->y_scale;
    j.low = j.is_signed ? -128 : 0;
    j.high = j.low + 255;
    asc_parallel(call, asc_ceil_div(j.bytes, j.step), run_chunk, &j);
    return ASC_OK;
}
