/* What the tiles of a convolution do of its epilogue themselves, and what is left of it. */
#include <math.h>

#include "conv_last.h"

int ASC_FN(conv_limits)(const epilogue *e, float *low, float *high) {
    *low = -INFINITY;
    *high = INFINITY;
    if (e->activation == ASC_ACTIVATION_RELU) *low = 0;
    if (e->activation == ASC_ACTIVATION_CLIP) {
        *low = e->low;
        *high = e->high;
    }
    if (e->rounding != ASC_ROUND_NONE) return 0;
    return e->activation == ASC_ACTIVATION_NONE || e->activation == ASC_ACTIVATION_RELU ||
           e->activation == ASC_ACTIVATION_CLIP;
}

epilogue ASC_FN(conv_after)(const epilogue *e) {
    epilogue after = {.alpha = 1, .beta = 1, .low = e->low, .high = e->high, .activation = e->activation};
    after.rounding = e->rounding;
    return after;
}

int ASC_FN(conv_rounds)(const epilogue *e, float *low, float *high) {
    epilogue unrounded = *e;
    unrounded.rounding = ASC_ROUND_NONE;
    return e->rounding == ASC_ROUND_FLOAT16 && ASC_FN(conv_limits)(&unrounded, low, high);
}
