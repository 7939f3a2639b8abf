/* What a convolution of integers is told, and the padded image that it reads. */
#include <string.h>

#include "chunks.h"
#include "movement/byte_transpose.h"
#include "qconv.h"
#include "quantize/byte_binary.h"

#define FARTHEST (1 << 20) /* of a window or padding */

static int64_t round_up(int64_t n, int64_t to) {
    return (n + to - 1) / to * to;
}

static int is_within(int64_t n, int64_t least) {
    return n >= least && n <= FARTHEST;
}

static int32_t read_axes(const asc_call *call, qconv *c, int spatial) {
    const asc_qconv_params *p = ASC_INTS_AS(asc_qconv_params, call);
    for (int i = 0; i < QCONV_AXES; i++) c->kernel[i] = c->stride[i] = c->dilation[i] = c->in[i] = c->out[i] = 1;
    for (int i = 0; i < spatial; i++) {
        int to = QCONV_AXES - spatial + i;
        const asc_conv_axis *axis = &p->axes[i];
        c->kernel[to] = axis->kernel;
        c->stride[to] = axis->stride;
        c->dilation[to] = axis->dilation;
        c->pad[to] = axis->pad;
        int fits = is_within(axis->kernel, 1) && is_within(axis->stride, 1) && is_within(axis->dilation, 1);
        ASC_REQUIRE(call, fits && is_within(axis->pad, 0), "qconv: a window is out of range");
        c->in[to] = call->in[Q_A].dims[c->x_last ? 1 + i : 2 + i];
        c->out[to] = call->out[0].dims[c->y_last ? 1 + i : 2 + i];
    }
    return ASC_OK;
}

/* Extents of the padded image; 0 when they overflow. */
static int span_image(qconv *c) {
    int64_t bytes = c->channels;
    for (int i = 0; i < QCONV_AXES; i++) {
        int64_t reach = (c->kernel[i] - 1) * c->dilation[i] + 1, start;
        if (!asc_mul_ok(c->out[i] > 0 ? c->out[i] - 1 : 0, c->stride[i], &start)) return 0;
        if (!asc_add_ok(start, reach, &c->padded[i]) || !asc_mul_ok(bytes, c->padded[i], &bytes)) return 0;
    }
    if (bytes > INT64_MAX / 4) return 0;
    c->image_bytes = round_up(bytes + 4, 64);
    return 1;
}

/* Windows that read no padding read x itself where it lies as the products see it. */
static void look_in_place(const asc_call *call, qconv *c) {
    int whole = c->apart || c->length % 4 == 0; /* else the last four bytes would reach past x */
    c->in_place = c->x_last && call->in[Q_A].dtype == ASC_UINT8 && whole;
    for (int i = 0; i < QCONV_AXES; i++) c->in_place &= c->pad[i] == 0 && c->padded[i] <= c->in[i];
    if (!c->in_place) return;
    memcpy(c->padded, c->in, sizeof c->padded);
    c->image_bytes = c->channels * c->in[0] * c->in[1];
}

static int32_t read_weights(const asc_call *call, qconv *c) {
    const asc_tensor *w = &call->in[Q_B];
    int64_t taps = c->kernel[0] * c->kernel[1];
    ASC_REQUIRE(call, w->dtype == ASC_INT8 && taps <= INT32_MAX && q_operand(call, Q_SUMS),
                "qconv: weights are int8, with the sums of their columns");
    c->apart = w->layout == ASC_LAYOUT_PLAIN;
    if (c->apart) {
        ASC_REQUIRE(call, w->rank == 2 && w->dims[0] == taps && w->dims[1] == c->channels,
                    "qconv: plain weights are [taps, channels]");
        ASC_REQUIRE(call, c->groups == c->channels && c->outputs == c->channels,
                    "qconv: plain weights are those of channels apart");
        return ASC_OK;
    }
    int joined = c->groups == 1 && c->dilation[1] == 1; /* neighbouring taps are neighbouring bytes */
    c->n_segments = joined ? c->kernel[0] : taps;
    c->length = joined ? c->kernel[1] * c->fan_in : c->fan_in;
    c->vnni4 = (c->length + 3) / 4;
    int64_t rows;
    ASC_REQUIRE(call, c->length < INT32_MAX && asc_mul_ok(c->n_segments, 4 * c->vnni4, &rows) && rows < INT32_MAX,
                "qconv: the window is too large");
    ASC_REQUIRE(call,
                w->layout == ASC_LAYOUT_VNNI4_32 && w->rank == 3 && w->dims[0] == c->groups && w->dims[1] == rows &&
                    w->dims[2] == c->outputs / c->groups,
                "qconv: weights are [groups, runs of taps and channels, outputs of a group] in VNNI4_32");
    return ASC_OK;
}

/* Positions of a line where lines go on from one to the next: as many lines as threads, or several times that, so that
 * small images are shared, too. */
static int64_t flat_line(const asc_call *call, int64_t positions) {
    int64_t lines = asc_ceil_div(asc_ceil_div(positions, 8 * QGEMM_ROWS), call->threads) * call->threads;
    return asc_most(asc_ceil_div(positions, asc_most(lines, 1)), QGEMM_ROWS);
}

/* The arguments of the sum with the addend, which are behind the others. */
static int32_t read_sum(const asc_call *call, qconv *c, int spatial) {
    const int ints = ASC_MEMBERS(asc_qconv_params) + ASC_MEMBERS(asc_conv_axis) * spatial;
    const asc_tensor *addend = q_operand(call, QCONV_ADDEND);
    const int floats = ASC_MEMBERS(asc_requantise_floats);
    const int more = addend ? ASC_MEMBERS(asc_byte_binary_params) : 0;
    ASC_REQUIRE(call, call->n_ints == ints + more,
                "qconv takes images of one or two spatial axes, four ints for each, and those of a sum");
    ASC_REQUIRE(call, call->n_floats == floats + (addend ? ASC_MEMBERS(asc_byte_binary_floats) : 0),
                "qconv takes two floats, and those of a sum");
    if (!addend) return ASC_OK;
    c->adds = 1;
    memcpy(&c->sum, &ASC_INTS_AS(asc_qconv_params, call)->axes[spatial], sizeof c->sum);
    memcpy(&c->sum_floats, ASC_FLOATS_AS(asc_requantise_floats, call) + 1, sizeof c->sum_floats);
    ASC_REQUIRE(call, c->y_last && !c->apart, "qconv: sums have channels last, and no channels apart");
    ASC_REQUIRE(call, asc_same_dims(addend, &call->out[0]), "qconv: the addend differs from the output in shape");
    ASC_REQUIRE(call, c->sum.op == ASC_BYTE_BINARY_ADD, "qconv: the operation behind it is no sum");
    int32_t code = ASC_FN(byte_binary_check)(call, &c->sum, &c->sum_floats, addend->dtype);
    if (!code) c->sum_affine = ASC_FN(byte_affine_find)(&c->sum, &c->sum_floats, call->out[0].dtype);
    return code;
}

int32_t ASC_FN(qconv_read)(const asc_call *call, qconv *c) {
    const asc_tensor *x = &call->in[Q_A], *y = &call->out[0];
    int spatial = x->rank - 2;
    int32_t code;
    const int ints = ASC_MEMBERS(asc_qconv_params) + ASC_MEMBERS(asc_conv_axis) * spatial;
    ASC_REQUIRE(call, (spatial == 1 || spatial == 2) && y->rank == x->rank && call->n_ints >= ints,
                "qconv takes images of one or two spatial axes, and four ints for each");
    const asc_qconv_params *p = ASC_INTS_AS(asc_qconv_params, call);
    int known = (p->x_last == 0 || p->x_last == 1) && (p->y_last == 0 || p->y_last == 1);
    ASC_REQUIRE(call, known, "qconv: layouts are 0 or 1");
    *c = (qconv){.groups = p->group, .x_last = (int)p->x_last, .y_last = (int)p->y_last, .batch = x->dims[0]};
    c->channels = x->dims[c->x_last ? x->rank - 1 : 1];
    c->outputs = y->dims[c->y_last ? y->rank - 1 : 1];
    ASC_REQUIRE(call, y->dims[0] == c->batch, "qconv: input and output differ in their batch");
    ASC_REQUIRE(call, c->groups >= 1 && c->channels % c->groups == 0 && c->outputs % c->groups == 0,
                "qconv: the groups do not divide the channels");
    ASC_REQUIRE(call, c->channels <= FARTHEST && c->outputs <= FARTHEST, "qconv: there are too many channels");
    c->fan_in = c->channels / c->groups;
    if ((code = read_axes(call, c, spatial)) || (code = read_weights(call, c))) return code;
    if ((code = read_sum(call, c, spatial))) return code;
    ASC_REQUIRE(call, span_image(c), "qconv: the image is too large");
    look_in_place(call, c);
    c->flat = c->padded[1] * c->stride[0] == c->out[1] * c->stride[1];
    c->positions = c->out[0] * c->out[1];
    c->line = c->flat ? flat_line(call, c->positions) : c->out[1];
    c->lines = c->flat ? (c->positions + c->line - 1) / c->line : c->out[0];
    c->line_step = c->flat ? c->line * c->stride[1] * c->channels : c->stride[0] * c->padded[1] * c->channels;
    return ASC_FN(requantiser_check)(call, c->outputs);
}

/* The zero point of x as uint8, which is what padding holds. */
static uint8_t padding(const asc_call *call) {
    const asc_tensor *zero = q_operand(call, Q_A_ZERO);
    uint8_t flip = call->in[Q_A].dtype == ASC_INT8 ? 128 : 0;
    return (uint8_t)((zero ? *(const uint8_t *)zero->data : 0) ^ flip);
}

static void copy_flipped(uint8_t *restrict out, const uint8_t *restrict x, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = x[i] ^ 128;
}

void ASC_FN(qconv_pad)(const asc_call *call, const qconv *c, int64_t chunk, uint8_t *images) {
    int64_t n = chunk / c->padded[0], row = chunk % c->padded[0] - c->pad[0], pitch = c->padded[1] * c->channels;
    uint8_t *out = images + n * c->image_bytes + chunk % c->padded[0] * pitch, fill = padding(call);
    uint8_t flip = call->in[Q_A].dtype == ASC_INT8 ? 128 : 0;
    if (row + c->pad[0] == c->padded[0] - 1) /* the last row: what the last four may read past it */
        memset(out + pitch, 0, (size_t)(c->image_bytes - c->padded[0] * pitch));
    int64_t left = c->pad[1] < c->padded[1] ? c->pad[1] : c->padded[1], room = c->padded[1] - left;
    int64_t width = c->in[1] < room ? c->in[1] : room;
    if (row < 0 || row >= c->in[0] || width == 0) {
        memset(out, fill, (size_t)pitch);
        return;
    }
    memset(out, fill, (size_t)(left * c->channels));
    memset(out + (left + width) * c->channels, fill, (size_t)((room - width) * c->channels));
    const uint8_t *x = (const uint8_t *)call->in[Q_A].data + n * c->channels * c->in[0] * c->in[1];
    out += left * c->channels;
    if (!c->x_last) {
        ASC_FN(transpose_bytes)(x + row * c->in[1], c->in[0] * c->in[1], c->channels, width, flip, out, c->channels);
        return;
    }
    x += row * c->in[1] * c->channels;
    if (flip)
        copy_flipped(out, x, width * c->channels);
    else
        memcpy(out, x, (size_t)(width * c->channels));
}
