/* rows.h - what kernel rows take, and finding them by name in constant time. */
#ifndef ASC_CORE_ROWS_H
#define ASC_CORE_ROWS_H

#include "kernel.h"

#define ASC_MAX_OPERANDS 256 /* of one instruction, inputs and outputs together */
#define ASC_ROW_BUCKETS 1024

/* Whether a row is of this operator and takes these types, inputs then outputs. */
int asc_row_takes(const asc_kernel *row, const char *op, const int32_t *types, uint32_t n_in, uint32_t n_out);
/* Writes the types in the notation of asc_kernel.types, "-" for an absent operand: n_in + n_out + 2 bytes. */
void asc_signature(const int32_t *types, uint32_t n_in, uint32_t n_out, char *letters);

typedef struct asc_row_index {
    const asc_kernel *rows;
    uint32_t *next; /* per row: the next one of its bucket, count = none */
    uint32_t count;
    uint32_t first[ASC_ROW_BUCKETS];
} asc_row_index;

int asc_row_index_make(asc_row_index *index, int32_t isa); /* 0 without memory */
void asc_row_index_free(asc_row_index *index);
/* The first row of the table that takes this operator with these types, or NULL. */
const asc_kernel *asc_row_index_find(const asc_row_index *index, const char *op, const int32_t *types, uint32_t n_in,
                                     uint32_t n_out);

#endif
