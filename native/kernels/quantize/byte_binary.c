/* byte_binary: the sum or product of an image of 8 bits, as float32 with a scale, with another or with a row, in 8
 * bits again.
 *
 * in:     A, uint8 or int8; B of its dims and type, or [n] in float32, one for each index of A's last axis
 * out:    Y of A's dims and type: saturate(round(cut(a op b) / y_scale) + y_zero), a = (A - a_zero) a_scale; b as well,
 *         a row as it is
 * ints:   asc_byte_binary_params
 * floats: asc_byte_binary_floats
 * Each step is rounded as the elementwise program of these steps rounds it.
 */
#include "byte_binary.h"

#include "chunks.h"
#include "quantise_row.h"

enum { A, B, BLOCK = 256 };

typedef struct job {
    int64_t op, bytes, step; /* of a chunk */
    int64_t period;          /* bytes of A after which B begins again */
    int64_t b_size;          /* bytes of an element of B */
    int64_t block;           /* BLOCK: as a constant GCC warns of loops of quantise_row that it takes apart */
    float a_zero, b_zero, a_scale, b_scale, cut_low, cut_high;
    float y_zero, y_scale, inverse, low, high;
    int is_signed;
} job;

static int is_scale(double x) {
    return x > 0 && x < 1e30; /* no sum or product of scaled bytes is infinite */
}

int32_t ASC_FN(byte_binary_check)(const asc_call *call, const asc_byte_binary_params *p,
                                  const asc_byte_binary_floats *f, int32_t dtype) {
    int64_t least = dtype == ASC_INT8 ? -128 : 0, zeros[] = {p->a_zero, p->b_zero, p->y_zero};
    ASC_REQUIRE(call, p->op >= 0 && p->op < ASC_BYTE_BINARY_COUNT, "byte_binary: the operation is unknown");
    for (int i = 0; i < 3; i++)
        ASC_REQUIRE(call, zeros[i] >= least && zeros[i] <= least + 255, "byte_binary: a zero point is out of range");
    ASC_REQUIRE(call, is_scale(f->a_scale) && is_scale(f->b_scale) && is_scale(f->y_scale),
                "byte_binary: a scale is not positive");
    ASC_REQUIRE(call, f->low <= f->high, "byte_binary: the bounds are in the wrong order");
    return ASC_OK;
}

int32_t ASC_FN(byte_binary_prepare)(asc_call *call) {
    ASC_REQUIRE(
        call,
        call->n_ints == ASC_MEMBERS(asc_byte_binary_params) && call->n_floats == ASC_MEMBERS(asc_byte_binary_floats),
        "byte_binary takes its operation and zero points, and five floats");
    const asc_tensor *a = &call->in[A], *b = &call->in[B];
    int is_row = a->rank > 0 && b->rank == 1 && b->dims[0] == a->dims[a->rank - 1];
    ASC_REQUIRE(call, b->dtype == ASC_FLOAT32 ? is_row : asc_same_dims(a, b),
                "byte_binary: its operands differ in shape");
    ASC_REQUIRE(call, asc_same_dims(a, &call->out[0]), "byte_binary: its result differs in shape");
    return ASC_FN(byte_binary_check)(call, ASC_INTS_AS(asc_byte_binary_params, call),
                                     ASC_FLOATS_AS(asc_byte_binary_floats, call), a->dtype);
}

/* As one loop over numbers, which compilers turn into one over vectors; no product is contracted with a sum here:
 * CMakeLists.txt. */
#define COMBINE(name, type, b_type, right, combination)                                                 \
    static void name(const job *j, const void *images, const void *others, float *restrict made) {      \
        const type *a = images;                                                                         \
        const b_type *b = others;                                                                       \
        const float a_zero = j->a_zero, b_zero = j->b_zero, a_scale = j->a_scale, b_scale = j->b_scale; \
        const float low = j->cut_low, high = j->cut_high;                                               \
        (void)b_zero, (void)b_scale;                                                                    \
        for (int64_t i = 0; i < BLOCK; i++) {                                                           \
            float x = ((float)a[i] - a_zero) * a_scale, y = right;                                      \
            float z = combination;                                                                      \
            z = z > low ? z : low;                                                                      \
            made[i] = z < high ? z : high;                                                              \
        }                                                                                               \
    }
#define SCALED ((float)b[i] - b_zero) * b_scale
COMBINE(add_u8, uint8_t, uint8_t, SCALED, x + y)
COMBINE(add_i8, int8_t, int8_t, SCALED, x + y)
COMBINE(multiply_u8, uint8_t, uint8_t, SCALED, x *y)
COMBINE(multiply_i8, int8_t, int8_t, SCALED, x *y)
COMBINE(add_row_u8, uint8_t, float, b[i], x + y)
COMBINE(add_row_i8, int8_t, float, b[i], x + y)
COMBINE(multiply_row_u8, uint8_t, float, b[i], x *y)
COMBINE(multiply_row_i8, int8_t, float, b[i], x *y)

typedef void combine_fn(const job *, const void *, const void *, float *restrict);
/* By operation, whether B is a row, and whether A is signed. */
static combine_fn *const combinations[ASC_BYTE_BINARY_COUNT][2][2] = {
    [ASC_BYTE_BINARY_ADD] = {{add_u8, add_i8}, {add_row_u8, add_row_i8}},
    [ASC_BYTE_BINARY_MULTIPLY] = {{multiply_u8, multiply_i8}, {multiply_row_u8, multiply_row_i8}},
};

static void run_block(const job *j, const uint8_t *a, const uint8_t *b, uint8_t *y) {
    float made[BLOCK];
    combinations[j->op][j->b_size > 1][j->is_signed](j, a, b, made);
    quantise_row_by(made, j->block, j->y_scale, j->inverse, j->y_zero, j->low, j->high, y);
}

static void run_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const job *j = arg;
    const uint8_t *a = call->in[A].data, *b = call->in[B].data;
    uint8_t *y = call->out[0].data, tail[2][BLOCK] = {{0}};
    float others[BLOCK] = {0};
    int64_t end = asc_least((chunk + 1) * j->step, j->bytes), n;
    (void)worker;
    for (int64_t i = chunk * j->step; i < end; i += n) {
        int64_t at = i % j->period;
        n = asc_least(BLOCK, asc_least(end - i, j->period - at));
        if (n == BLOCK) {
            run_block(j, a + i, b + at * j->b_size, y + i);
            continue;
        }
        memcpy(tail[0], a + i, (size_t)n);
        memcpy(others, b + at * j->b_size, (size_t)(n * j->b_size));
        run_block(j, tail[0], (const uint8_t *)others, tail[1]);
        memcpy(y + i, tail[1], (size_t)n);
    }
}

int32_t ASC_FN(byte_binary_run)(const asc_call *call) {
    const asc_byte_binary_params *p = ASC_INTS_AS(asc_byte_binary_params, call);
    const asc_byte_binary_floats *f = ASC_FLOATS_AS(asc_byte_binary_floats, call);
    job j = {.op = p->op, .block = BLOCK, .bytes = asc_numel(&call->in[A]), .is_signed = call->in[A].dtype == ASC_INT8};
    if (j.bytes == 0) return ASC_OK;
    int is_row = call->in[B].dtype == ASC_FLOAT32;
    j.period = is_row ? call->in[B].dims[0] : j.bytes;
    j.b_size = is_row ? (int64_t)sizeof(float) : 1;
    j.step = asc_chunk_items(call, asc_ceil_div(j.bytes, BLOCK), 8 * BLOCK) * BLOCK;
    j.a_zero = (float)p->a_zero;
    j.b_zero = (float)p->b_zero;
    j.a_scale = (float)f->a_scale;
    j.b_scale = (float)f->b_scale;
    j.cut_low = (float)f->low;
    j.cut_high = (float)f->high;
    j.y_zero = (float)p->y_zero;
    j.y_scale = (float)f->y_scale;
    j.inverse = quotient_inverse(j.y_scale);
    if (j.inverse > 0) { /* what is farther is cut to the bounds of the type, too */
        const float farthest = QUOTIENT_FARTHEST * j.y_scale;
        j.cut_low = fminf(farthest, fmaxf(-farthest, j.cut_low));
        j.cut_high = fminf(farthest, fmaxf(-farthest, j.cut_high));
    }
    j.low = j.is_signed ? -128 : 0;
    j.high = j.low + 255;
    asc_parallel(call, asc_ceil_div(j.bytes, j.step), run_chunk, &j);
    return ASC_OK;
}
