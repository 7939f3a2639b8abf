/* indexing.c - elements and rows taken by index, and written by index. */
#include <math.h>
#include <string.h>

#include "asc_plan.h"
#include "operator.h"

/* Indices of an argument, from the front, of an axis of `length`. */
static tensor indices_of(asc_run *run, tensor t, int64_t length) {
    t = asc_copy(run, t, ASC_INT64);
    int64_t *at = t.data;
    for (int64_t i = 0; i < asc_elements(t); i++) {
        ASC_STOP_UNLESS(run, at[i] >= -length && at[i] < length, "index %lld is out of an axis of %lld elements",
                        (long long)at[i], (long long)length);
        if (at[i] < 0) at[i] += length;
    }
    return t;
}

static void gather(asc_run *run, tensor x, int64_t axis, tensor index, tensor out, const char *op) {
    if (asc_elements(out) == 0) return;
    tensor in[] = {x, index};
    asc_call_kernel(run, op, 2, in, 1, &out, 1, &axis, 0, NULL);
}

/* Rows of x along an axis: its dims with that axis replaced by those of the index. */
static tensor rows(asc_run *run, tensor x, int axis, tensor index) {
    int64_t dims[2 * ASC_MAX_RANK];
    x = asc_cast(run, x, x.dtype);
    memcpy(dims, x.dims, (size_t)axis * sizeof *dims);
    memcpy(dims + axis, index.dims, (size_t)index.rank * sizeof *dims);
    memcpy(dims + axis + index.rank, x.dims + axis + 1, (size_t)(x.rank - axis - 1) * sizeof *dims);
    tensor out = asc_new(run, x.dtype, x.rank - 1 + index.rank, dims);
    gather(run, x, axis, index, out, "gather");
    return out;
}

/* weight, indices, out. */
void asc_op_embedding(asc_run *run) {
    tensor w = asc_in(run, 0);
    asc_put(run, 2, rows(run, w, 0, indices_of(run, asc_in(run, 1), w.dims[0])));
}

/* gradOutput, indices, numWeights, paddingIdx, scaleGradByFreq, out. */
void asc_op_embedding_backward(asc_run *run) {
    tensor to = asc_in(run, 5), index = indices_of(run, asc_in(run, 1), asc_int(run, 2)), g = asc_f32(run, 0);
    int64_t n = asc_elements(index), width = to.dims[1], padding = asc_int(run, 3);
    ASC_STOP_UNLESS(run, to.rank == 2 && to.dims[0] == asc_int(run, 2) && asc_elements(g) == n * width,
                    "the gradient is of %lld rows of %lld", (long long)n, (long long)width);
    tensor made = asc_like(run, to, ASC_FLOAT32);
    int64_t *often = asc_bytes(run, (size_t)to.dims[0] * sizeof *often);
    asc_fill(run, made, 0);
    memset(often, 0, (size_t)to.dims[0] * sizeof *often);
    for (int64_t i = 0; i < n; i++) often[((int64_t *)index.data)[i]]++;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = ((int64_t *)index.data)[i];
        if (row == padding) continue;
        float scale = asc_int(run, 4) ? 1 / (float)often[row] : 1, *d = (float *)made.data + row * width;
        const float *s = (const float *)g.data + i * width;
        for (int64_t k = 0; k < width; k++) d[k] += s[k] * scale;
    }
    asc_put(run, 5, made);
}

/* self, dim, index, out. */
void asc_op_index_select(asc_run *run) {
    tensor x = asc_in(run, 0);
    if (x.rank == 0) x = asc_unsqueeze(x, 0);
    int axis = (int)asc_axis(run, asc_int(run, 1), x.rank);
    asc_put(run, 3, rows(run, x, axis, asc_flat(run, indices_of(run, asc_in(run, 2), x.dims[axis]))));
}

/* self, dim, index, out: the axis becomes the index's axes. */
void asc_op_gather_rows(asc_run *run) {
    tensor x = asc_in(run, 0);
    if (x.rank == 0) x = asc_unsqueeze(x, 0);
    int axis = (int)asc_axis(run, asc_int(run, 1), x.rank);
    asc_put(run, 3, rows(run, x, axis, indices_of(run, asc_in(run, 2), x.dims[axis])));
}

/* self, dim, index, out: element by element. */
void asc_op_gather(asc_run *run) {
    tensor x = asc_in(run, 0), index = asc_in(run, 2);
    if (x.rank == 0) x = asc_unsqueeze(x, 0);
    if (index.rank == 0) index = asc_unsqueeze(index, 0);
    int axis = (int)asc_axis(run, asc_int(run, 1), x.rank);
    index = indices_of(run, index, x.dims[axis]);
    tensor out = asc_like(run, index, x.dtype);
    for (int i = 0; i < x.rank; i++)
        if (i != axis) x = asc_narrow(x, i, 0, index.dims[i]);
    gather(run, asc_cast(run, x, x.dtype), axis, index, out, "gather_elements");
    asc_put(run, 3, out);
}

/* ---- writing ------------------------------------------------------------------------------------------------ */

/* A copy of x with updates at the places of index along the axis. reduction: 0 none, 1 add, 2 multiply, 3 max, 4 min.
 */
static tensor scattered(asc_run *run, tensor x, int64_t axis, tensor index, tensor updates, int64_t reduction) {
    static const int64_t reductions[] = {ASC_SCATTER_NONE, ASC_SCATTER_ADD, ASC_SCATTER_MUL, ASC_SCATTER_MAX,
                                         ASC_SCATTER_MIN};
    ASC_STOP_UNLESS(run, reduction >= 0 && reduction <= 4, "no reduction %lld", (long long)reduction);
    int32_t dtype = x.dtype, held = reduction && (dtype == ASC_FLOAT16 || dtype == ASC_BFLOAT16) ? ASC_FLOAT32 : dtype;
    x = asc_cast(run, x, held);
    for (int i = 0; i < index.rank; i++) updates = updates.rank ? asc_narrow(updates, i, 0, index.dims[i]) : updates;
    tensor in[] = {x, index, asc_cast(run, updates, held)}, out = asc_like(run, x, held);
    if (asc_elements(index) == 0) return x;
    asc_call_kernel(run, "scatter_elements", 3, in, 1, &out, 2, (int64_t[]){axis, reductions[reduction]}, 0, NULL);
    return out;
}

/* self, dim, index, src (a tensor or a number), perhaps reduction, then the output unless it is self. */
void asc_op_scatter(asc_run *run, int fixed) {
    tensor x = asc_in(run, 0), index = asc_in(run, 2), updates;
    bool scalar = asc_arg(run, 3)->kind == 'S';
    int out = asc_arg(run, 0)->kind == 'R' ? 0 : fixed ? 4 : 5;
    int64_t reduction = fixed ? fixed : asc_int(run, 4);
    tensor flat = x.rank ? x : asc_unsqueeze(x, 0);
    if (index.rank == 0) index = asc_unsqueeze(index, 0);
    int axis = (int)asc_axis(run, asc_int(run, 1), flat.rank);
    index = indices_of(run, index, flat.dims[axis]);
    if (scalar) {
        updates = asc_like(run, index, x.dtype);
        asc_fill(run, updates, asc_float(run, 3));
    } else {
        updates = asc_in(run, 3);
        if (updates.rank == 0) updates = asc_unsqueeze(updates, 0);
    }
    asc_put(run, out, scattered(run, flat, axis, index, updates, reduction));
}

/* self, dim, index, src, reduction, includeSelf, then the output unless it is self: 5 is the mean. Where self doesn't
 * count, the places that get anything begin with what changes nothing. */
void asc_op_scatter_reduce(asc_run *run) {
    static const double nothing[] = {0, 0, 1, -INFINITY, INFINITY, 0};
    tensor x = asc_in(run, 0), index = asc_in(run, 2), updates = asc_in(run, 3);
    int out = asc_arg(run, 0)->kind == 'R' ? 0 : 6;
    int64_t reduction = asc_int(run, 4);
    bool mean = reduction == 5, includes = asc_int(run, 5) != 0;
    ASC_STOP_UNLESS(run, reduction >= 0 && reduction <= 5, "no reduction %lld", (long long)reduction);
    if (x.rank == 0) x = asc_unsqueeze(x, 0);
    if (index.rank == 0) index = asc_unsqueeze(index, 0);
    if (updates.rank == 0) updates = asc_unsqueeze(updates, 0);
    int32_t held = asc_is_float(x.dtype) ? x.dtype == ASC_FLOAT64 ? ASC_FLOAT64 : ASC_FLOAT32 : ASC_INT64;
    int axis = (int)asc_axis(run, asc_int(run, 1), x.rank);
    index = indices_of(run, index, x.dims[axis]);
    tensor made = asc_cast(run, x, held), first = asc_like(run, index, held), count = asc_like(run, made, held);
    if (held == ASC_INT64 && (reduction == 3 || reduction == 4))
        for (int64_t i = 0; i < asc_elements(first); i++)
            ((int64_t *)first.data)[i] = reduction == 3 ? INT64_MIN : INT64_MAX;
    else
        asc_fill(run, first, nothing[reduction]);
    if (!includes) made = scattered(run, made, axis, index, first, 0);
    made = scattered(run, made, axis, index, updates, mean ? 1 : reduction);
    if (mean) {
        tensor one = asc_like(run, index, held);
        asc_fill(run, one, 1);
        asc_fill(run, count, includes);
        count = scattered(run, count, axis, index, one, 1);
        made = ASC_COMPUTE(run, held, held == ASC_INT64 ? "floordiv(a, max(b, 1))" : "a / max(b, 1)", made, count);
    }
    asc_put(run, out, made);
}

/* ---- by several indices ------------------------------------------------------------------------------------- */

/* What indices of some axes name: the places of rows in a tensor whose indexed axes were moved to the front. */
typedef struct places {
    tensor moved; /* a view: the indexed axes first, then the others */
    tensor flat;  /* int64, broadcast: the place among the indexed axes */
    int count;    /* of indexed axes */
    int at;       /* where the axes of the index stand in the result */
} places;

/* Bools name the places that are true: an index for each of their axes. */
static int expand_bools(asc_run *run, const asc_argument *list, tensor *to, int most) {
    int n = 0;
    for (int k = 0; k < list->count; k++) {
        tensor t = list->tensors[k];
        if (t.rank == 1 && t.dims[0] == 0) t.dtype = ASC_UNDEFINED; /* torch_npu's way to say that none was given */
        if (t.dtype != ASC_BOOL && t.dtype != ASC_UINT8) {
            ASC_STOP_UNLESS(run, n < most, "more indices than axes");
            to[n++] = t;
            continue;
        }
        t = asc_cast(run, t, t.dtype);
        ASC_STOP_UNLESS(run, n + t.rank <= most, "more indices than axes");
        int64_t found = 0, total = asc_elements(t);
        for (int64_t i = 0; i < total; i++) found += ((uint8_t *)t.data)[i] != 0;
        for (int a = 0; a < t.rank; a++) {
            tensor index = asc_new(run, ASC_INT64, 1, &found);
            int64_t at = 0;
            for (int64_t i = 0; i < total; i++)
                if (((uint8_t *)t.data)[i]) ((int64_t *)index.data)[at++] = i / t.strides[a] % t.dims[a];
            to[n++] = index;
        }
    }
    return n;
}

static places places_of(asc_run *run, tensor x, const asc_argument *list) {
    tensor index[ASC_MAX_RANK];
    int n = expand_bools(run, list, index, x.rank), others = 0, first = -1, last = -1;
    places p = {.moved = x};
    tensor flat = {.dtype = ASC_UNDEFINED};
    for (int k = 0; k < n; k++)
        if (index[k].dtype != ASC_UNDEFINED) {
            if (first < 0) first = k;
            last = k;
            p.moved.dims[p.count] = x.dims[k];
            p.moved.strides[p.count++] = x.strides[k];
        }
    ASC_STOP_UNLESS(run, first >= 0, "no index was given");
    for (int k = 0; k < x.rank; k++)
        if (k >= n || index[k].dtype == ASC_UNDEFINED) {
            p.moved.dims[p.count + others] = x.dims[k];
            p.moved.strides[p.count + others++] = x.strides[k];
        }
    for (int k = first; k <= last; k++) {
        if (index[k].dtype == ASC_UNDEFINED) continue;
        tensor here = indices_of(run, index[k], x.dims[k]);
        flat = flat.dtype == ASC_UNDEFINED
                   ? here
                   : ASC_COMPUTE(run, ASC_INT64, "a * c + b", flat, here,
                                 asc_copy(run, (tensor){.data = &x.dims[k], .dtype = ASC_INT64, .rank = 0}, ASC_INT64));
    }
    p.flat = flat;
    p.at = last - first + 1 == p.count ? first : 0; /* apart from each other: in front */
    return p;
}

/* [places, rest]: the indexed axes as one, and the others. */
static tensor table(asc_run *run, const places *p) {
    tensor t = asc_cast(run, p->moved, p->moved.dtype);
    int64_t dims[2] = {1, 1};
    for (int i = 0; i < t.rank; i++) dims[i >= p->count] *= t.dims[i];
    return asc_reshape(run, t, 2, dims);
}

/* The result's axes in its own order, as a view whose index axes come first. */
static tensor index_first(tensor t, const places *p) {
    tensor v = t;
    for (int i = 0; i < p->flat.rank; i++) {
        v.dims[i] = t.dims[p->at + i];
        v.strides[i] = t.strides[p->at + i];
    }
    for (int i = 0; i < p->at; i++) {
        v.dims[p->flat.rank + i] = t.dims[i];
        v.strides[p->flat.rank + i] = t.strides[i];
    }
    return v;
}

/* self, indices, out. */
void asc_op_index(asc_run *run) {
    tensor x = asc_in(run, 0), to = asc_in(run, 2);
    if (asc_elements(to) == 0) return;
    places p = places_of(run, x, asc_arg(run, 1));
    tensor made = rows(run, table(run, &p), 0, asc_flat(run, p.flat)), target = index_first(to, &p);
    asc_store(run, target, asc_reshape(run, made, target.rank, target.dims));
}

/* self, indices, values, accumulate, unsafe. */
void asc_op_index_put(asc_run *run) {
    tensor x = asc_in(run, 0), values = asc_in(run, 2);
    const asc_argument *list = asc_arg(run, 1);
    int64_t named = 0; /* an index without elements names no place; torch_npu says so too that an axis has none */
    for (int k = 0; k < list->count; k++) named += asc_elements(list->tensors[k]);
    if (asc_elements(x) == 0 || asc_elements(values) == 0 || named == 0) return;
    places p = places_of(run, x, asc_arg(run, 1));
    tensor rest = table(run, &p), shape = {.dtype = x.dtype, .rank = p.flat.rank + x.rank - p.count};
    if (asc_elements(p.flat) == 0) return;
    /* The dims that values broadcast to: those of x with the indexed axes replaced. */
    memcpy(shape.dims + p.at, p.flat.dims, (size_t)p.flat.rank * sizeof *shape.dims);
    for (int i = 0; i < x.rank - p.count; i++) shape.dims[i < p.at ? i : i + p.flat.rank] = p.moved.dims[p.count + i];
    values = index_first(asc_expand(run, values, shape.rank, shape.dims), &p);
    int64_t n = asc_elements(p.flat), width = rest.dims[1];
    values = asc_reshape(run, asc_copy(run, values, x.dtype), 2, (int64_t[]){n, width});
    tensor index =
        asc_copy(run, asc_expand(run, asc_reshape(run, p.flat, 2, (int64_t[]){n, 1}), 2, values.dims), ASC_INT64);
    tensor made = scattered(run, rest, 0, index, values, asc_int(run, 3) ? 1 : 0);
    asc_store(run, p.moved, asc_reshape(run, made, x.rank, p.moved.dims));
}

/* self, dim, index, source, alpha, then the output unless it is self. */
void asc_op_index_add(asc_run *run, int out) {
    tensor x = asc_in(run, 0), source = asc_in(run, 3);
    if (x.rank == 0) x = asc_unsqueeze(x, 0);
    if (source.rank == 0) source = asc_unsqueeze(source, 0);
    int axis = (int)asc_axis(run, asc_int(run, 1), x.rank);
    tensor index = asc_flat(run, indices_of(run, asc_in(run, 2), x.dims[axis])), shape = source;
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = i == axis ? index.dims[0] : 1;
    tensor all = asc_copy(
        run, asc_expand(run, asc_reshape(run, index, source.rank, shape.dims), source.rank, source.dims), ASC_INT64);
    if (asc_float(run, 4) != 1) source = ASC_COMPUTE_WITH(run, source.dtype, "a * p", asc_float(run, 4), source);
    asc_put(run, out, scattered(run, x, axis, all, source, 1));
}

/* self, dim, index (a tensor), value or source, then the output unless it is self. */
void asc_op_index_set(asc_run *run, int out) {
    tensor x = asc_in(run, 0), made = asc_copy(run, x, x.dtype),
           source = asc_in(run, asc_arg(run, 3)->kind == 'T' ? 3 : 0);
    if (made.rank == 0) made = x = asc_unsqueeze(made, 0);
    if (source.rank == 0) source = asc_unsqueeze(source, 0);
    int axis = (int)asc_axis(run, asc_int(run, 1), x.rank);
    tensor index = indices_of(run, asc_in(run, 2), x.dims[axis]);
    for (int64_t i = 0; i < asc_elements(index); i++) {
        tensor to = asc_select(made, axis, ((int64_t *)index.data)[i]);
        if (asc_arg(run, 3)->kind == 'S')
            asc_fill(run, to, asc_float(run, 3));
        else
            asc_store(run, to, asc_select(source, axis, i));
    }
    asc_put(run, out, made);
}

/* ---- along an axis, or by position ---------------------------------------------------------------------------- */

/* self, depth, on, off, axis, out. */
void asc_op_one_hot(asc_run *run) {
    tensor x = asc_of(run, 0, ASC_INT64), to = asc_in(run, 5);
    int axis = (int)asc_axis(run, asc_int(run, 4), to.rank);
    for (int64_t k = 0; k < to.dims[axis]; k++) {
        tensor slice = ASC_COMPUTE_WITH(run, to.dtype, "a == p ? b : c", (double)k, x, asc_in(run, 2), asc_in(run, 3));
        asc_store(run, asc_select(to, axis, k), slice);
    }
}

/* self, index, out: elements of the whole by their position. */
void asc_op_take(asc_run *run) {
    tensor x = asc_flat(run, asc_in(run, 0));
    asc_put(run, 2, rows(run, x, 0, indices_of(run, asc_in(run, 1), asc_elements(x))));
}

/* self, index (of its elements in order), source, accumulate: over what is there, or added to it. */
void asc_op_put(asc_run *run) {
    tensor given = asc_in(run, 0), x = asc_flat(run, asc_copy(run, given, given.dtype));
    tensor source = asc_flat(run, asc_of(run, 2, x.dtype)), index = asc_flat(run, asc_in(run, 1));
    ASC_STOP_UNLESS(run, asc_elements(source) == asc_elements(index), "an index for each of %lld values is needed",
                    (long long)asc_elements(source));
    if (!asc_elements(index)) return;
    tensor made = scattered(run, x, 0, indices_of(run, index, asc_elements(x)), source, asc_int(run, 3) ? 1 : 0);
    asc_store(run, given, asc_reshape(run, made, given.rank, given.dims));
}

/* self, dim, index (numbers), value, then the output unless it is self. */
void asc_op_index_fill_at(asc_run *run, int out) {
    tensor given = asc_in(run, 0), x = asc_copy(run, given, given.dtype);
    const asc_argument *index = asc_arg(run, 2);
    if (x.rank == 0) x = asc_unsqueeze(x, 0);
    int axis = (int)asc_axis(run, asc_int(run, 1), x.rank);
    for (int k = 0; k < index->count; k++) {
        int64_t at = asc_axis(run, index->ints[k], (int)x.dims[axis]);
        asc_fill(run, asc_select(x, axis, at), asc_float(run, 3));
    }
    asc_put(run, out, x);
}
