/* executor.c - the two phases of an operator: gathering its arguments, and running it on a stream. */
#include <stdlib.h>
#include <string.h>

#include "aclnn/asc_operator.h"
#include "context.h"
#include "handle.h"
#include "memory.h"
#include "model.h"
#include "numbers.h"
#include "operand.h"
#include "recorded.h"

struct aclOpExecutor {
    const asc_operator *row;
    bool repeatable; /* lives until it is destroyed: each launch takes a copy */
    uint32_t n;
    asc_argument arguments[];
};
typedef struct aclOpExecutor executor;

static bool is_tensors(char kind) {
    return strchr("TORLMQ", kind) != NULL;
}
static bool is_written(char kind) {
    return strchr("ORMQ", kind) != NULL;
}

static void release(executor *e) {
    for (uint32_t i = 0; i < e->n; i++)
        if (!strchr("idbt", e->arguments[i].kind)) free(e->arguments[i].tensors);
    free(e);
}

/* ---- the first phase: arguments --------------------------------------------------------------------------- */

/* Says where a tensor's elements are, `offset` of them behind an address; false: they aren't all the device's. */
static bool set_data(asc_tensor *t, void *address, int64_t offset, const char *name) {
    bool empty = false;
    size_t last = 0; /* the position of the last element */
    for (int i = 0; i < t->rank; i++) {
        empty |= t->dims[i] == 0;
        last += (size_t)(t->dims[i] - 1) * (size_t)t->strides[i];
    }
    if (!address && !empty) {
        asc_acl_fail(ACLNN_ERR_PARAM_NULLPTR, "%s has elements and no memory", name);
        return false;
    }
    size_t bytes = asc_dtype_bytes(t->dtype), two = t->dtype == ASC_INT4 ? 2 : 1; /* to a byte */
    if (address) t->data = (char *)address + (size_t)offset * bytes / two;
    return empty || asc_memory_check(t->data, (last + two) / two * bytes, ASC_PLACE_DEVICE, name) == ACL_SUCCESS;
}

static bool read_tensor(const asc_operand *o, asc_tensor *t, const char *name) {
    *t = (asc_tensor){.dtype = asc_rt_type(o->type), .rank = o->view.rank};
    if (t->dtype == ASC_UNDEFINED || t->dtype == ASC_STRING || t->rank > ASC_MAX_RANK) {
        asc_acl_fail(ACLNN_ERR_PARAM_INVALID,
                     "%s has elements of type %d and %d axes; there is arithmetic on numbers "
                     "that are not complex, and on up to %d axes",
                     name, (int)o->type, t->rank, ASC_MAX_RANK);
        return false;
    }
    for (int i = 0; i < t->rank; i++) {
        t->dims[i] = o->view.dims[i];
        t->strides[i] = o->strides.dims[i];
        if (t->dims[i] < 0 || t->strides[i] < 0) {
            asc_acl_fail(ACLNN_ERR_PARAM_INVALID, "axis %d of %s has %lld elements, %lld apart", i, name,
                         (long long)t->dims[i], (long long)t->strides[i]);
            return false;
        }
    }
    return set_data(t, o->data, o->offset, name);
}

static bool read_tensors(asc_argument *a, const char *name, const void *handle) {
    bool list = strchr("LMQ", a->kind) != NULL;
    const asc_list *items = list ? asc_handle_get(ASC_KIND_TENSORS, handle) : NULL;
    if (list && !items) return asc_handle_fail(ACLNN_ERR_PARAM_INVALID, ASC_KIND_TENSORS, handle, name), false;
    a->count = list ? (int32_t)items->count : 1;
    a->handle = handle;
    a->tensors = calloc((size_t)a->count + 1, sizeof *a->tensors);
    if (!a->tensors) return asc_acl_fail(ACLNN_ERR_INNER, "this machine has no memory left"), false;
    for (int32_t k = 0; k < a->count; k++) {
        const void *item = list ? (const void *)(uintptr_t)items->items[k] : handle;
        if (list && !item) continue;
        const asc_operand *o = asc_handle_get(ASC_KIND_TENSOR, item);
        if (!o) return asc_handle_fail(ACLNN_ERR_PARAM_INVALID, ASC_KIND_TENSOR, item, name), false;
        if (!read_tensor(o, &a->tensors[k], name)) return false;
        if (o->type == ACL_INT4 && (is_written(a->kind) || o->offset % 2))
            return asc_acl_fail(ACLNN_ERR_PARAM_INVALID, "%s is of 4-bit integers, which are read only, from a byte on",
                                name),
                   false;
    }
    return true;
}

static asc_number number_of(const asc_scalar *s) {
    asc_number n = {.d = asc_number_at(s->bytes, 0, s->type)};
    bool is_float = s->type == ACL_FLOAT || s->type == ACL_FLOAT16 || s->type == ACL_BF16 || s->type == ACL_DOUBLE;
    n.dtype = is_float ? ASC_FLOAT64 : s->type == ACL_BOOL ? ASC_BOOL : ASC_INT64;
    n.i = is_float ? (n.d > -0x1p63 && n.d < 0x1p63 ? (int64_t)n.d : INT64_MIN) : (int64_t)n.d;
    if (s->type == ACL_INT64 || s->type == ACL_UINT64) memcpy(&n.i, s->bytes, sizeof n.i);
    return n;
}

static bool read_numbers(asc_argument *a, const char *name, const void *handle) {
    bool list = a->kind == 'Z';
    const asc_list *items = list ? asc_handle_get(ASC_KIND_SCALARS, handle) : NULL;
    if (list && !items) return asc_handle_fail(ACLNN_ERR_PARAM_INVALID, ASC_KIND_SCALARS, handle, name), false;
    a->count = list ? (int32_t)items->count : 1;
    a->numbers = calloc((size_t)a->count + 1, sizeof *a->numbers);
    if (!a->numbers) return asc_acl_fail(ACLNN_ERR_INNER, "this machine has no memory left"), false;
    for (int32_t k = 0; k < a->count; k++) {
        const void *item = list ? (const void *)(uintptr_t)items->items[k] : handle;
        const asc_scalar *s = asc_handle_get(ASC_KIND_SCALAR, item);
        if (!s) return asc_handle_fail(ACLNN_ERR_PARAM_INVALID, ASC_KIND_SCALAR, item, name), false;
        if (!asc_is_number(s->type))
            return asc_acl_fail(ACLNN_ERR_PARAM_INVALID,
                                "%s is of type %d; there is arithmetic on numbers that are "
                                "not complex",
                                name, (int)s->type),
                   false;
        a->numbers[k] = number_of(s);
    }
    return true;
}

static bool read_array(asc_argument *a, const char *name, const void *handle) {
    asc_kind kind = a->kind == 'I' ? ASC_KIND_INTS : a->kind == 'F' ? ASC_KIND_FLOATS : ASC_KIND_BOOLS;
    const asc_list *items = asc_handle_get(kind, handle);
    if (!items) return asc_handle_fail(ACLNN_ERR_PARAM_INVALID, kind, handle, name), false;
    a->count = (int32_t)items->count;
    a->ints = calloc((size_t)a->count + 1, sizeof *a->ints);
    if (!a->ints) return asc_acl_fail(ACLNN_ERR_INNER, "this machine has no memory left"), false;
    for (int32_t k = 0; k < a->count; k++) {
        float f;
        memcpy(&f, &items->items[k], sizeof f);
        if (a->kind == 'F')
            a->floats[k] = (double)f;
        else
            a->ints[k] = a->kind == 'I' ? (int64_t)items->items[k] : (items->items[k] & 0xFF) != 0;
    }
    return true;
}

static bool read_argument(asc_argument *a, char kind, bool optional, const char *name, asc_given given) {
    a->kind = kind;
    switch (kind) {
        case 'i':
        case 'b': a->i = given.i; return true;
        case 'd': a->d = given.d; return true;
        case 't': a->i = asc_rt_type((aclDataType)given.i); return true;
        default: break;
    }
    a->count = -1;
    if (!given.handle) {
        if (!optional) asc_acl_fail(ACLNN_ERR_PARAM_NULLPTR, "%s must not be NULL", name);
        return optional;
    }
    if (is_tensors(kind)) return read_tensors(a, name, given.handle);
    if (kind == 'S' || kind == 'Z') return read_numbers(a, name, given.handle);
    if (kind != 'c') return read_array(a, name, given.handle);
    a->text = strdup(given.handle);
    a->count = 1;
    return a->text || asc_acl_fail(ACLNN_ERR_INNER, "this machine has no memory left") == 0;
}

aclnnStatus asc_operator_prepare(const asc_operator *row, const asc_given *given, uint64_t *workspaceSize,
                                 aclOpExecutor **made, const void *caller) {
    asc_enter(row->name, caller);
    if (!workspaceSize || !made)
        return asc_acl_fail(ACLNN_ERR_PARAM_NULLPTR, "%s must not be NULL",
                            workspaceSize ? "executor" : "workspaceSize");
    uint32_t n = 0;
    for (const char *k = row->kinds; *k; k++) n += *k != '?';
    executor *e = calloc(1, sizeof *e + n * sizeof *e->arguments);
    if (!e) return asc_acl_fail(ACLNN_ERR_INNER, "this machine has no memory left");
    e->row = row;
    asc_forget_code();
    bool good = true;
    for (const char *k = row->kinds; *k && good; k++) {
        if (*k == '?') continue;
        good = read_argument(&e->arguments[e->n], *k, k[1] == '?', row->names[e->n], given[e->n]);
        e->n++;
    }
    asc_status status = {0};
    if (good && row->check) {
        asc_operator_call call = {row, e->arguments, e->n, &status};
        good = row->check(&call) == ASC_OK;
        if (!good) asc_acl_fail(ACLNN_ERR_PARAM_INVALID, "%s", status.text);
    }
    void *handle = good ? asc_handle_new(ASC_KIND_EXECUTOR, e) : NULL;
    if (!handle) {
        release(e);
        return asc_last_code() ? asc_last_code() : ACLNN_ERR_INNER;
    }
    *workspaceSize = 0;
    *made = handle;
    return ACLNN_SUCCESS;
}

/* ---- the second phase: on the stream ---------------------------------------------------------------------- */

static void pin(const executor *e, void (*count)(const void *, bool)) {
    for (uint32_t i = 0; i < e->n; i++)
        for (int32_t k = 0; is_tensors(e->arguments[i].kind) && k < e->arguments[i].count; k++)
            if (e->arguments[i].tensors[k].data)
                count(e->arguments[i].tensors[k].data, is_written(e->arguments[i].kind));
}

static aclError run(void *argument) {
    executor *e = argument;
    asc_status status = {0};
    asc_argument *real = malloc((e->n + 1) * sizeof *real);
    asc_tensor *tensors = NULL;
    uint32_t count = 0, used = 0;
    for (uint32_t i = 0; i < e->n; i++)
        if (is_tensors(e->arguments[i].kind) && e->arguments[i].count > 0) count += (uint32_t)e->arguments[i].count;
    tensors = malloc((count + 1) * sizeof *tensors);
    int32_t code = ASC_E_MEMORY;
    if (real && tensors) {
        memcpy(real, e->arguments, e->n * sizeof *real);
        for (uint32_t i = 0; i < e->n; i++) {
            if (!is_tensors(real[i].kind) || real[i].count < 0) continue;
            real[i].tensors = tensors + used;
            for (int32_t k = 0; k < real[i].count; k++) {
                tensors[used] = e->arguments[i].tensors[k];
                if (tensors[used].data) tensors[used].data = asc_real(tensors[used].data);
                used++;
            }
        }
        asc_operator_call call = {e->row, real, e->n, &status};
        bool recorded = asc_recorded_begin();
        code = e->row->run(&call);
        if (recorded) asc_recorded_end(e->row, e->arguments, e->n, code);
    }
    free(tensors);
    free(real);
    return code == ASC_OK ? ACL_SUCCESS : asc_runtime_fail(code, &status, e->row->name);
}

static void end(void *argument) {
    executor *e = argument;
    pin(e, asc_memory_unpin);
    release(e);
}

static size_t item_bytes(const asc_argument *a) {
    if (is_tensors(a->kind)) return sizeof *a->tensors;
    if (a->kind == 'S' || a->kind == 'Z') return sizeof *a->numbers;
    return a->kind == 'c' ? strlen(a->text) : sizeof *a->ints;
}

static executor *copy(const executor *from) {
    executor *e = malloc(sizeof *e + from->n * sizeof *e->arguments);
    if (!e) return NULL;
    memcpy(e, from, sizeof *e + from->n * sizeof *e->arguments);
    bool good = true;
    for (uint32_t i = 0; i < e->n; i++) {
        asc_argument *a = &e->arguments[i];
        if (strchr("idbt", a->kind) || a->count < 0) continue;
        size_t bytes = ((size_t)a->count + 1) * item_bytes(a);
        void *items = malloc(bytes);
        if (items) memcpy(items, from->arguments[i].tensors, a->kind == 'c' ? item_bytes(a) + 1 : bytes);
        good &= items != NULL;
        a->tensors = items;
    }
    if (good) return e;
    release(e);
    return NULL;
}

aclnnStatus asc_operator_launch(const asc_operator *row, aclOpExecutor *handle, aclrtStream stream,
                                const void *caller) {
    asc_enter(row->name, caller);
    executor *e = asc_handle_get(ASC_KIND_EXECUTOR, handle);
    if (!e || e->row != row)
        return asc_stream_launched(stream,
                                   e ? asc_acl_fail(ACLNN_ERR_PARAM_INVALID, "executor is one of %s", e->row->name)
                                     : asc_handle_fail(ACLNN_ERR_PARAM_INVALID, ASC_KIND_EXECUTOR, handle, "executor"));
    asc_stream *found = NULL;
    if (asc_stream_get(stream, &found) != ACL_SUCCESS) return ACLNN_ERR_RUNTIME_ERROR;
    if (e->repeatable)
        e = copy(e);
    else
        asc_handle_take(ASC_KIND_EXECUTOR, handle);
    if (!e) return asc_acl_fail(ACLNN_ERR_INNER, "this machine has no memory left");
    pin(e, asc_memory_pin);
    return asc_stream_push(found, run, end, e) == ACL_SUCCESS ? ACLNN_SUCCESS : ACLNN_ERR_RUNTIME_ERROR;
}

void asc_operator_resize(const asc_argument *tensor, int32_t rank, const int64_t *dims) {
    asc_operand *o = asc_handle_get(ASC_KIND_TENSOR, tensor->handle);
    if (!o) return; /* destroyed meanwhile: nobody asks */
    o->view.rank = o->strides.rank = rank;
    int64_t step = 1;
    for (int32_t i = rank - 1; i >= 0; i--) {
        o->view.dims[i] = dims[i];
        o->strides.dims[i] = step;
        step *= dims[i];
    }
}

/* ---- executors that run more than once ---------------------------------------------------------------------- */

static executor *executor_of(aclOpExecutor *handle) {
    executor *e = asc_handle_get(ASC_KIND_EXECUTOR, handle);
    if (!e) asc_handle_fail(ACLNN_ERR_PARAM_INVALID, ASC_KIND_EXECUTOR, handle, "executor");
    return e;
}

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *handle) {
    ASC_ENTER();
    if (!handle) return asc_acl_fail(ACLNN_ERR_PARAM_NULLPTR, "executor must not be NULL");
    executor *e = executor_of(handle);
    if (!e) return ACLNN_ERR_PARAM_INVALID;
    e->repeatable = true;
    return ACLNN_SUCCESS;
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *handle) {
    ASC_ENTER();
    if (!handle) return asc_acl_fail(ACLNN_ERR_PARAM_NULLPTR, "executor must not be NULL");
    executor *e = asc_handle_take(ASC_KIND_EXECUTOR, handle);
    if (!e) return asc_handle_fail(ACLNN_ERR_PARAM_INVALID, ASC_KIND_EXECUTOR, handle, "executor");
    release(e);
    return ACLNN_SUCCESS;
}

/* The address of tensor `item` of the argument that is the `index`th among those of `kinds`. `given` is the tensor that
 * was there, whose offset stays. */
static aclnnStatus set_address(aclOpExecutor *handle, const char *kinds, size_t index, size_t item,
                               const aclTensor *given, void *address) {
    if (!handle || !address)
        return asc_acl_fail(ACLNN_ERR_PARAM_NULLPTR, "%s must not be NULL", handle ? "addr" : "executor");
    executor *e = executor_of(handle);
    if (!e) return ACLNN_ERR_PARAM_INVALID;
    const asc_operand *o = given ? asc_handle_get(ASC_KIND_TENSOR, given) : NULL;
    size_t at = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        asc_argument *a = &e->arguments[i];
        if (!strchr(kinds, a->kind) || at++ < index) continue;
        if (a->count < 0 || item >= (size_t)a->count) break;
        bool good = set_data(&a->tensors[item], address, o ? o->offset : 0, e->row->names[i]);
        return good ? ACLNN_SUCCESS : ACLNN_ERR_PARAM_INVALID;
    }
    return asc_acl_fail(ACLNN_ERR_PARAM_INVALID, "%s has no tensor %zu at place %zu", e->row->name, item, index);
}

aclnnStatus aclSetInputTensorAddr(aclOpExecutor *handle, size_t index, aclTensor *tensor, void *addr) {
    ASC_ENTER();
    return set_address(handle, "TRLM", index, 0, tensor, addr);
}

aclnnStatus aclSetOutputTensorAddr(aclOpExecutor *handle, size_t index, aclTensor *tensor, void *addr) {
    ASC_ENTER();
    return set_address(handle, "ORQ", index, 0, tensor, addr);
}

aclnnStatus aclSetTensorAddr(aclOpExecutor *handle, size_t index, aclTensor *tensor, void *addr) {
    ASC_ENTER();
    return set_address(handle, "TORLMQ", index, 0, tensor, addr);
}

static const aclTensor *item_of(const aclTensorList *tensors, size_t item) {
    const asc_list *list = tensors ? asc_handle_get(ASC_KIND_TENSORS, tensors) : NULL;
    return list && item < list->count ? (const aclTensor *)(uintptr_t)list->items[item] : NULL;
}

aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor *handle, size_t irIndex, size_t relativeIndex,
                                         aclTensorList *tensors, void *addr) {
    ASC_ENTER();
    return set_address(handle, "TRLM", irIndex, relativeIndex, item_of(tensors, relativeIndex), addr);
}

aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor *handle, size_t irIndex, size_t relativeIndex,
                                          aclTensorList *tensors, void *addr) {
    ASC_ENTER();
    return set_address(handle, "ORMQ", irIndex, relativeIndex, item_of(tensors, relativeIndex), addr);
}

aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor *handle, size_t irIndex, size_t relativeIndex, aclTensorList *tensors,
                                    void *addr) {
    ASC_ENTER();
    return set_address(handle, "TORLMQ", irIndex, relativeIndex, item_of(tensors, relativeIndex), addr);
}
