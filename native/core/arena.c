/* Arena planning: buffers are placed in the order they come to life, each in the best of the free
 * blocks, which are kept by size class; neighbours that fall free merge. */
#include "arena.h"

#include <stdlib.h>
#include <string.h>

#define NONE ASC_NO_BUFFER
#define CLASSES 64
#define MAX_TRIES 64 /* blocks looked at in one class: bounds the time of hostile plans */
#define MAX_ARENA ((uint64_t)1 << 62)

typedef struct block {
    uint64_t offset, bytes;
    uint32_t before, after; /* neighbours by address */
    uint32_t up, down;      /* list of its class, when free */
    int free;
} block;

typedef struct arena {
    block *blocks;
    uint32_t n_blocks;
    uint32_t last;  /* by address */
    uint32_t spare; /* unused block records, linked by down */
    uint32_t classes[CLASSES];
    uint64_t occupied; /* bit per class that has blocks */
} arena;

static int class_of(uint64_t bytes) {
    return 63 - __builtin_clzll(bytes);
}

static void list_add(arena *a, uint32_t b) {
    int c = class_of(a->blocks[b].bytes);
    a->blocks[b].free = 1;
    a->blocks[b].up = NONE;
    a->blocks[b].down = a->classes[c];
    if (a->classes[c] != NONE) a->blocks[a->classes[c]].up = b;
    a->classes[c] = b;
    a->occupied |= (uint64_t)1 << c;
}

static void list_remove(arena *a, uint32_t b) {
    block *k = &a->blocks[b];
    int c = class_of(k->bytes);
    k->free = 0;
    if (k->down != NONE) a->blocks[k->down].up = k->up;
    if (k->up != NONE)
        a->blocks[k->up].down = k->down;
    else
        a->classes[c] = k->down;
    if (a->classes[c] == NONE) a->occupied &= ~((uint64_t)1 << c);
}

static uint32_t new_block(arena *a) {
    uint32_t b = a->spare;
    if (b == NONE) return a->n_blocks++;
    a->spare = a->blocks[b].down;
    return b;
}

/* Joins the block behind b to b. Neither is in a list. */
static void absorb(arena *a, uint32_t b) {
    uint32_t gone = a->blocks[b].after;
    a->blocks[b].bytes += a->blocks[gone].bytes;
    a->blocks[b].after = a->blocks[gone].after;
    if (a->blocks[gone].after != NONE)
        a->blocks[a->blocks[gone].after].before = b;
    else
        a->last = b;
    a->blocks[gone].down = a->spare;
    a->spare = gone;
}

static void release(arena *a, uint32_t b) {
    uint32_t after = a->blocks[b].after, before = a->blocks[b].before;
    if (after != NONE && a->blocks[after].free) {
        list_remove(a, after);
        absorb(a, b);
    }
    if (before != NONE && a->blocks[before].free) {
        list_remove(a, before);
        absorb(a, before);
        b = before;
    }
    list_add(a, b);
}

static uint32_t best_of_class(const arena *a, int c, uint64_t bytes) {
    uint32_t best = NONE;
    int tries = MAX_TRIES;
    for (uint32_t b = a->classes[c]; b != NONE && tries-- > 0; b = a->blocks[b].down)
        if (a->blocks[b].bytes >= bytes && (best == NONE || a->blocks[b].bytes < a->blocks[best].bytes)) best = b;
    return best;
}

static uint32_t find_free(const arena *a, uint64_t bytes) {
    int c = class_of(bytes);
    uint32_t best = best_of_class(a, c, bytes);
    uint64_t larger = c < 63 ? a->occupied >> (c + 1) << (c + 1) : 0;
    if (best == NONE && larger) best = best_of_class(a, __builtin_ctzll(larger), bytes);
    return best;
}

/* Makes the arena longer, so that it ends with a block of these bytes. */
static uint32_t extend(arena *a, uint64_t bytes) {
    uint32_t end = a->last;
    if (end != NONE && a->blocks[end].free) {
        list_remove(a, end);
        a->blocks[end].bytes = bytes; /* it was too small */
        return end;
    }
    uint32_t b = new_block(a);
    uint64_t offset = end == NONE ? 0 : a->blocks[end].offset + a->blocks[end].bytes;
    a->blocks[b] = (block){.offset = offset, .bytes = bytes, .before = end, .after = NONE};
    if (end != NONE) a->blocks[end].after = b;
    a->last = b;
    return b;
}

static uint32_t take(arena *a, uint64_t bytes) {
    uint32_t b = find_free(a, bytes);
    if (b == NONE) return extend(a, bytes);
    list_remove(a, b);
    uint64_t rest = a->blocks[b].bytes - bytes;
    if (!rest) return b;
    uint32_t r = new_block(a), after = a->blocks[b].after;
    a->blocks[b].bytes = bytes;
    a->blocks[r] = (block){.offset = a->blocks[b].offset + bytes, .bytes = rest, .before = b, .after = after};
    a->blocks[b].after = r;
    if (after != NONE)
        a->blocks[after].before = r;
    else
        a->last = r;
    list_add(a, r);
    return b;
}

/* Lists of the buffers that die in each step: dying[step], then next[buffer]. */
static void list_deaths(const asc_buffer *buffers, uint32_t n, uint32_t n_steps, uint32_t *dying, uint32_t *next) {
    memset(dying, 0xFF, sizeof *dying * n_steps);
    for (uint32_t i = 0; i < n; i++) {
        next[i] = dying[buffers[i].last];
        dying[buffers[i].last] = i;
    }
}

int asc_arena_plan(asc_buffer *buffers, uint32_t n, uint32_t n_steps, uint64_t *arena_bytes) {
    arena a = {.last = NONE, .spare = NONE};
    uint64_t sum = 0;
    uint32_t *lists = malloc(((uint64_t)n_steps + 2 * (uint64_t)n + 1) * sizeof *lists);
    a.blocks = malloc((2 * (uint64_t)n + 1) * sizeof *a.blocks);
    int ok = lists && a.blocks;
    uint32_t *dying = lists, *next = lists + n_steps, *held = next + n; /* held: per buffer, its block */
    memset(a.classes, 0xFF, sizeof a.classes);
    if (ok) list_deaths(buffers, n, n_steps, dying, next);
    for (uint32_t step = 0, i = 0; ok && step < n_steps; step++) {
        for (; i < n && buffers[i].first == step; i++) {
            uint32_t from = buffers[i].takes;
            ok = !__builtin_add_overflow(sum, buffers[i].bytes, &sum) && sum <= MAX_ARENA;
            if (!ok) break;
            held[i] = from != NONE ? held[from] : take(&a, buffers[i].bytes);
            if (from != NONE) held[from] = NONE;
            buffers[i].offset = a.blocks[held[i]].offset;
        }
        for (uint32_t d = dying[step]; ok && d != NONE; d = next[d])
            if (held[d] != NONE) release(&a, held[d]);
    }
    *arena_bytes = ok && a.last != NONE ? a.blocks[a.last].offset + a.blocks[a.last].bytes : 0;
    free(lists);
    free(a.blocks);
    return ok;
}
