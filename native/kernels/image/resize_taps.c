/* Coordinates, neighbours and weights of one resized axis. Formulas: the ONNX page of Resize. */
#include "resize_taps.h"

#include <math.h>

#include "indexing.h"

#define LARGEST (INT32_MAX / 4) /* of a length, so that positions fit int32 */
#define MOST_TAPS 65536

/* The float32 operands that come with the data, in place of the call's floats. */
static int32_t read_data(const asc_call *call, resize_axis *axis, int has_data) {
    int64_t k = ASC_INTS_AS(asc_resize_params, call)->index;
    if (asc_has_input(call, 1)) {
        ASC_REQUIRE(call, k >= 0 && k < asc_numel(&call->in[1]), "resize: there is no scale for the axis");
        const float *scales = has_data ? call->in[1].data : NULL;
        axis->scale = scales ? scales[k] : ((float)axis->m - 0.5f) / (float)axis->n;
        float length = axis->scale * (float)axis->n;
        if (scales && !(axis->scale > 0 && isfinite(axis->scale) &&
                        ((float)axis->m == floorf(length) || (float)axis->m == floorf(length + 0.5f))))
            return asc_failn(call->status, ASC_E_DECLARED, "scale % takes an axis of length % to another length than %",
                             3, (int64_t[]){k, axis->n, axis->m});
    }
    if (asc_has_input(call, 2)) {
        int64_t count = asc_numel(&call->in[2]) / 2;
        ASC_REQUIRE(call, k >= 0 && k < count, "resize: there is no region for the axis");
        if (!has_data) return ASC_OK;
        const float *region = call->in[2].data;
        axis->start = region[k];
        axis->end = region[count + k];
    }
    return ASC_OK;
}

int32_t ASC_FN(resize_read)(const asc_call *call, resize_axis *axis, int has_data) {
    ASC_REQUIRE(call,
                call->n_ints == ASC_MEMBERS(asc_resize_params) && call->n_floats == ASC_MEMBERS(asc_resize_floats),
                "resize takes seven ints and five floats");
    const asc_resize_params *v = ASC_INTS_AS(asc_resize_params, call);
    const asc_resize_floats *f = ASC_FLOATS_AS(asc_resize_floats, call);
    ASC_REQUIRE(call, v->axis >= 0 && v->axis < call->in[0].rank, "resize: the axis is outside the rank");
    *axis = (resize_axis){
        .n = call->in[0].dims[v->axis],
        .m = call->out[0].dims[v->axis],
        .mode = v->mode,
        .coordinate = v->coordinate,
        .rounding = v->rounding,
        .antialias = v->antialias != 0,
        .exclude_outside = v->exclude_outside != 0,
        .start = (float)f->start,
        .end = (float)f->end,
        .a = (float)f->cubic,
        .extrapolation = (float)f->extrapolation,
    };
    ASC_REQUIRE(call, v->mode >= 0 && v->mode <= ASC_RESIZE_CUBIC, "resize: the mode is unknown");
    ASC_REQUIRE(call, v->coordinate >= 0 && v->coordinate < ASC_COORDINATE_COUNT,
                "resize: the coordinate transformation is unknown");
    ASC_REQUIRE(call, v->rounding >= 0 && v->rounding < ASC_NEAREST_COUNT, "resize: the rounding is unknown");
    ASC_REQUIRE(call, axis->n <= LARGEST && axis->m <= LARGEST, "resize: an axis is too long");
    ASC_REQUIRE(call, axis->n > 0 || axis->m == 0, "resize: an empty axis can't grow");
    int finite = isfinite(f->scale) && isfinite(f->start) && isfinite(f->end) && isfinite(f->cubic);
    ASC_REQUIRE(call, finite, "resize: an argument is not finite");
    axis->scale = f->scale == 0 && axis->n ? (float)axis->m / (float)axis->n : (float)f->scale;
    int32_t code = read_data(call, axis, has_data);
    if (code != ASC_OK) return code;
    if (axis->m == 0) axis->scale = 1;
    ASC_REQUIRE(call, axis->scale > 0, "resize: the scale is not positive");
    axis->taps = axis->mode == ASC_RESIZE_NEAREST ? 1 : 2 * axis->mode;
    if (axis->antialias && axis->mode != ASC_RESIZE_NEAREST && axis->scale < 1) {
        double reach = floor((double)-axis->mode / axis->scale) + 1;
        ASC_REQUIRE(call, reach > -MOST_TAPS / 2, "resize: the scale is too small to blend all it covers");
        axis->taps = 2 - 2 * (int64_t)reach;
    }
    return ASC_OK;
}

/* Where output i lies on the axis before. */
static float source_of(const resize_axis *x, int64_t i) {
    float at = (float)i, n = (float)x->n, m = (float)x->m;
    switch (x->coordinate) {
        case ASC_COORDINATE_HALF_PIXEL_SYMMETRIC: {
            float wanted = x->scale * n, adjustment = m / wanted, centre = n / 2;
            return centre * (1 - adjustment) + (at + 0.5f) / x->scale - 0.5f;
        }
        case ASC_COORDINATE_PYTORCH_HALF_PIXEL: return x->m > 1 ? (at + 0.5f) / x->scale - 0.5f : 0;
        case ASC_COORDINATE_ALIGN_CORNERS: return x->m > 1 ? at * (n - 1) / (m - 1) : 0;
        case ASC_COORDINATE_ASYMMETRIC: return at / x->scale;
        case ASC_COORDINATE_TF_HALF_PIXEL_FOR_NN: return (at + 0.5f) / x->scale;
        case ASC_COORDINATE_TF_CROP_AND_RESIZE:
            if (x->m <= 1) return 0.5f * (x->start + x->end) * (n - 1);
            return x->start * (n - 1) + at * (x->end - x->start) * (n - 1) / (m - 1);
        default: return (at + 0.5f) / x->scale - 0.5f;
    }
}

static float rounded(const resize_axis *x, float at) {
    switch (x->rounding) {
        case ASC_NEAREST_ROUND_PREFER_CEIL: return floorf(at + 0.5f);
        case ASC_NEAREST_FLOOR: return floorf(at);
        case ASC_NEAREST_CEIL: return ceilf(at);
        case ASC_NEAREST_SIMPLE: /* of opset 10: forward where the axis shrinks */
            return x->scale < 1 ? ceilf(at) : floorf(at);
        default: return ceilf(at - 0.5f);
    }
}

static float cubic_weight(float distance, float a) {
    float d = fabsf(distance);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

static float weight_at(const resize_axis *x, float distance) {
    if (x->mode == ASC_RESIZE_CUBIC) return cubic_weight(distance, x->a);
    return fabsf(distance) < 1 ? 1 - fabsf(distance) : 0;
}

static int32_t clamped(int64_t at, int64_t n) {
    return (int32_t)(at < 0 ? 0 : at >= n ? n - 1 : at);
}

/* Taps around a coordinate: neighbours outside the axis repeat its ends, or don't count. */
static void blend(const resize_axis *x, float at, int32_t *places, float *weights) {
    float whole = floorf(at), narrowing = x->antialias && x->scale < 1 ? x->scale : 1, sum = 0;
    int64_t first = (int64_t)whole + 1 - x->taps / 2;
    for (int64_t k = 0; k < x->taps; k++) {
        int64_t place = first + k;
        float w = weight_at(x, ((float)(place - (int64_t)whole) - (at - whole)) * narrowing);
        if (x->exclude_outside && (place < 0 || place >= x->n)) w = 0;
        places[k * x->m] = clamped(place, x->n);
        weights[k * x->m] = w;
        sum += w;
    }
    if ((narrowing < 1 || x->exclude_outside) && sum != 0)
        for (int64_t k = 0; k < x->taps; k++) weights[k * x->m] /= sum;
}

void ASC_FN(resize_taps)(const resize_axis *x, int32_t *at, float *weights) {
    for (int64_t i = 0; i < x->m; i++) {
        float from = source_of(x, i), last = (float)(x->n - 1);
        if (x->coordinate == ASC_COORDINATE_TF_CROP_AND_RESIZE && !(from >= 0 && from <= last)) {
            at[i] = -1;
            continue;
        }
        float margin = (float)x->taps; /* farther out nothing changes, and converts to an integer */
        from = from > -margin ? from < last + margin ? from : last + margin : -margin;
        if (x->mode == ASC_RESIZE_NEAREST)
            at[i] = clamped((int64_t)rounded(x, from), x->n);
        else
            blend(x, from, at + i, weights + i);
    }
}
