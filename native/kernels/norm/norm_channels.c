/* group_norm, batch_norm: normalisation by channel of float32 [N, C, ...].
 *
 * group_norm  x, scale [C], bias [C]; ints: asc_group_norm_params, floats: asc_norm_floats
 *   y = (x - mean) / sqrt(var + epsilon) * scale + bias; mean and var over C / groups channels of an
 *   image. One group for each channel is instance normalisation.
 * batch_norm  x, scale, bias, mean, var, each [C]; floats: asc_norm_floats
 *   y = (x - mean) * (scale / sqrt(var + epsilon)) + bias */
#include <math.h>

#include "asc_plan.h"
#include "chunks.h"
#include "reduction/row_sums.h"

typedef struct channel_job {
    int64_t planes, plane, channels, per_group, per_chunk; /* a plane: one channel of one image */
    float epsilon;
} channel_job;
ASC_KERNEL_NOTE(group_norm, channel_job)
ASC_KERNEL_NOTE(batch_norm, channel_job)

/* No planes where there is nothing to write. */
static void note(asc_call *call, int64_t per_group) {
    const asc_tensor *x = &call->in[0];
    channel_job *job = call->note;
    if (asc_numel(x) == 0) return;
    *job = (channel_job){.channels = x->dims[1], .per_group = per_group};
    job->epsilon = (float)ASC_FLOATS_AS(asc_norm_floats, call)->epsilon;
    job->planes = x->dims[0] * x->dims[1];
    job->plane = asc_count(x, 2, x->rank);
    job->per_chunk = asc_chunk_items(call, job->planes / per_group, asc_least(job->plane * per_group, 1 << 30) * 8);
}

static int32_t check_channels(asc_call *call, int n_in) {
    const asc_tensor *x = &call->in[0];
    ASC_REQUIRE(call, call->n_floats == ASC_MEMBERS(asc_norm_floats), "a normalisation takes one float: epsilon");
    ASC_REQUIRE(call, x->rank >= 2 && asc_same_dims(x, &call->out[0]),
                "a normalisation's shapes differ, or have no channels");
    for (int i = 1; i < n_in; i++)
        ASC_REQUIRE(call, call->in[i].rank == 1 && call->in[i].dims[0] == x->dims[1],
                    "a normalisation's parameter is not one for each channel");
    return ASC_OK;
}

int32_t ASC_FN(group_norm_prepare)(asc_call *call) {
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_group_norm_params),
                "group_norm takes one int: the number of groups");
    int32_t code = check_channels(call, 3);
    if (code != ASC_OK) return code;
    int64_t groups = ASC_INTS_AS(asc_group_norm_params, call)->groups, channels = call->in[0].dims[1];
    ASC_REQUIRE(call, channels == 0 || (groups > 0 && channels % groups == 0),
                "group_norm: the channels are no multiple of the groups");
    note(call, channels ? channels / groups : 1);
    return ASC_OK;
}

int32_t ASC_FN(batch_norm_prepare)(asc_call *call) {
    ASC_REQUIRE(call, call->n_ints == 0, "batch_norm takes no ints");
    int32_t code = check_channels(call, 5);
    if (code == ASC_OK) note(call, 1);
    return code;
}

/* y = (x - mean) * factor + bias */
static void affine_plane(const float *x, float *y, int64_t n, float mean, float factor, float bias) {
    vf m = vf_set(mean), f = vf_set(factor), b = vf_set(bias);
    int64_t i = 0;
    for (; i + ASC_VF <= n; i += ASC_VF) vf_store(y + i, vf_fma(vf_load(x + i) - m, f, b));
    if (i < n) vf_store_tail(y + i, vf_fma(vf_load_tail(x + i, n - i, 0.0f) - m, f, b), n - i);
}

static void group_norm_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const channel_job *job = arg;
    const float *scale = call->in[1].data, *bias = call->in[2].data;
    int64_t groups = job->planes / job->per_group, n = job->per_group * job->plane;
    int64_t end = (chunk + 1) * job->per_chunk < groups ? (chunk + 1) * job->per_chunk : groups;
    for (int64_t g = chunk * job->per_chunk; g < end; g++) {
        const float *x = (const float *)call->in[0].data + g * n;
        float *y = (float *)call->out[0].data + g * n;
        float mean = asc_row_sum(x, n) / (float)n;
        float factor = 1.0f / sqrtf(asc_row_deviation(x, n, vf_set(mean)) / (float)n + job->epsilon);
        for (int64_t i = 0; i < job->per_group; i++) {
            int64_t channel = (g * job->per_group + i) % job->channels;
            affine_plane(x + i * job->plane, y + i * job->plane, job->plane, mean, factor * scale[channel],
                         bias[channel]);
        }
    }
}

static void batch_norm_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const channel_job *job = arg;
    const float *scale = call->in[1].data, *bias = call->in[2].data, *mean = call->in[3].data, *var = call->in[4].data;
    int64_t end = (chunk + 1) * job->per_chunk < job->planes ? (chunk + 1) * job->per_chunk : job->planes;
    for (int64_t p = chunk * job->per_chunk; p < end; p++) {
        int64_t channel = p % job->channels;
        float factor = scale[channel] / sqrtf(var[channel] + job->epsilon);
        affine_plane((const float *)call->in[0].data + p * job->plane, (float *)call->out[0].data + p * job->plane,
                     job->plane, mean[channel], factor, bias[channel]);
    }
}

static int32_t run(const asc_call *call, asc_chunk_fn fn) {
    const channel_job *job = call->note;
    if (job->planes) asc_parallel(call, asc_ceil_div(job->planes / job->per_group, job->per_chunk), fn, call->note);
    return ASC_OK;
}

int32_t ASC_FN(group_norm_run)(const asc_call *call) {
    return run(call, group_norm_chunk);
}
int32_t ASC_FN(batch_norm_run)(const asc_call *call) {
    return run(call, batch_norm_chunk);
}
