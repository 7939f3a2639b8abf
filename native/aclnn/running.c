/* running.c - the largest, or smallest, element so far along an axis, and where it is. */
#include "operator.h"

/* Whether b, which comes later, takes the place of a: equal elements do, and after NaN only NaN does. */
static bool takes(double a, double b, bool largest) {
    if (b != b) return true;
    return a == a && (largest ? b >= a : b <= a);
}

/* self, dim, values, indices. */
void asc_op_running_extreme(asc_run *run, int largest) {
    tensor x = asc_in(run, 0);
    bool whole = !asc_is_float(x.dtype);
    if (x.rank == 0) x = asc_unsqueeze(x, 0);
    int axis = (int)asc_axis(run, asc_int(run, 1), x.rank);
    x = asc_copy(run, x, whole ? ASC_INT64 : ASC_FLOAT64);
    tensor at = asc_like(run, x, ASC_INT64);
    int64_t n = x.dims[axis], inner = 1;
    for (int i = axis + 1; i < x.rank; i++) inner *= x.dims[i];
    for (int64_t i = 0; i < asc_elements(x); i++) {
        int64_t step = i / inner % n, before = i - inner, *place = &((int64_t *)at.data)[i];
        *place = step;
        if (step == 0) continue;
        double *d = x.data;
        int64_t *l = x.data;
        bool taken = whole ? (largest ? l[i] >= l[before] : l[i] <= l[before]) : takes(d[before], d[i], largest);
        if (taken) continue;
        l[i] = l[before]; /* eight bytes, of either type */
        *place = ((int64_t *)at.data)[before];
    }
    asc_put(run, 2, x);
    asc_put(run, 3, at);
}
