/* Constraints: what the sizes of a model's inputs have to do with each other, checked before any shape is made. */
#include "dims.h"

int32_t asc_verify_constraints(const asc_plan *plan, asc_status *status) {
    const asc_constraint *a = asc_plan_constraints(plan);
    for (uint32_t i = 0; i < asc_plan_n_constraints(plan); i++)
        if (a[i].left >= asc_plan_n_dims(plan) || a[i].right >= asc_plan_n_dims(plan) || a[i].or_one > 2)
            return asc_failf(status, ASC_E_FORMAT, "constraint %u of the inputs' sizes is malformed", i);
    return ASC_OK;
}

int32_t asc_check_constraints(const asc_dims *dims, const asc_plan *plan, asc_status *status) {
    const asc_constraint *a = asc_plan_constraints(plan);
    for (uint32_t i = 0; i < asc_plan_n_constraints(plan); i++, a++) {
        int64_t left = dims->nodes[a->left], right = dims->nodes[a->right];
        if (dims->states[a->left] || dims->states[a->right]) continue;
        if (left == right || (left == 1 && a->or_one) || (right == 1 && a->or_one == 2)) continue;
        return asc_failf(status, ASC_E_SHAPE, "%s: given are %ld and %ld", asc_plan_string(plan, a->text), left, right);
    }
    return ASC_OK;
}
