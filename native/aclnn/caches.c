/* caches.c - keys and values of tokens into caches of blocks, and from them. */
#include <string.h>

#include "quantised.h"

/* How a cache lies: [block, position, ...of a token], or [block, part, position, part's width]. */
static bool in_parts(asc_run *run, const char *mode, tensor cache, tensor tokens) {
    int64_t width = tokens.dims[0] ? asc_elements(tokens) / tokens.dims[0] : 0;
    bool parts = mode && strcmp(mode, "PA_NZ") == 0, rows = mode && strcmp(mode, "Norm") == 0;
    ASC_STOP_UNLESS(run, parts || rows || !mode || !*mode, "cacheMode [%s] is none of Norm, PA_NZ", mode);
    ASC_STOP_UNLESS(run, cache.rank >= 3, "a cache of blocks has 3 axes or more, not %d", cache.rank);
    int64_t positions = cache.dims[0] * cache.dims[1], each = positions ? asc_elements(cache) / positions : 0;
    if (!parts && !rows) parts = each != width; /* what fits */
    int64_t had = parts && cache.rank == 4 ? cache.dims[1] * cache.dims[3] : each;
    ASC_STOP_UNLESS(run, (!parts || cache.rank == 4) && had == width, "a cache for %lld elements of a token, not %lld",
                    (long long)had, (long long)width);
    return parts;
}

/* A view [parts, width of one] of what a cache has of one position. */
static tensor position_of(asc_run *run, tensor cache, bool parts, int64_t block, int64_t position) {
    tensor t = asc_select(cache, 0, block);
    if (parts) return asc_select(t, 1, position);
    t = asc_select(t, 0, position);
    ASC_STOP_UNLESS(run, t.rank > 0 && t.rank <= 2, "a token has 1 or 2 axes, not %d", t.rank);
    return t.rank == 2 ? t : asc_unsqueeze(t, 0);
}

/* A token's row in as many parts as a position has. */
static tensor token_of(asc_run *run, tensor tokens, int64_t i, tensor like) {
    int64_t width = like.dims[0] * like.dims[1];
    tensor t = asc_narrow(asc_reshape(run, tokens, 2, (int64_t[]){tokens.dims[0], width}), 0, i, 1);
    return asc_reshape(run, t, 2, like.dims);
}

static void scatter(asc_run *run, tensor tokens, tensor cache, tensor slots, const char *mode) {
    tokens = asc_cast(run, tokens, tokens.dtype);
    bool parts = in_parts(run, mode, cache, tokens);
    int64_t size = cache.dims[parts ? 2 : 1], n = asc_elements(slots);
    ASC_STOP_UNLESS(run, n <= tokens.dims[0], "%lld slots for %lld tokens", (long long)n, (long long)tokens.dims[0]);
    for (int64_t i = 0; i < n; i++) {
        int64_t slot = ((const int64_t *)slots.data)[i];
        if (slot < 0) continue; /* not kept */
        ASC_STOP_UNLESS(run, slot / size < cache.dims[0], "slot %lld of %lld", (long long)slot,
                        (long long)(cache.dims[0] * size));
        tensor to = position_of(run, cache, parts, slot / size, slot % size);
        asc_store(run, to, token_of(run, tokens, i, to));
    }
}

/* key, its cache, slots, value, its cache, three of compression, cacheMode, scatterMode, strides, offsets. */
void asc_op_scatter_to_cache(asc_run *run) {
    const char *mode = asc_arg(run, 8)->text, *how = asc_arg(run, 9)->text;
    for (int i = 5; i <= 7; i++)
        ASC_STOP_UNLESS(run, !asc_given_at(run, i), "a cache with %s isn't there", asc_run_row(run)->names[i]);
    ASC_STOP_UNLESS(run, !how || !*how || strcmp(how, "None") == 0, "scatterMode [%s] isn't None", how);
    tensor slots = asc_of(run, 2, ASC_INT64);
    scatter(run, asc_in(run, 0), asc_in(run, 1), slots, mode);
    if (asc_given_at(run, 3)) scatter(run, asc_in(run, 3), asc_in(run, 4), slots, mode);
}

/* A list of the sequences' lengths, or with `ends` of where each begins and the last ends. */
static int64_t length_of(const int64_t *lengths, int64_t b, bool ends) {
    return ends ? lengths[b + 1] - lengths[b] : lengths[b];
}

static void gather(asc_run *run, int cache_at, int to_at) {
    tensor cache = asc_in(run, cache_at), to = asc_in(run, to_at), made = asc_like(run, to, to.dtype);
    tensor table = asc_of(run, 2, ASC_INT64), lengths = asc_of(run, 3, ASC_INT64), starts = {0};
    bool parts = in_parts(run, asc_arg(run, 7)->text, cache, to), ends = asc_int(run, 8);
    int64_t size = cache.dims[parts ? 2 : 1], n = asc_elements(lengths) - ends, at = 0;
    if (asc_given_at(run, 6)) starts = asc_of(run, 6, ASC_INT64);
    ASC_STOP_UNLESS(run, table.rank == 2 && table.dims[0] >= n && (!starts.data || asc_elements(starts) >= n),
                    "not every one of %lld sequences has blocks and a start", (long long)n);
    asc_fill(run, made, 0);
    for (int64_t b = 0; b < n; b++) {
        int64_t first = starts.data ? ((const int64_t *)starts.data)[b] / size : 0;
        for (int64_t j = 0; j < length_of(lengths.data, b, ends) && at < to.dims[0]; j++, at++) {
            int64_t k = first + j / size;
            int64_t block = k < table.dims[1] ? ((const int64_t *)table.data)[b * table.dims[1] + k] : -1;
            if (block < 0 || block >= cache.dims[0]) continue; /* nothing is there: zeros */
            tensor from = position_of(run, cache, parts, block, j % size);
            asc_store(run, token_of(run, made, at, from), from);
        }
    }
    asc_put(run, to_at, made);
}

/* key cache, value cache, block table, lengths, key, value, where sequences begin, cacheMode, whether lengths are ends.
 */
void asc_op_gather_from_cache(asc_run *run) {
    gather(run, 0, 4);
    gather(run, 1, 5);
}

/* ---- latent attention ---------------------------------------------------------------------------------------- */

/* Rows [sequences, 1, positions, width] by a scale and an offset, if they are given, to a cache: at slots of its
 * blocks, or with "Norm" at positions of its sequences. */
static void to_latent_cache(asc_run *run, tensor rows, int cache_at, int scale, const char *mode) {
    tensor cache = asc_in(run, cache_at), index = asc_of(run, 4, ASC_INT64);
    int64_t batches = rows.dims[0], positions = rows.dims[2], width = rows.dims[3], n = batches * positions;
    ASC_STOP_UNLESS(run, asc_elements(index) == n, "%lld indices for %lld tokens", (long long)asc_elements(index),
                    (long long)n);
    if (asc_has_at(run, scale)) {
        rows = ASC_COMPUTE(run, ASC_FLOAT32, "a * b", rows, asc_in(run, scale));
        if (asc_has_at(run, scale + 2)) rows = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", rows, asc_in(run, scale + 2));
        rows = asc_quantised(run, rows, 127);
    }
    rows = asc_reshape(run, rows, 3, (int64_t[]){n, 1, width});
    if (strcmp(mode, "Norm") != 0) {
        ASC_STOP_UNLESS(run, strcmp(mode, "PA") == 0 || strcmp(mode, "PA_BNSD") == 0,
                        "cacheMode [%s] is none of Norm, PA, PA_BNSD", mode);
        scatter(run, rows, cache, index, "Norm");
        return;
    }
    ASC_STOP_UNLESS(run, cache.rank == 4 && cache.dims[0] == batches && cache.dims[1] == 1 && cache.dims[3] == width,
                    "a cache of %lld sequences of %lld columns", (long long)cache.dims[0],
                    (long long)cache.dims[cache.rank - 1]);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = ((const int64_t *)index.data)[i];
        ASC_STOP_UNLESS(run, at < cache.dims[2], "position %lld of %lld", (long long)at, (long long)cache.dims[2]);
        if (at < 0) continue;
        asc_store(run, asc_narrow(asc_select(cache, 0, i / positions), 1, at, 1), asc_narrow(rows, 0, i, 1));
    }
}

/* Pairs of the last axis as halves, which turn by positions. */
static tensor rotated(asc_run *run, tensor x, tensor cos, tensor sin) {
    int last = x.rank - 1;
    int64_t half = x.dims[last] / 2;
    tensor even = asc_narrow(x, last, 0, half), odd = asc_narrow(x, last, 1, half),
           made = asc_like(run, x, ASC_FLOAT32);
    even.strides[last] *= 2;
    odd.strides[last] *= 2;
    for (int k = 0; k < 2; k++)
        asc_store(run, asc_narrow(made, last, k * half, half),
                  ASC_COMPUTE(run, ASC_FLOAT32, k ? "b * c + a * d" : "a * c - b * d", even, odd,
                              asc_narrow(cos, last, k * half, half), asc_narrow(sin, last, k * half, half)));
    return made;
}

/* kv, gamma, cos, sin, indices, cache of what rotates, of the latent part, their scales, their offsets, eps, cacheMode,
 * whether they go out too, what rotates, the latent part. */
void asc_op_latent_to_cache(asc_run *run) {
    tensor kv = asc_f32(run, 0), gamma = asc_in(run, 1), cos = asc_in(run, 2), rstd;
    int64_t wide = asc_elements(gamma), turns = cos.dims[cos.rank - 1];
    ASC_STOP_UNLESS(run, kv.rank == 4 && kv.dims[1] == 1 && kv.dims[3] == wide + turns && turns % 2 == 0,
                    "rows of %lld are not %lld latent columns and %lld that rotate", (long long)kv.dims[kv.rank - 1],
                    (long long)wide, (long long)turns);
    const char *mode = asc_arg(run, 12)->text;
    tensor latent = asc_copy(run, asc_narrow(kv, 3, 0, wide), ASC_FLOAT32), dims = latent;
    latent = asc_reshape(run, asc_rms_norm_of(run, latent, gamma, asc_float(run, 11), &rstd), 4, dims.dims);
    tensor rope = rotated(run, asc_narrow(kv, 3, wide, turns), cos, asc_in(run, 3));
    to_latent_cache(run, rope, 5, 7, mode ? mode : "Norm");
    to_latent_cache(run, latent, 6, 8, mode ? mode : "Norm");
    if (!asc_int(run, 13)) return;
    asc_put(run, 14, rope);
    asc_put(run, 15, latent);
}
