/* What the tiles of a convolution do of its epilogue themselves, and what is left of it. */
#include <math.h>

#include "conv_last.h"

int ASC_FN(conv_limits)(const epilogue *e, float *low, float *high) {
    *low = -INFINITY;
    *high = INFINITY;
    if (e->activation == EPILOGUE_RELU) *low = 0;
    if (e->activation == EPILOGUE_CLIP) {
        *low = e->low;
        *high = e->high;
    }
    if (e->rounding != ROUND_NOT) return 0;
    return e->activation == EPILOGUE_NONE || e->activation == EPILOGUE_RELU || e->activation == EPILOGUE_CLIP;
}

epilogue ASC_FN(conv_after)(const epilogue *e) {
    epilogue after = {.alpha = 1, .beta = 1, .low = e->low, .high = e->high, .activation = e->activation};
    after.rounding = e->rounding;
    return after;
}

int ASC_FN(conv_rounds)(const epilogue *e, float *low, float *high) {
    epilogue unrounded = *e;
    unrounded.rounding = ROUND_NOT;
    return e->rounding == ROUND_FLOAT16 && ASC_FN(conv_limits)(&unrounded, low, high);
}
