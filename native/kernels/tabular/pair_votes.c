/* pair_votes: what classifiers of every two classes come to.
 *   sums [rows, pairs], labels [classes], slopes [pairs], offsets [pairs]
 *   -> scores [rows, classes or pairs], labels [rows]
 * Pairs are (0, 1), (0, 2), .. (1, 2), ..; a sum above 0 is a vote for the first class, and the
 * first of the classes with most votes gives the label. With slopes and offsets a pair has the probability
 * 1 - logistic(slope * sum + offset), and scores are probabilities of classes: those that fit them best, by the
 * iteration of Wu, Lin and Weng, in float32 and to the tolerance that onnxruntime has. Without, scores are the sums. */
#include <math.h>
#include <string.h>

#include "chunks.h"

#define MOST_ROUNDS 100
#define LEAST 1e-7f /* of a pair's probability */

typedef struct votes_job {
    int64_t rows, classes, pairs, per_chunk, floats; /* of a worker's workspace */
    int coupled;
} votes_job;
ASC_KERNEL_NOTE(pair_votes, votes_job)

enum { SUMS, LABELS, SLOPES, OFFSETS };

int32_t ASC_FN(pair_votes_prepare)(asc_call *call) {
    ASC_REQUIRE(call, call->in[LABELS].rank == 1, "pair_votes: the labels of classes are no vector");
    int64_t n = call->in[LABELS].dims[0], pairs, bytes;
    ASC_REQUIRE(call, n > 1 && n < INT16_MAX, "pair_votes: there are too few classes, or too many");
    pairs = n * (n - 1) / 2;
    int coupled = asc_has_input(call, SLOPES);
    const asc_tensor *sums = &call->in[SUMS], *scores = &call->out[0], *labels = &call->out[1];
    ASC_REQUIRE(call, sums->rank == 2 && sums->dims[1] == pairs, "pair_votes: there is not one sum for each pair");
    ASC_REQUIRE(call, scores->rank == 2 && scores->dims[0] == sums->dims[0] && scores->dims[1] == (coupled ? n : pairs),
                "pair_votes: the scores have another shape");
    ASC_REQUIRE(call, labels->rank == 1 && labels->dims[0] == sums->dims[0],
                "pair_votes: the labels have another shape");
    for (int32_t i = SLOPES; i <= OFFSETS && coupled; i++)
        ASC_REQUIRE(call, asc_has_input(call, i) && call->in[i].rank == 1 && call->in[i].dims[0] == pairs,
                    "pair_votes: there is not one slope and offset for each pair");
    votes_job *job = call->note;
    *job = (votes_job){sums->dims[0], n, pairs, 1, 2 * n * n + 2 * n, coupled};
    if (job->rows) job->per_chunk = asc_chunk_items(call, job->rows, coupled ? 200 * n * n : 4 * pairs);
    ASC_REQUIRE(call, asc_mul_ok(job->floats * 4, call->threads, &bytes), "pair_votes: there are too many classes");
    call->workspace_bytes = (uint64_t)bytes;
    return ASC_OK;
}

/* The class with most votes. `votes` has room for each. */
static int64_t elected(const float *sums, int64_t n, float *votes) {
    int64_t best = 0;
    memset(votes, 0, (size_t)n * sizeof *votes);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) votes[*sums++ > 0 ? i : j] += 1;
    for (int64_t i = 1; i < n; i++)
        if (votes[i] > votes[best]) best = i;
    return best;
}

static float logistic(float x) {
    float near_one = 1 / (1 + expf(-fabsf(x)));
    return x < 0 ? 1 - near_one : near_one;
}

/* r[i, j]: how probable class i is, of the two. */
static void set_pairs(const asc_call *call, const float *sums, int64_t n, float *r) {
    const float *slopes = call->in[SLOPES].data, *offsets = call->in[OFFSETS].data;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) {
            float p = 1 - logistic(*sums++ * *slopes++ + *offsets++);
            p = p < LEAST ? LEAST : p; /* NaN stays: all classes are then as probable */
            p = p > 1 - LEAST ? 1 - LEAST : p;
            r[i * n + j] = p;
            r[j * n + i] = 1 - p;
        }
}

/* Probabilities p that make p' Q p least, where Q[i, i] sums r[j, i]^2 and Q[i, j] is -r[j, i] r[i, j]. */
static void couple(const float *r, int64_t n, float *q, float *qp, float *p) {
    for (int64_t i = 0; i < n; i++) {
        p[i] = 1.0f / (float)n;
        q[i * n + i] = 0;
        for (int64_t j = 0; j < n; j++) {
            if (j == i) continue;
            q[i * n + i] += r[j * n + i] * r[j * n + i];
            q[i * n + j] = -r[j * n + i] * r[i * n + j];
        }
    }
    for (int round = 0; round < MOST_ROUNDS; round++) {
        float mean = 0, error = 0;
        for (int64_t i = 0; i < n; i++) {
            qp[i] = 0;
            for (int64_t j = 0; j < n; j++) qp[i] += q[i * n + j] * p[j];
            mean += p[i] * qp[i];
        }
        for (int64_t i = 0; i < n; i++) error = fmaxf(error, fabsf(qp[i] - mean));
        if (error < 0.005f / (float)n) return;
        for (int64_t i = 0; i < n; i++) {
            float own = q[i * n + i], step = (mean - qp[i]) / own, shrink = 1 + step;
            p[i] += step;
            mean = (mean + step * (step * own + 2 * qp[i])) / shrink / shrink;
            for (int64_t j = 0; j < n; j++) {
                qp[j] = (qp[j] + step * q[i * n + j]) / shrink;
                p[j] /= shrink;
            }
        }
    }
}

static void votes_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const votes_job *job = arg;
    int64_t n = job->classes, last = asc_least(job->rows, (chunk + 1) * job->per_chunk);
    float *r = (float *)call->workspace + worker * job->floats, *q = r + n * n, *qp = q + n * n;
    for (int64_t row = chunk * job->per_chunk; row < last; row++) {
        const float *sums = (const float *)call->in[SUMS].data + row * job->pairs;
        ((int64_t *)call->out[1].data)[row] = ((const int64_t *)call->in[LABELS].data)[elected(sums, n, qp)];
        float *scores = (float *)call->out[0].data + row * (job->coupled ? n : job->pairs);
        if (!job->coupled) {
            memcpy(scores, sums, (size_t)job->pairs * sizeof *sums);
            continue;
        }
        set_pairs(call, sums, n, r);
        couple(r, n, q, qp, scores);
    }
}

int32_t ASC_FN(pair_votes_run)(const asc_call *call) {
    const votes_job *job = call->note;
    if (job->rows) asc_parallel(call, asc_ceil_div(job->rows, job->per_chunk), votes_chunk, call->note);
    return ASC_OK;
}
