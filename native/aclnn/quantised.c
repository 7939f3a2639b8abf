/* quantised.c - floats to small integers and back: by given scales, or by scales that their rows have. */
#include "quantised.h"

#include <math.h>
#include <string.h>

#include "asc_plan.h"

/* ---- what they are made of ----------------------------------------------------------------------------------- */

double asc_quantised_top(asc_run *run, int i, int64_t width) {
    tensor to = asc_in(run, i);
    if (to.dtype == ASC_INT8) return 127;
    ASC_STOP_UNLESS(run, to.dtype == ASC_INT32 && to.rank > 0 && to.dims[to.rank - 1] * 8 == width,
                    "integers go out as int8, or as eight of 4 bits in each int32");
    return 7;
}

tensor asc_quantised(asc_run *run, tensor t, double top) {
    return ASC_COMPUTE_WITH(run, t.dtype == ASC_FLOAT64 ? ASC_FLOAT64 : ASC_FLOAT32,
                            "a != a ? 0 : min(max(round(a), 0 - p - 1), p)", top, t);
}

tensor asc_quantised_rows(asc_run *run, tensor rows, double top, tensor *scale) {
    int64_t last = rows.rank - 1;
    tensor size = ASC_COMPUTE(run, ASC_FLOAT32, "abs(a)", rows);
    if (rows.rank) size = asc_reduce_axes(run, ASC_REDUCE_MAX, size, 1, &last);
    *scale = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a / p", top, size);
    return asc_quantised(run, ASC_COMPUTE(run, ASC_FLOAT32, "b == 0 ? 0 : a / b", rows, *scale), top);
}

tensor asc_unpacked(asc_run *run, tensor w) {
    if (w.dtype != ASC_INT32) return w;
    int along = w.rank - 1;
    if (w.rank > 1 && w.strides[along] != 1 && w.strides[along - 1] == 1) along--;
    tensor made = w;
    made.dims[along] *= 8;
    made = asc_new(run, ASC_INT8, made.rank, made.dims);
    tensor from = asc_cast(run, along == w.rank - 1 ? w : asc_swap(w, along, along + 1), ASC_INT32);
    tensor packed = asc_new(run, ASC_INT8, 1, (int64_t[]){asc_elements(from) * 8});
    for (int64_t i = 0; i < asc_elements(packed); i++) {
        uint32_t word = ((const uint32_t *)from.data)[i / 8];
        ((int8_t *)packed.data)[i] = (int8_t)((int8_t)((word >> i % 8 * 4 & 15) << 4) >> 4);
    }
    from.dims[from.rank - 1] *= 8;
    packed = asc_reshape(run, packed, from.rank, from.dims);
    asc_store(run, made, along == w.rank - 1 ? packed : asc_swap(packed, along, along + 1));
    return made;
}

void asc_put_quantised(asc_run *run, int i, tensor integers) {
    if (!asc_given_at(run, i)) return;
    tensor to = asc_in(run, i);
    if (to.dtype != ASC_INT32 || asc_elements(to) * 8 != asc_elements(integers)) {
        asc_put(run, i, integers);
        return;
    }
    tensor from = asc_cast(run, integers, ASC_INT32), packed = asc_like(run, to, ASC_INT32);
    for (int64_t k = 0; k < asc_elements(packed); k++) {
        uint32_t word = 0;
        for (int j = 0; j < 8; j++) word |= ((uint32_t)((const int32_t *)from.data)[k * 8 + j] & 15) << 4 * j;
        ((uint32_t *)packed.data)[k] = word;
    }
    asc_put(run, i, packed);
}

/* ---- by given scales ----------------------------------------------------------------------------------------- */

/* A vector along an axis of t, so that it broadcasts; one number as it is. */
static tensor along(asc_run *run, tensor v, tensor t, int64_t axis) {
    v = asc_cast(run, v, ASC_FLOAT32);
    if (asc_elements(v) == 1) return asc_reshape(run, v, 0, NULL);
    if (v.rank != 1) return v;
    int64_t dims[ASC_MAX_RANK];
    int at = (int)asc_axis(run, axis, t.rank);
    for (int i = 0; i < t.rank; i++) dims[i] = i == at ? v.dims[0] : 1;
    return asc_reshape(run, v, t.rank, dims);
}

/* How a value becomes whole: "rint", or "round" for the same, "floor", "ceil", "trunc". */
static tensor rounded(asc_run *run, tensor t, const char *how, double top) {
    static const char *const names[] = {"floor", "ceil", "trunc"}, *const formulas[] = {"floor(a)", "ceil(a)",
                                                                                        "trunc(a)"};
    for (int k = 0; how && k < 3; k++)
        if (strcmp(how, names[k]) == 0) return asc_quantised(run, ASC_COMPUTE(run, ASC_FLOAT32, formulas[k], t), top);
    ASC_STOP_UNLESS(run, !how || !*how || strcmp(how, "round") == 0 || strcmp(how, "rint") == 0,
                    "roundMode [%s] is none of round, floor, ceil, trunc", how);
    return asc_quantised(run, t, top);
}

/* x, scale, offset, sqrtMode, roundMode, dstType, perhaps an axis, y: x scale + offset. */
void asc_op_quantise(asc_run *run, int out) {
    tensor x = asc_in(run, 0);
    int64_t axis = out > 6 ? asc_int(run, 6) : -1;
    double top = asc_quantised_top(run, out, x.rank ? x.dims[x.rank - 1] : 1);
    tensor scale = along(run, asc_in(run, 1), x, axis);
    tensor y = ASC_COMPUTE(run, ASC_FLOAT32, asc_int(run, 3) ? "a * b * b" : "a * b", x, scale);
    if (asc_given_at(run, 2)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, along(run, asc_in(run, 2), x, axis));
    asc_put_quantised(run, out, rounded(run, y, asc_arg(run, 4)->text, top));
}

/* x, scales, zeroPoints, type, axis, out: x / scale + zero point. */
void asc_op_quantise_over(asc_run *run) {
    tensor x = asc_in(run, 0), to = asc_in(run, 5);
    tensor y = ASC_COMPUTE(run, ASC_FLOAT32, "a / b", x, along(run, asc_in(run, 1), x, asc_int(run, 4)));
    if (asc_given_at(run, 2))
        y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, along(run, asc_in(run, 2), x, asc_int(run, 4)));
    if (to.dtype == ASC_UINT8)
        asc_put(run, 5, ASC_COMPUTE(run, ASC_FLOAT32, "min(max(round(a), 0), 255)", y));
    else if (to.dtype == ASC_INT8)
        asc_put(run, 5, asc_quantised(run, y, 127));
    else /* all of 32 bits */
        asc_put(run, 5, ASC_COMPUTE(run, ASC_FLOAT64, "min(max(round(a), 0 - 2147483648), 2147483647)", y));
}

/* x, scale, offset, dstType, sqrtMode, y: (x + offset) scale. */
void asc_op_antiquantise(asc_run *run) {
    tensor x = asc_unpacked(run, asc_in(run, 0)), y = asc_cast(run, x, ASC_FLOAT32);
    if (asc_given_at(run, 2)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, along(run, asc_in(run, 2), x, -1));
    asc_put(
        run, 5,
        ASC_COMPUTE(run, ASC_FLOAT32, asc_int(run, 4) ? "a * b * b" : "a * b", y, along(run, asc_in(run, 1), x, -1)));
}

/* scale, offset, out: as products of bytes take them, a float of 19 bits, bit 46, and an offset of 9 bits from bit 37.
 */
void asc_op_pack_scales(asc_run *run) {
    tensor scale = asc_f32(run, 0), offset = {0}, made = asc_new(run, asc_in(run, 2).dtype, 1, (int64_t[]){0});
    int64_t n = asc_elements(scale), m = 1;
    if (asc_given_at(run, 1)) {
        offset = asc_f32(run, 1);
        m = asc_elements(offset);
    }
    int64_t all = n > m ? n : m;
    ASC_STOP_UNLESS(run, (n == all || n == 1) && (m == all || m == 1) && asc_dtype_bytes(made.dtype) == 8,
                    "%lld scales and %lld offsets, to numbers of 64 bits", (long long)n, (long long)m);
    made = asc_new(run, made.dtype, 1, &all);
    for (int64_t i = 0; i < all; i++) {
        uint32_t bits;
        memcpy(&bits, (const float *)scale.data + (n == 1 ? 0 : i), sizeof bits);
        uint64_t word = (uint64_t)(bits & 0xFFFFE000u) | 1ull << 46;
        if (offset.data) {
            double shift = rint(((const float *)offset.data)[m == 1 ? 0 : i]);
            shift = shift > 255 ? 255 : shift < -256 ? -256 : shift;
            word |= ((uint64_t)(int64_t)shift & 0x1FF) << 37;
        }
        ((uint64_t *)made.data)[i] = word;
    }
    asc_put(run, 2, made);
}

/* x, scale of columns, of rows, bias, type, out; a bias of integers is added first. */
void asc_op_dequantise(asc_run *run) {
    tensor x = asc_of(run, 0, ASC_FLOAT64), bias = {0};
    if (asc_given_at(run, 3)) bias = asc_in(run, 3);
    bool first = bias.data && asc_is_integer(bias.dtype);
    if (first) x = ASC_COMPUTE(run, ASC_FLOAT64, "a + b", x, bias);
    x = ASC_COMPUTE(run, ASC_FLOAT64, "a * b", x, asc_in(run, 1));
    if (asc_given_at(run, 2)) x = ASC_COMPUTE(run, ASC_FLOAT64, "a * b", x, along(run, asc_in(run, 2), x, 0));
    asc_put(run, 5, bias.data && !first ? ASC_COMPUTE(run, ASC_FLOAT64, "a + b", x, bias) : x);
}

/* self, scale, zero point, axis or whether it is done at all, least, most, out, which are within: integers, as floats
 * again. */
void asc_op_round_to_integers(asc_run *run, int axis_at) {
    tensor x = asc_f32(run, 0), scale = asc_f32(run, 1), zero = asc_f32(run, 2), within = asc_like(run, x, ASC_BOOL);
    double range[] = {asc_float(run, 4), asc_float(run, 5)};
    if (axis_at >= 0) {
        int64_t dims[ASC_MAX_RANK], axis = asc_axis(run, asc_int(run, axis_at), x.rank);
        for (int i = 0; i < x.rank; i++) dims[i] = i == axis ? x.dims[i] : 1;
        ASC_STOP_UNLESS(run, asc_elements(scale) == x.dims[axis] && asc_elements(zero) == x.dims[axis],
                        "%lld scales along an axis of %lld", (long long)asc_elements(scale), (long long)x.dims[axis]);
        scale = asc_reshape(run, scale, x.rank, dims);
        zero = asc_reshape(run, zero, x.rank, dims);
    } else if (asc_float(run, 3) == 0) { /* it only watches */
        asc_fill(run, within, 1);
        asc_put(run, 6, x);
        asc_put(run, 7, within);
        return;
    }
    tensor whole = ASC_COMPUTE(run, ASC_FLOAT32, "round(a / b) + c", x, scale, zero), in[] = {whole, scale, zero};
    asc_put(run, 6, asc_formula(run, ASC_FLOAT32, "(min(max(a, p), q) - c) * b", 3, in, range, 2));
    asc_put(run, 7, asc_formula(run, ASC_BOOL, "a >= p && a <= q", 1, &whole, range, 2));
}

/* x, scales of groups, ends of groups, offset, type, y. */
void asc_op_quantise_groups(asc_run *run) {
    tensor x = asc_copy(run, asc_in(run, 0), ASC_FLOAT32), scale = asc_f32(run, 1), ends = asc_of(run, 2, ASC_INT64);
    ASC_STOP_UNLESS(run,
                    x.rank == 2 && scale.rank == 2 && scale.dims[1] == x.dims[1] && scale.dims[0] == asc_elements(ends),
                    "scales for %lld groups of rows", (long long)asc_elements(ends));
    int64_t at = 0;
    for (int64_t g = 0; g < asc_elements(ends); g++) {
        int64_t end = ((const int64_t *)ends.data)[g];
        ASC_STOP_UNLESS(run, end >= at && end <= x.dims[0], "group %lld ends at %lld of %lld rows", (long long)g,
                        (long long)end, (long long)x.dims[0]);
        tensor rows = asc_narrow(x, 0, at, end - at);
        if (end > at) asc_store(run, rows, ASC_COMPUTE(run, ASC_FLOAT32, "a * b", rows, asc_select(scale, 0, g)));
        at = end;
    }
    if (asc_given_at(run, 3)) x = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", x, asc_in(run, 3));
    asc_put_quantised(run, 5, asc_quantised(run, x, asc_quantised_top(run, 5, x.dims[1])));
}

/* ---- by scales of rows --------------------------------------------------------------------------------------- */

/* Rows times a scale for all, or with a list of ends, or `counts`, that of each group of rows. */
static tensor smoothed(asc_run *run, tensor x, int smooth, int groups, bool counts) {
    if (!asc_given_at(run, smooth)) return x;
    if (groups < 0 || !asc_given_at(run, groups)) return ASC_COMPUTE(run, ASC_FLOAT32, "a * b", x, asc_in(run, smooth));
    tensor scale = asc_f32(run, smooth), ends = asc_of(run, groups, ASC_INT64);
    int64_t width = x.dims[x.rank - 1], rows = width ? asc_elements(x) / width : 0, n = asc_elements(ends), at = 0;
    int64_t wide = scale.rank > 1 ? scale.dims[1] : 1;
    ASC_STOP_UNLESS(run, scale.rank > 0 && scale.dims[0] >= n && (wide == width || wide == 1),
                    "there are smooth scales for %lld groups of %lld columns", (long long)scale.dims[0],
                    (long long)wide);
    x = asc_copy(run, x, ASC_FLOAT32);
    for (int64_t g = 0; g < n; g++) {
        int64_t end = ((const int64_t *)ends.data)[g] + (counts ? at : 0);
        ASC_STOP_UNLESS(run, end <= rows, "group %lld ends at %lld of %lld rows", (long long)g, (long long)end,
                        (long long)rows);
        for (; at < end; at++)
            for (int64_t k = 0; k < width; k++)
                ((float *)x.data)[at * width + k] *= ((const float *)scale.data)[g * wide + (wide > 1 ? k : 0)];
    }
    return x;
}

/* The whole as one row, or columns as rows. */
static tensor arranged(asc_run *run, tensor x, const char *mode) {
    if (strcmp(mode, "pertensor") == 0) return asc_reshape(run, x, 1, (int64_t[]){asc_elements(x)});
    return strcmp(mode, "perchannel") == 0 ? asc_cast(run, asc_swap(x, x.rank - 1, x.rank - 2), ASC_FLOAT32) : x;
}

/* `mode` is pertoken, pertensor or perchannel. Of an asymmetric scale the offset goes out, too. */
static void quantise_rows(asc_run *run, tensor x, const char *mode, bool symmetric, int y, int scales, int offsets) {
    double top = asc_quantised_top(run, y, x.rank ? x.dims[x.rank - 1] : 1);
    tensor rows = arranged(run, x, mode), scale, shift, made;
    int64_t last = rows.rank - 1;
    if (symmetric) {
        made = asc_quantised_rows(run, rows, top, &scale);
    } else {
        tensor most = asc_reduce_axes(run, ASC_REDUCE_MAX, rows, 1, &last);
        tensor least = asc_reduce_axes(run, ASC_REDUCE_MIN, rows, 1, &last);
        scale = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "(a - b) / p", 2 * top + 1, most, least);
        shift = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "b == 0 ? p : p - a / b", top, most, scale);
        made = asc_quantised(run, ASC_COMPUTE(run, ASC_FLOAT32, "b == 0 ? c : a / b + c", rows, scale, shift), top);
        asc_put(run, offsets, shift);
    }
    if (strcmp(mode, "perchannel") == 0) made = asc_swap(made, made.rank - 1, made.rank - 2);
    asc_put_quantised(run, y, asc_cast(run, made, ASC_FLOAT32));
    asc_put(run, scales, scale);
}

/* x, smooth scales, y, scales. */
void asc_op_quantise_rows(asc_run *run) {
    quantise_rows(run, smoothed(run, asc_f32(run, 0), 1, -1, false), "pertoken", true, 2, 3, -1);
}

/* x, smooth scales, ends of groups, type, y, scales, offsets: symmetric where no offsets are wanted. */
void asc_op_quantise_rows_of_groups(asc_run *run) {
    tensor x = smoothed(run, asc_f32(run, 0), 1, 2, false);
    quantise_rows(run, x, "pertoken", !asc_given_at(run, 6), 4, 5, 6);
}

/* x, smooth scales, ends of groups, type, whether it is symmetric, mode, y, scales, offsets. */
void asc_op_quantise_any_rows(asc_run *run) {
    const char *mode = asc_arg(run, 5)->text ? asc_arg(run, 5)->text : "pertoken";
    tensor x = smoothed(run, asc_f32(run, 0), 1, 2, false);
    bool known = strcmp(mode, "pertoken") == 0 || strcmp(mode, "pertensor") == 0 || strcmp(mode, "perchannel") == 0;
    ASC_STOP_UNLESS(run, known && x.rank > 1, "quantMode [%s] of %d axes", mode, x.rank);
    quantise_rows(run, x, mode, asc_int(run, 4), 6, 7, 8);
}

/* ---- behind a norm, or a gate -------------------------------------------------------------------------------- */

/* Two results of one norm: by scales (over them with `over`) and zero points. */
static void quantise_norm(asc_run *run, tensor y, int scale, int zero, bool over, int out) {
    if (!asc_given_at(run, scale)) return;
    y = ASC_COMPUTE(run, ASC_FLOAT32, over ? "a / b" : "a * b", y, asc_in(run, scale));
    if (asc_given_at(run, zero)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, asc_in(run, zero));
    asc_put_quantised(run, out, asc_quantised(run, y, 127));
}

static tensor norm_of_sum(asc_run *run, int beta, double epsilon, int sum_out) {
    tensor a = asc_in(run, 0), x = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", a, asc_in(run, 1)), rstd;
    asc_put(run, sum_out, x);
    tensor y = asc_rms_norm_of(run, x, asc_in(run, 2), epsilon, &rstd);
    y = asc_reshape(run, y, a.rank, a.dims);
    return beta >= 0 && asc_given_at(run, beta) ? ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, asc_in(run, beta)) : y;
}

/* x1, x2, gamma, two scales, two zero points, perhaps beta, axis, eps, divMode, two results, the sum, perhaps the norm.
 */
void asc_op_add_rms_norm_quantise(asc_run *run, int beta) {
    int tail = beta ? 8 : 7;
    tensor y = norm_of_sum(run, beta ? 7 : -1, asc_float(run, tail + 1), tail + 5);
    ASC_STOP_UNLESS(run, asc_int(run, tail) == -1 || asc_int(run, tail) == y.rank - 1, "axis %lld isn't the last",
                    (long long)asc_int(run, tail));
    for (int k = 0; k < 2; k++) quantise_norm(run, y, 3 + k, 5 + k, asc_int(run, tail + 2), tail + 3 + k);
    if (beta) asc_put(run, tail + 6, y);
}

/* x1, x2, gamma, two smooth scales, perhaps beta, eps, perhaps a mask of outputs, two results, the sum, their scales.
 */
void asc_op_add_rms_norm_quantise_rows(asc_run *run, int beta) {
    int tail = beta ? 6 : 5, out = beta ? 8 : 6;
    tensor y = norm_of_sum(run, beta ? 5 : -1, asc_float(run, tail), out + 2), scale;
    const asc_argument *mask = beta ? asc_arg(run, 7) : NULL;
    for (int k = 0; k < 2; k++) {
        bool wanted = mask && mask->count == 2 ? mask->ints[k] != 0 : k == 0 || asc_given_at(run, 4);
        if (!wanted || !asc_given_at(run, out + k)) continue;
        tensor rows = smoothed(run, y, 3 + k, -1, false);
        tensor made = asc_quantised_rows(run, rows, asc_quantised_top(run, out + k, y.dims[y.rank - 1]), &scale);
        asc_put_quantised(run, out + k, made);
        asc_put(run, out + 3 + k, scale);
    }
}

/* x, gamma, beta, scale, offset, eps, y. */
void asc_op_rms_norm_quantise(asc_run *run) {
    tensor rstd, x = asc_in(run, 0),
                 y = asc_rms_norm_of(run, asc_f32(run, 0), asc_in(run, 1), asc_float(run, 5), &rstd);
    y = asc_reshape(run, y, x.rank, x.dims);
    if (asc_given_at(run, 2)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, asc_in(run, 2));
    y = ASC_COMPUTE(run, ASC_FLOAT32, "a / b", y, asc_in(run, 3));
    if (asc_given_at(run, 4)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, asc_in(run, 4));
    asc_put_quantised(run, 6, asc_quantised(run, y, asc_quantised_top(run, 6, x.dims[x.rank - 1])));
}

/* x, gamma, scale, offset, beta, eps, whether scales divide, whether rstd goes out, y, rstd. */
void asc_op_rms_norm_quantise_either(asc_run *run) {
    tensor rstd, x = asc_in(run, 0),
                 y = asc_rms_norm_of(run, asc_f32(run, 0), asc_in(run, 1), asc_float(run, 5), &rstd);
    y = asc_reshape(run, y, x.rank, x.dims);
    if (asc_given_at(run, 4)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, asc_in(run, 4));
    quantise_norm(run, y, 2, 3, asc_int(run, 6) != 0, 8);
    if (asc_int(run, 7)) asc_put(run, 9, rstd);
}

/* x, gamma, smooth scales, beta, eps, type, y, scales. */
void asc_op_rms_norm_quantise_rows(asc_run *run) {
    tensor rstd, x = asc_in(run, 0),
                 y = asc_rms_norm_of(run, asc_f32(run, 0), asc_in(run, 1), asc_float(run, 4), &rstd);
    y = asc_reshape(run, y, x.rank, x.dims);
    if (asc_given_at(run, 3)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, asc_in(run, 3));
    quantise_rows(run, smoothed(run, y, 2, -1, false), "pertoken", true, 6, 7, -1);
}

/* One half of each row through SiLU, times the other. */
static tensor gated(asc_run *run, tensor x, bool left) {
    int last = x.rank - 1;
    ASC_STOP_UNLESS(run, x.rank > 0 && x.dims[last] % 2 == 0, "rows have no two equal parts");
    int64_t half = x.dims[last] / 2;
    tensor a = asc_narrow(x, last, left ? 0 : half, half), b = asc_narrow(x, last, left ? half : 0, half);
    return ASC_COMPUTE(run, ASC_FLOAT32, "a * sigmoid(a) * b", a, b);
}

/* Whether the mode is "static", not "dynamic"; NULL is what the operator says. */
static bool is_static(asc_run *run, int i, bool otherwise) {
    const char *mode = asc_arg(run, i)->text;
    if (!mode || !*mode) return otherwise;
    bool given = strcmp(mode, "static") == 0;
    ASC_STOP_UNLESS(run, given || strcmp(mode, "dynamic") == 0, "quantMode [%s] is none of static, dynamic", mode);
    return given;
}

/* Of a gate: by its rows, or by given scales and offsets. Ends of groups are lengths with `counts`. */
static void quantise_gate(asc_run *run, tensor y, int smooth, int offset, int groups, bool counts, bool by_scale,
                          int out) {
    if (!by_scale) {
        quantise_rows(run, smoothed(run, y, smooth, groups, counts), "pertoken", true, out, out + 1, -1);
        return;
    }
    ASC_STOP_UNLESS(run, groups < 0 || !asc_given_at(run, groups) || !asc_given_at(run, offset),
                    "offsets for groups of rows aren't there");
    y = smoothed(run, y, smooth, groups, counts);
    if (asc_given_at(run, offset)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, asc_in(run, offset));
    asc_put_quantised(run, out, asc_quantised(run, y, 127));
}

/* Here a scale is what rows are multiplied with. */
static void turn_over(asc_run *run, int scale, bool by_scale) {
    if (by_scale || !asc_given_at(run, scale)) return;
    asc_put(run, scale, ASC_COMPUTE(run, ASC_FLOAT32, "1 / a", asc_in(run, scale)));
}

/* x, smooth scales, offsets, ends of groups, whether the left half is activated, mode, y, scales. */
void asc_op_gate_quantise(asc_run *run) {
    quantise_gate(run, gated(run, asc_f32(run, 0), asc_int(run, 4)), 1, 2, 3, false, is_static(run, 5, false), 6);
    turn_over(run, 7, is_static(run, 5, false));
}

/* The same, with lengths of groups (1) or their ends (0), and a type, which y has. */
void asc_op_gate_quantise_either(asc_run *run) {
    int64_t kind = asc_int(run, 6);
    ASC_STOP_UNLESS(run, kind == 0 || kind == 1, "groupListType %lld is none of 0, 1", (long long)kind);
    tensor y = gated(run, asc_f32(run, 0), asc_int(run, 4));
    quantise_gate(run, y, 1, 2, 3, kind == 1, is_static(run, 5, false), 8);
    turn_over(run, 9, is_static(run, 5, false));
}

/* x, scale of columns, of rows, bias, scales of the result, offsets, lengths of groups, whether the left half is
 * activated, mode, y, scales. */
void asc_op_dequantise_gate_quantise(asc_run *run) {
    tensor x = asc_in(run, 0), y = asc_cast(run, x, ASC_FLOAT32), bias = {0};
    if (asc_given_at(run, 3)) {
        ASC_STOP_UNLESS(run, !asc_given_at(run, 6), "a bias for groups of rows isn't there");
        bias = asc_in(run, 3);
    }
    bool first = bias.data && asc_is_integer(bias.dtype); /* it is added to sums of integers */
    if (first) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, bias);
    y = smoothed(run, y, 1, 6, true);
    if (asc_given_at(run, 2)) {
        int64_t n = asc_elements(asc_in(run, 2)), width = x.dims[x.rank - 1];
        ASC_STOP_UNLESS(run, n * width == asc_elements(x), "%lld rows have no scale each", (long long)n);
        tensor rows = asc_reshape(run, asc_cast(run, y, ASC_FLOAT32), 2, (int64_t[]){n, width});
        rows = ASC_COMPUTE(run, ASC_FLOAT32, "a * b", rows, asc_reshape(run, asc_f32(run, 2), 2, (int64_t[]){n, 1}));
        y = asc_reshape(run, rows, x.rank, x.dims);
    }
    if (bias.data && !first) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, bias);
    quantise_gate(run, gated(run, y, asc_int(run, 7)), 4, 5, 6, true, is_static(run, 8, true), 9);
}
