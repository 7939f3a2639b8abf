/* caches.c - keys and values of tokens into caches of blocks, and from them. */
#include <string.h>

#include "operator.h"

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

static void scatter(asc_run *run, int tokens_at, int cache_at, tensor slots, const char *mode) {
    tensor tokens = asc_in(run, tokens_at), cache = asc_in(run, cache_at);
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
    scatter(run, 0, 1, slots, mode);
    if (asc_given_at(run, 3)) scatter(run, 3, 4, slots, mode);
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
