/* resize_taps.h - which elements of an axis make each element of the resized axis, and with what weights.
 *
 * Coordinates are float32, as ONNX's reference and onnxruntime compute them: where a coordinate falls
 * between two elements, the choice of the nearest is theirs. */
#ifndef ASC_KERNELS_RESIZE_TAPS_H
#define ASC_KERNELS_RESIZE_TAPS_H

#include "isa.h"

enum { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC };
enum {
    RESIZE_HALF_PIXEL,
    RESIZE_HALF_PIXEL_SYMMETRIC,
    RESIZE_PYTORCH_HALF_PIXEL,
    RESIZE_ALIGN_CORNERS,
    RESIZE_ASYMMETRIC,
    RESIZE_TF_HALF_PIXEL_FOR_NN,
    RESIZE_TF_CROP,
    RESIZE_COORDINATES
};
enum { RESIZE_ROUND_FLOOR, RESIZE_ROUND_CEIL, RESIZE_FLOOR, RESIZE_CEIL, RESIZE_SIMPLE, RESIZE_ROUNDINGS };

typedef struct resize_axis {
    int64_t n, m; /* lengths before and after */
    int64_t mode, coordinate, rounding;
    int64_t antialias, exclude_outside;
    int64_t taps;            /* elements that may weigh in for each output */
    float scale, start, end; /* m / n, or as the node says; the region of RESIZE_TF_CROP, in lengths */
    float a, extrapolation;  /* the cubic's coefficient; what lies outside RESIZE_TF_CROP's region */
} resize_axis;

/* Reads and checks a call's ints [axis, mode, coordinate, rounding, antialias, exclude_outside, k] and floats
 * [scale or 0, start, end, a, extrapolation]. Given operands 1 and 2 hold scales, element k of which counts
 * instead, and regions: starts, then ends. Without data the scale is the least that may come. */
int32_t ASC_FN(resize_read)(const asc_call *call, resize_axis *axis, int has_data);

/* Element at[k*m + i] in [0, n) weighs weights[k*m + i] in output i, for k < taps. at[i] is -1, and only
 * that, where output i is the extrapolation value. Of RESIZE_NEAREST there are no weights (NULL). */
void ASC_FN(resize_taps)(const resize_axis *axis, int32_t *at, float *weights);

#endif
