/* class_rule.h - what becomes of the sums of a row, as class_scores.h does it. */
#ifndef ASC_KERNELS_CLASS_RULE_H
#define ASC_KERNELS_CLASS_RULE_H

#include "asc_plan.h"

typedef struct class_rule {
    int64_t n;           /* targets or classes */
    int64_t post, label; /* asc_post, asc_label */
    int64_t n_base;
    const double *base;
    const int64_t *labels; /* n of them, with a label */
} class_rule;

#endif
