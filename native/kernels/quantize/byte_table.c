/* byte_table: each byte of an image by what a table of 256 has in its place.
 *
 * in:   X, uint8 or int8; tables [256], or [n, 256] for each index of an axis of X: the result for each byte of
 *       memory, -1 of int8 being the last
 * out:  Y of X's dims, of the tables' type
 * ints: asc_byte_table_params
 */
#include <string.h>

#include "asc_plan.h"
#include "chunks.h"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

enum { X, TABLES, TABLE = 256, LEAST_RUN = 16, BLOCK = 4096 };

typedef struct byte_table_note {
    int64_t tables; /* how many */
    int64_t inner;  /* neighbouring bytes of the same table */
    int64_t item;   /* bytes: a run of neighbours, or one for every table when runs are short */
    int64_t items, per_chunk;
    int64_t wide; /* whether the CPU looks up 64 bytes at a time */
} byte_table_note;
ASC_KERNEL_NOTE(byte_table, byte_table_note)

static byte_table_note *note_of(const asc_call *call) {
    return call->note;
}

static int64_t looks_up_vectors(void) {
#if defined(__AVX512F__)
    return __builtin_cpu_supports("avx512vbmi") != 0;
#else
    return 0;
#endif
}

int32_t ASC_FN(byte_table_prepare)(asc_call *call) {
    const asc_tensor *x = &call->in[X], *t = &call->in[TABLES];
    byte_table_note *note = call->note;
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_byte_table_params), "byte_table takes its axis");
    ASC_REQUIRE(call, asc_same_dims(x, &call->out[0]), "byte_table: input and output differ in shape");
    int64_t axis = ASC_INTS_AS(asc_byte_table_params, call)->axis, bytes = asc_numel(x);
    ASC_REQUIRE(call, t->rank >= 1 && t->rank <= 2 && t->dims[t->rank - 1] == TABLE,
                "byte_table: tables have 256 bytes");
    if (t->rank == 2) {
        ASC_REQUIRE(call, axis >= 0 && axis < x->rank, "byte_table: no such axis");
        ASC_REQUIRE(call, t->dims[0] == x->dims[axis], "byte_table: there is no table for each index of the axis");
    }
    *note = (byte_table_note){.tables = 1, .item = BLOCK, .wide = looks_up_vectors()};
    if (t->rank == 2) {
        note->tables = t->dims[0];
        note->inner = asc_count(x, (int)axis + 1, x->rank);
        note->item = note->inner < LEAST_RUN ? note->inner * note->tables : note->inner;
    }
    note->items = bytes == 0 ? 0 : asc_ceil_div(bytes, note->item);
    note->per_chunk = asc_chunk_items(call, note->items, note->item);
    return ASC_OK;
}

#if defined(__AVX512F__)
/* Two lookups in 128 bytes each, of which the top bit of the index chooses. */
__attribute__((target("avx512vbmi"))) static void look_up_vectors(const uint8_t *table, const uint8_t *x, uint8_t *y,
                                                                  int64_t n) {
    __m512i t[4];
    for (int i = 0; i < 4; i++) t[i] = _mm512_loadu_si512(table + 64 * i);
    for (int64_t i = 0; i < n; i += 64) {
        __mmask64 seen = n - i < 64 ? ((__mmask64)1 << (n - i)) - 1 : ~(__mmask64)0;
        __m512i at = _mm512_maskz_loadu_epi8(seen, x + i);
        __m512i low = _mm512_permutex2var_epi8(t[0], at, t[1]), high = _mm512_permutex2var_epi8(t[2], at, t[3]);
        _mm512_mask_storeu_epi8(y + i, seen, _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high));
    }
}
#endif

static void look_up(const byte_table_note *note, const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n) {
#if defined(__AVX512F__)
    if (note->wide) {
        look_up_vectors(table, x, y, n);
        return;
    }
#endif
    (void)note;
    for (int64_t i = 0; i < n; i++) y[i] = table[x[i]];
}

/* Short runs: table after table, over and over. */
static void look_up_runs(const byte_table_note *note, const uint8_t *tables, const uint8_t *x, uint8_t *y) {
    if (note->inner == 1) {
        for (int64_t i = 0; i < note->tables; i++) y[i] = tables[i * TABLE + x[i]];
        return;
    }
    for (int64_t i = 0; i < note->tables; i++, tables += TABLE, x += note->inner, y += note->inner)
        for (int64_t k = 0; k < note->inner; k++) y[k] = tables[x[k]];
}

/* Whether an item is a short run for each table. */
static int goes_by_runs(const byte_table_note *note) {
    return note->item != note->inner && note->inner;
}

static void run_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const byte_table_note *note = note_of(call);
    const uint8_t *tables = call->in[TABLES].data;
    int64_t bytes = asc_numel(&call->in[X]), end = asc_least((chunk + 1) * note->per_chunk, note->items);
    (void)worker, (void)arg;
    for (int64_t item = chunk * note->per_chunk; item < end; item++) {
        int64_t at = item * note->item;
        const uint8_t *x = (const uint8_t *)call->in[X].data + at;
        uint8_t *y = (uint8_t *)call->out[0].data + at;
        if (goes_by_runs(note))
            look_up_runs(note, tables, x, y);
        else
            look_up(note, tables + item % note->tables * TABLE, x, y, asc_least(note->item, bytes - at));
    }
}

int32_t ASC_FN(byte_table_run)(const asc_call *call) {
    const byte_table_note *note = note_of(call);
    if (note->items) asc_parallel(call, asc_ceil_div(note->items, note->per_chunk), run_chunk, NULL);
    return ASC_OK;
}

void ASC_FN(byte_table_schedule)(const asc_call *call, char *text, size_t room) {
    const byte_table_note *note = note_of(call);
    if (!note->items)
        asc_format(text, room, ASC_NO_SCHEDULE);
    else
        asc_say_chunks(call,
                       goes_by_runs(note) ? "short_runs"
                       : note->wide       ? "vectors"
                                          : "bytes",
                       asc_ceil_div(note->items, note->per_chunk), text, room);
}
