/* Binding a partition to input shapes: the cache of what was bound. */
#include "model.h"

static int32_t check_request(const asc_model *model, uint32_t partition, const asc_tensor *inputs, uint32_t n_inputs,
                             asc_status *status) {
    const asc_plan *plan = &model->plan;
    if (partition >= asc_plan_n_partitions(plan))
        return asc_failf(status, ASC_E_ARGUMENT, "there is no partition %u", partition);
    const asc_partition *p = &asc_plan_partitions(plan)[partition];
    if (p->kind == ASC_PARTITION_HOST)
        return asc_failf(status, ASC_E_HOST, "the partition '%s' runs in onnxruntime: %s",
                         asc_plan_string(plan, p->name), asc_plan_string(plan, p->reason));
    if (n_inputs != p->n_inputs)
        return asc_failf(status, ASC_E_ARGUMENT, "the partition has %u inputs, %u are given", p->n_inputs, n_inputs);
    for (uint32_t i = 0; i < n_inputs; i++) {
        const asc_value *v = &asc_plan_values(plan)[asc_plan_indices(plan)[p->first_input + 2 * i + 1]];
        if (inputs[i].dtype != v->dtype)
            return asc_failf(status, ASC_E_ARGUMENT, "input '%s' has element type %d, must be %u",
                             asc_plan_string(plan, v->name), inputs[i].dtype, v->dtype);
        if (inputs[i].rank != v->rank)
            return asc_failf(status, ASC_E_SHAPE, "input '%s' has %d dimensions, must have %u",
                             asc_plan_string(plan, v->name), inputs[i].rank, v->rank);
    }
    return ASC_OK;
}

static int is_for(const asc_bound *b, const asc_tensor *inputs) {
    const int64_t *key = b->key;
    for (uint32_t i = 0; i < b->n_inputs; i++)
        for (int32_t d = 0; d < inputs[i].rank; d++)
            if (*key++ != inputs[i].dims[d]) return 0;
    return 1;
}

/* Takes a reference to the cached bound of these dims and moves it to the front; NULL when there is none. */
static asc_bound *find_cached(asc_bound_cache *cache, const asc_tensor *inputs) {
    for (asc_bound **at = &cache->first; *at; at = &(*at)->next) {
        asc_bound *b = *at;
        if (!is_for(b, inputs)) continue;
        *at = b->next;
        b->next = cache->first;
        cache->first = b;
        atomic_fetch_add_explicit(&b->references, 1, memory_order_relaxed);
        return b;
    }
    return NULL;
}

static void drop(asc_bound *b) {
    if (b && atomic_fetch_sub_explicit(&b->references, 1, memory_order_acq_rel) == 1) asc_bound_free(b);
}

/* Enters a new bound, whose one reference becomes the cache's; returns the one that falls out, or NULL. */
static asc_bound *enter(asc_bound_cache *cache, asc_bound *b, int32_t limit) {
    b->next = cache->first;
    cache->first = b;
    if (++cache->count <= limit) return NULL;
    asc_bound **at = &cache->first;
    while ((*at)->next) at = &(*at)->next;
    asc_bound *oldest = *at;
    *at = NULL;
    cache->count--;
    return oldest;
}

int32_t asc_bind(asc_model *model, uint32_t partition, const asc_tensor *inputs, uint32_t n_inputs, asc_bound **out,
                 asc_status *status) {
    asc_status_begin(status);
    *out = NULL;
    int32_t code = check_request(model, partition, inputs, n_inputs, status);
    if (code != ASC_OK) return code;
    uint32_t used = asc_model_partition_in_use(model, partition);
    asc_bound_cache *cache = &model->caches[used];
    pthread_mutex_lock(&model->lock);
    asc_bound *b = find_cached(cache, inputs), *made = NULL, *spare = NULL;
    pthread_mutex_unlock(&model->lock);
    if (!b) {
        asc_status why;
        uint32_t apart = asc_apart_partition(model, partition, inputs, &why);
        if (apart != ASC_NONE) {
            code = asc_bind(model->apart, apart, inputs, n_inputs, out, status);
            if (code == ASC_OK) asc_model_say_apart(model, &why);
            return code;
        }
        code = asc_bound_make(model, used, inputs, &made, status);
        if (code != ASC_OK) return code;
        pthread_mutex_lock(&model->lock);
        b = find_cached(cache, inputs); /* another thread may have been faster */
        spare = b ? made : enter(cache, made, model->max_bound);
        if (!b) b = find_cached(cache, inputs);
        pthread_mutex_unlock(&model->lock);
        drop(spare);
    }
    asc_model_retain(model);
    *out = b;
    return ASC_OK;
}

void asc_bound_release(asc_bound *bound) {
    if (!bound) return;
    asc_model *model = bound->model;
    drop(bound);
    asc_model_release(model);
}
