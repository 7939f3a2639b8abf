/* What the tiles of a convolution do of its epilogue themselves, and what is left of it. */
#include "conv_ending.h"

#include <math.h>

static int is_rounded(const epilogue *e) {
    return e->rounding != ASC_ROUND_NONE;
}

conv_ending ASC_FN(conv_ending_of)(const epilogue *e, int narrow) {
    conv_ending end = {.low = -INFINITY, .high = INFINITY};
    int limits = 1;
    switch (e->activation) {
        case ASC_ACTIVATION_NONE: break;
        case ASC_ACTIVATION_RELU: end.low = 0; break;
        case ASC_ACTIVATION_CLIP:
            end.low = e->low;
            end.high = e->high;
            break;
        case ASC_ACTIVATION_HARD_SWISH:
        case ASC_ACTIVATION_LEAKY_RELU:
            limits = 0;
            end.whole = !is_rounded(e);
            if (end.whole) {
                end.bends = (int)e->activation;
                end.low = e->low;
            }
            break;
        default:
            limits = 0;
            end.whole = narrow && !is_rounded(e);
            if (end.whole) end.curves = (int)e->activation;
    }
    end.rounds = limits && e->rounding == ASC_ROUND_FLOAT16;
    if (limits) end.whole = end.rounds || !is_rounded(e);
    return end;
}

void ASC_FN(conv_curve)(const conv_ending *e, float *sums, int64_t count) {
    epilogue curve = {.alpha = 1, .beta = 1, .activation = e->curves};
    epilogue_rows row = epilogue_in_place(sums, count, 1, count);
    ASC_FN(epilogue_apply)(&curve, &row, 0, 0);
}

epilogue ASC_FN(conv_after)(const epilogue *e) {
    epilogue after = {.alpha = 1, .beta = 1, .low = e->low, .high = e->high, .activation = e->activation};
    after.rounding = e->rounding;
    return after;
}
