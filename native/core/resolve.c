/* Binding, first step: symbols from the inputs' dims, then the shape of every value. */
#include "model.h"

static const char *value_name(const asc_bound *b, uint32_t v) {
    const asc_plan *plan = &b->model->plan;
    return asc_plan_string(plan, asc_plan_values(plan)[v].name);
}

static int32_t bind_symbol(const asc_bound *b, asc_dims *dims, uint32_t symbol, int64_t got, uint32_t value,
                           uint32_t axis, asc_status *status) {
    const asc_plan *plan = &b->model->plan;
    const asc_symbol *s = &asc_plan_symbols(plan)[symbol];
    const char *input = value_name(b, value), *name = asc_plan_string(plan, s->name);
    if (dims->symbol_known[symbol] && dims->symbols[symbol] != got)
        return asc_failf(status, ASC_E_SHAPE, "input '%s': dimension %u is %ld, but '%s' is %ld in another place",
                         input, axis, got, name, dims->symbols[symbol]);
    if (got < s->min || got > s->max) {
        if (s->max == INT64_MAX)
            return asc_failf(status, ASC_E_SHAPE, "input '%s': dimension %u ('%s') is %ld, allowed is %ld or more",
                             input, axis, name, got, s->min);
        return asc_failf(status, ASC_E_SHAPE, "input '%s': dimension %u ('%s') is %ld, allowed is %ld to %ld", input,
                         axis, name, got, s->min, s->max);
    }
    dims->symbols[symbol] = got;
    dims->symbol_known[symbol] = 1;
    return ASC_OK;
}

/* Symbols that are an input's dimension by themselves. */
static int32_t bind_symbols(const asc_bound *b, const asc_tensor *inputs, asc_dims *dims, asc_status *status) {
    const asc_plan *plan = &b->model->plan;
    const asc_partition *p = asc_bound_partition(b);
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        uint32_t v = asc_plan_indices(plan)[p->first_input + 2 * i + 1];
        const asc_value *value = &asc_plan_values(plan)[v];
        for (uint32_t axis = 0; axis < value->rank; axis++) {
            const asc_dim *node = &asc_plan_dims(plan)[asc_plan_indices(plan)[value->first_dim + axis]];
            if (node->op != ASC_DIM_SYMBOL) continue;
            int32_t code = bind_symbol(b, dims, node->a, inputs[i].dims[axis], v, axis, status);
            if (code != ASC_OK) return code;
        }
    }
    return ASC_OK;
}

/* All other dimensions of the inputs must come out as given. */
static int32_t check_inputs(const asc_bound *b, const asc_tensor *inputs, const asc_dims *dims, asc_status *status) {
    const asc_plan *plan = &b->model->plan;
    const asc_partition *p = asc_bound_partition(b);
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        uint32_t v = asc_plan_indices(plan)[p->first_input + 2 * i + 1];
        const asc_value *value = &asc_plan_values(plan)[v];
        for (uint32_t axis = 0; axis < value->rank; axis++) {
            int64_t need;
            int32_t code = asc_dims_take(dims, asc_plan_indices(plan)[value->first_dim + axis], "a dimension",
                                         value_name(b, v), &need, status);
            if (code != ASC_OK) return code;
            if (need != inputs[i].dims[axis])
                return asc_failf(status, ASC_E_SHAPE, "input '%s': dimension %u is %ld, must be %ld", value_name(b, v),
                                 axis, inputs[i].dims[axis], need);
        }
    }
    return ASC_OK;
}

/* Dims and contiguous strides. The product of the dims that are not zero must fit, so that no product of
 * some of them overflows in a kernel. */
static int32_t shape_value(const asc_bound *b, uint32_t v, const asc_dims *dims, asc_tensor *t, asc_status *status) {
    const asc_plan *plan = &b->model->plan;
    const asc_value *value = &asc_plan_values(plan)[v];
    int64_t stride = 1, bytes;
    *t = (asc_tensor){.dtype = value->dtype, .rank = value->rank, .layout = value->layout};
    for (uint32_t i = value->rank; i-- > 0;) {
        int32_t code = asc_dims_take(dims, asc_plan_indices(plan)[value->first_dim + i], "a dimension",
                                     value_name(b, v), &t->dims[i], status);
        if (code != ASC_OK) return code;
        if (t->dims[i] < 0)
            return asc_failf(status, ASC_E_SHAPE, "dimension %u of '%s' comes out as %ld", i, value_name(b, v),
                             t->dims[i]);
        t->strides[i] = stride;
        if (!asc_mul_ok(stride, t->dims[i] ? t->dims[i] : 1, &stride))
            return asc_failf(status, ASC_E_SHAPE, "'%s' has too many elements", value_name(b, v));
    }
    if (!asc_mul_ok(stride, (int64_t)asc_dtype_bytes(value->dtype), &bytes) || bytes > INT64_MAX / 4)
        return asc_failf(status, ASC_E_SHAPE, "'%s' has too many elements", value_name(b, v));
    return ASC_OK;
}

/* Adds (dim - 1) * stride to the lowest or highest index. */
static int widen(int64_t dim, int64_t stride, int64_t *low, int64_t *high) {
    int64_t reach;
    if (__builtin_mul_overflow(dim - 1, stride, &reach)) return 0;
    return reach < 0 ? !__builtin_add_overflow(*low, reach, low) : !__builtin_add_overflow(*high, reach, high);
}

/* Strides and place of a view: every element must lie in the root. The strides of dims of 0 and 1, which
 * address nothing, stay those of a contiguous tensor. */
static int32_t place_view(asc_bound *b, uint32_t v, const asc_dims *dims, asc_status *status) {
    const asc_plan *plan = &b->model->plan;
    const asc_value *value = &asc_plan_values(plan)[v];
    uint32_t first = asc_bound_partition(b)->first_value;
    asc_tensor *t = &b->values[v - first];
    const asc_tensor *root = &b->values[plan->roots[v] - first];
    int64_t size = (int64_t)asc_dtype_bytes(t->dtype), offset = 0, low, high;
    if (asc_numel(t) == 0) return ASC_OK;
    if (value->offset != ASC_NONE) {
        int32_t code = asc_dims_take(dims, value->offset, "the offset", value_name(b, v), &offset, status);
        if (code != ASC_OK) return code;
    }
    int fits = !__builtin_add_overflow(offset, b->storage[value->base - first].delta / size, &offset);
    low = high = offset;
    for (uint32_t i = 0; i < value->rank && fits; i++) {
        if (t->dims[i] == 1) continue;
        if (value->first_stride != ASC_NONE) {
            int32_t code = asc_dims_take(dims, asc_plan_indices(plan)[value->first_stride + i], "a stride",
                                         value_name(b, v), &t->strides[i], status);
            if (code != ASC_OK) return code;
        }
        fits = widen(t->dims[i], t->strides[i], &low, &high);
    }
    if (!fits || low < 0 || high >= asc_numel(root))
        return asc_failf(status, ASC_E_SHAPE, "the view '%s' reaches outside '%s' (%ld elements)", value_name(b, v),
                         value_name(b, plan->roots[v]), asc_numel(root));
    b->storage[v - first].delta = offset * size;
    return ASC_OK;
}

static void set_data(asc_bound *b, uint32_t v) {
    const asc_plan *plan = &b->model->plan;
    const asc_value *root = &asc_plan_values(plan)[plan->roots[v]];
    uint32_t at = v - asc_bound_partition(b)->first_value;
    if (root->kind != ASC_VALUE_WEIGHT) return;
    b->values[at].data = (char *)b->model->weights[root->base] + b->storage[at].delta;
    b->values[at].flags = ASC_T_CONST;
}

int32_t asc_bound_resolve(asc_bound *b, const asc_tensor *inputs, asc_dims *dims, asc_status *status) {
    const asc_plan *plan = &b->model->plan;
    const asc_partition *p = asc_bound_partition(b);
    int32_t code = bind_symbols(b, inputs, dims, status);
    if (code == ASC_OK) code = asc_check_profiles(dims, plan, status);
    if (code == ASC_OK) {
        asc_dims_evaluate(dims, plan);
        code = asc_check_constraints(dims, plan, status);
        if (code == ASC_OK) code = check_inputs(b, inputs, dims, status);
    }
    for (uint32_t v = p->first_value; v < p->first_value + p->n_values && code == ASC_OK; v++) {
        code = shape_value(b, v, dims, &b->values[v - p->first_value], status);
        if (code == ASC_OK && asc_plan_values(plan)[v].kind == ASC_VALUE_VIEW) code = place_view(b, v, dims, status);
        if (code == ASC_OK) set_data(b, v);
    }
    return code;
}
