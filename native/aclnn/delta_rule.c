/* delta_rule.c - linear attention by the gated delta rule, one position after another:
 *     S = exp(g) S diag(exp(gk));  S = S + beta (v - S k) k';  out = scale S q
 * where S is the state of a head, one row for each element of v. */
#include <math.h>
#include <string.h>

#include "operator.h"

typedef struct rule {
    int64_t positions, heads, rows, columns, shared; /* of v; `shared` heads of v have one of q and k */
    const float *q, *k, *v, *beta, *g, *gk;          /* g and gk: NULL, where nothing fades */
    float *out, *states;
    const int64_t *slots; /* of each position */
    float scale;
} rule;

/* What slot `from` holds of a head, at position t: the new state goes to the position's own slot. */
static void step(const rule *r, int64_t t, int64_t head, int64_t from) {
    int64_t size = r->rows * r->columns, at = t * r->heads + head;
    int64_t key = (t * (r->heads / r->shared) + head / r->shared) * r->columns;
    const float *old = r->states + (from * r->heads + head) * size;
    float *s = r->states + (r->slots[t] * r->heads + head) * size, fade = r->g ? expf(r->g[at]) : 1;
    if (s != old) memcpy(s, old, (size_t)size * sizeof *s);
    for (int64_t i = 0; i < r->rows; i++) {
        float known = 0, answer = 0, *row = s + i * r->columns;
        for (int64_t j = 0; j < r->columns; j++) {
            row[j] *= r->gk ? fade * expf(r->gk[at * r->columns + j]) : fade;
            known += row[j] * r->k[key + j];
        }
        float by = r->beta[at] * (r->v[at * r->rows + i] - known);
        for (int64_t j = 0; j < r->columns; j++) {
            row[j] += by * r->k[key + j];
            answer += row[j] * r->q[key + j];
        }
        r->out[at * r->rows + i] = answer * r->scale;
    }
}

static void check_shapes(asc_run *run, tensor q, tensor k, tensor v, tensor state) {
    bool good = q.rank == 3 && k.rank == 3 && v.rank == 3 && state.rank == 4;
    good = good && memcmp(q.dims, k.dims, 3 * sizeof *q.dims) == 0 && v.dims[0] == q.dims[0] && q.dims[1] > 0 &&
           v.dims[1] % q.dims[1] == 0;
    good = good && state.dims[1] == v.dims[1] && state.dims[2] == v.dims[2] && state.dims[3] == q.dims[2];
    ASC_STOP_UNLESS(run, good, "query and key are [T, Nk, Dk], value [T, Nv, Dv], states [.., Nv, Dv, Dk]");
}

/* query, key, value, beta, states, lengths, slots, g, gk, accepted, scale, out. `lengths` may begin with a number of
 * positions that are left out: then it has one more than `accepted`. */
void asc_op_delta_rule(asc_run *run) {
    tensor q = asc_f32(run, 0), k = asc_f32(run, 1), v = asc_f32(run, 2);
    tensor states = asc_copy(run, asc_in(run, 4), ASC_FLOAT32), out = asc_like(run, v, ASC_FLOAT32);
    check_shapes(run, q, k, v, states);
    tensor lengths = asc_of(run, 5, ASC_INT64), slots = asc_of(run, 6, ASC_INT64), accepted = {0};
    if (asc_given_at(run, 9)) accepted = asc_of(run, 9, ASC_INT64);
    rule r = {.positions = v.dims[0],
              .heads = v.dims[1],
              .rows = v.dims[2],
              .columns = q.dims[2],
              .shared = v.dims[1] / q.dims[1],
              .q = q.data,
              .k = k.data,
              .v = v.data,
              .out = out.data,
              .states = states.data,
              .slots = slots.data,
              .scale = (float)asc_float(run, 10)};
    r.beta = asc_f32(run, 3).data;
    if (asc_given_at(run, 7)) r.g = asc_f32(run, 7).data;
    if (asc_given_at(run, 8)) r.gk = asc_f32(run, 8).data;
    int64_t n = asc_elements(lengths), numbers = r.positions * r.heads;
    ASC_STOP_UNLESS(run,
                    asc_elements(slots) == r.positions && asc_elements(asc_in(run, 3)) == numbers &&
                        (!r.g || asc_elements(asc_in(run, 7)) == numbers) &&
                        (!r.gk || asc_elements(asc_in(run, 8)) == numbers * r.columns),
                    "slots, beta or gates are not of %lld positions", (long long)r.positions);
    for (int64_t t = 0; t < r.positions; t++)
        ASC_STOP_UNLESS(run, r.slots[t] >= 0 && r.slots[t] < states.dims[0], "position %lld has state %lld of %lld",
                        (long long)t, (long long)r.slots[t], (long long)states.dims[0]);
    bool skips = accepted.data && asc_elements(accepted) == n - 1;
    int64_t start = 0, sequence = 0;
    asc_fill(run, out, 0);
    for (int64_t i = 0; i < n; i++) {
        int64_t length = ((int64_t *)lengths.data)[i], from = 0;
        ASC_STOP_UNLESS(run, length >= 0 && length <= r.positions - start, "sequence %lld has %lld positions",
                        (long long)i, (long long)length);
        if (!skips || i) {
            int64_t first = accepted.data ? ((int64_t *)accepted.data)[sequence] - 1 : 0;
            ASC_STOP_UNLESS(run, !length || (first >= 0 && first < length), "sequence %lld accepts %lld of %lld",
                            (long long)sequence, (long long)first + 1, (long long)length);
            if (length) from = r.slots[start + first];
            for (int64_t t = start; t < start + length; from = r.slots[t++])
                for (int64_t head = 0; head < r.heads; head++) step(&r, t, head, from);
            sequence++;
        }
        start += length;
    }
    asc_put(run, 4, states);
    asc_put(run, 11, out);
}
