/* scaling.c - training with scaled losses: gradients back to their size, and the next scale. */
#include <math.h>

#include "operator.h"

/* scaledGrads (written), foundInf (written: 1 where one is not finite), inverseScale. */
void asc_op_unscale(asc_run *run) {
    const asc_argument *list = asc_arg(run, 0);
    tensor inverse = asc_f32(run, 2);
    float found = 0;
    for (int k = 0; k < list->count; k++) {
        tensor g = list->tensors[k];
        if (!asc_elements(g)) continue;
        tensor wrong = ASC_COMPUTE(run, ASC_FLOAT32, "abs(a) < inf ? 0 : 1", g);
        for (int64_t i = 0; i < asc_elements(wrong); i++) found += ((float *)wrong.data)[i];
        asc_store(run, g, ASC_COMPUTE(run, ASC_FLOAT32, "a * b", g, asc_reshape(run, inverse, 0, NULL)));
    }
    if (found > 0) asc_fill(run, asc_in(run, 1), 1);
}

/* currentScale, growthTracker, foundInf, growthFactor, backoffFactor, growthInterval, scale out, tracker out. */
void asc_op_next_scale(asc_run *run) {
    tensor scale = asc_copy(run, asc_in(run, 0), ASC_FLOAT32), tracker = asc_copy(run, asc_in(run, 1), ASC_INT64);
    tensor found = asc_f32(run, 2);
    ASC_STOP_UNLESS(run, asc_elements(scale) == 1 && asc_elements(tracker) == 1 && asc_elements(found) == 1,
                    "scale, tracker and foundInf have one element each, not %lld, %lld and %lld",
                    (long long)asc_elements(scale), (long long)asc_elements(tracker), (long long)asc_elements(found));
    float *s = scale.data;
    int64_t *steps = tracker.data;
    if (*(float *)found.data != 0) {
        *s *= (float)asc_float(run, 4);
        *steps = 0;
    } else if (++*steps == asc_int(run, 5)) {
        float grown = *s * (float)asc_float(run, 3);
        if (isfinite(grown)) *s = grown;
        *steps = 0;
    }
    asc_put(run, 6, scale);
    asc_put(run, 7, tracker);
}
