/* The tables of a requantisation, from the operands that integer products share. */
#include <string.h>

#include "asc_plan.h"
#include "matmul/qgemm.h"

static int is_one_or(const asc_tensor *t, int64_t columns) {
    int64_t n = t ? asc_numel(t) : 1;
    return n == 1 || n == columns;
}

int32_t ASC_FN(requantiser_check)(const asc_call *call, int64_t columns) {
    const asc_tensor *sums = q_operand(call, Q_SUMS), *bias = q_operand(call, Q_BIAS), *b = &call->in[Q_B];
    static const int singles[] = {Q_A_ZERO, Q_A_SCALE, Q_Y_SCALE, Q_Y_ZERO};
    ASC_REQUIRE(call, sums ? asc_numel(sums) == columns : b->layout == ASC_LAYOUT_PLAIN,
                "an integer product with packed weights takes the sums of their columns");
    ASC_REQUIRE(call, !bias || asc_numel(bias) == columns, "the bias of an integer product has one element a column");
    for (int i = 0; i < 4; i++) {
        const asc_tensor *t = q_operand(call, singles[i]);
        ASC_REQUIRE(call, !t || asc_numel(t) == 1, "a scale or zero point of an integer product is no single number");
    }
    ASC_REQUIRE(call, is_one_or(q_operand(call, Q_B_ZERO), columns) && is_one_or(q_operand(call, Q_B_SCALE), columns),
                "scale and zero point of B have one element, or one a column");
    int32_t dtype = call->out[0].dtype;
    if (dtype == ASC_INT32) return ASC_OK;
    ASC_REQUIRE(call, q_operand(call, Q_A_SCALE) && q_operand(call, Q_B_SCALE), "an integer product lacks its scales");
    if (dtype == ASC_FLOAT32) return ASC_OK;
    const asc_requantise_floats *bounds = ASC_FLOATS_AS(asc_requantise_floats, call);
    double least = dtype == ASC_INT8 ? -128 : 0, low = bounds->low, high = bounds->high;
    ASC_REQUIRE(call, q_operand(call, Q_Y_SCALE), "an integer product lacks the scale of its result");
    ASC_REQUIRE(call, low >= least && low <= high && high <= least + 255, "bounds of 8 bits are out of their range");
    return ASC_OK;
}

/* An element of 8 bits, of a tensor of one or many. */
static int32_t byte_at(const asc_tensor *t, int64_t i) {
    if (!t) return 0;
    i = asc_numel(t) == 1 ? 0 : i;
    return t->dtype == ASC_UINT8 ? ((const uint8_t *)t->data)[i] : ((const int8_t *)t->data)[i];
}

static float float_at(const asc_tensor *t, int64_t i) {
    return t ? ((const float *)t->data)[asc_numel(t) == 1 ? 0 : i] : 1.0f;
}

/* offset = bias - a_zero sum(B) + k a_zero b_zero, all as the products see A and B: bytes of A from 0 on, of B
 * from -128 on. */
static void fill_integers(const asc_call *call, int64_t columns, int64_t k, const int32_t *sums, int32_t *offset,
                          int32_t *b_zero) {
    const asc_tensor *bias = q_operand(call, Q_BIAS), *zero = q_operand(call, Q_B_ZERO);
    const int32_t *addend = bias && bias->dtype == ASC_INT32 ? bias->data : NULL;
    uint32_t a_zero = (uint32_t)byte_at(q_operand(call, Q_A_ZERO), 0) + (call->in[Q_A].dtype == ASC_INT8 ? 128u : 0);
    uint32_t shift = call->in[Q_B].dtype == ASC_UINT8 ? 128u : 0;
    for (int64_t j = 0; j < columns; j++) {
        uint32_t z = (uint32_t)byte_at(zero, j) - shift;
        uint32_t sum = addend ? (uint32_t)addend[j] : 0;
        b_zero[j] = (int32_t)z;
        offset[j] = (int32_t)(sum - a_zero * (uint32_t)sums[j] + (uint32_t)k * a_zero * z);
    }
}

requantiser ASC_FN(requantiser_make)(const asc_call *call, const asc_requantise_floats *bounds, int64_t columns,
                                     int64_t k, const int32_t *b_sums, void *tables) {
    int64_t width = requantiser_bytes(columns) / 16, any_zero = 0;
    int32_t *offset = tables, *b_zero = offset + width;
    float *scale = (float *)(b_zero + width), *bias = scale + width;
    const asc_tensor *sums = q_operand(call, Q_SUMS), *addend = q_operand(call, Q_BIAS);
    memset(tables, 0, (size_t)requantiser_bytes(columns));
    fill_integers(call, columns, k, sums ? sums->data : b_sums, offset, b_zero);
    for (int64_t j = 0; j < columns; j++) any_zero |= b_zero[j];
    requantiser r = {.offset = offset, .b_zero = any_zero ? b_zero : NULL, .dtype = call->out[0].dtype};
    if (r.dtype == ASC_INT32) return r;
    float a_scale = float_at(q_operand(call, Q_A_SCALE), 0), y_scale = float_at(q_operand(call, Q_Y_SCALE), 0);
    const asc_tensor *b_scale = q_operand(call, Q_B_SCALE);
    for (int64_t j = 0; j < columns; j++) {
        float product = a_scale * float_at(b_scale, j);
        scale[j] = r.dtype == ASC_FLOAT32 ? product : product / y_scale;
    }
    r.scale = scale;
    if (addend && addend->dtype == ASC_FLOAT32) r.bias = memcpy(bias, addend->data, (size_t)columns * sizeof *bias);
    r.zero = byte_at(q_operand(call, Q_Y_ZERO), 0);
    r.low = (float)(bounds->low - r.zero);
    r.high = (float)(bounds->high - r.zero);
    r.saturates = bounds->high - bounds->low == 255;
    for (int64_t j = 0; j < columns; j++) r.saturates &= scale[j] > -0.5f && scale[j] < 0.5f;
    return r;
}
