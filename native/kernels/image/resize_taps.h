/* resize_taps.h - which elements of an axis make each element of the resized axis, and with what weights.
 *
 * Coordinates are float32, as ONNX's reference and onnxruntime compute them: where a coordinate falls
 * between two elements, the choice of the nearest is theirs. */
#ifndef ASC_KERNELS_RESIZE_TAPS_H
#define ASC_KERNELS_RESIZE_TAPS_H

#include "asc_plan.h"
#include "isa.h"

typedef struct resize_axis {
    int64_t n, m; /* lengths before and after */
    int64_t mode, coordinate, rounding;
    int64_t antialias, exclude_outside;
    int64_t taps; /* elements that may weigh in for each output */
    float scale, start,
        end; /* m / n, or as the node says; the region of ASC_COORDINATE_TF_CROP_AND_RESIZE, in lengths */
    float a, extrapolation; /* the cubic's coefficient; what lies outside ASC_COORDINATE_TF_CROP_AND_RESIZE's region */
} resize_axis;

/* Reads and checks a call's asc_resize_params and asc_resize_floats. Given operands 1 and 2 hold scales, element
 * `index` of which counts instead, and regions: starts, then ends. Without data the scale is the least that may come.
 */
int32_t ASC_FN(resize_read)(const asc_call *call, resize_axis *axis, int has_data);

/* Element at[k*m + i] in [0, n) weighs weights[k*m + i] in output i, for k < taps. at[i] is -1, and only
 * that, where output i is the extrapolation value. Of ASC_RESIZE_NEAREST there are no weights (NULL). */
void ASC_FN(resize_taps)(const resize_axis *axis, int32_t *at, float *weights);

#endif
