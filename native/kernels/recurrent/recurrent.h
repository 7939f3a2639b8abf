/* recurrent.h - what the recurrent kernel reads from its call, and the cells it runs. */
#ifndef ASC_KERNELS_RECURRENT_H
#define ASC_KERNELS_RECURRENT_H

#include "asc_plan.h"
#include "chunks.h"
#include "isa.h"

enum { X, R, RC, BIAS, LENGTHS, H0, C0, PEEPHOLE, R_SUMS, R_SCALE, R_ZERO, INPUTS };

typedef struct cell_activation {
    int64_t code;
    float alpha, beta;
} cell_activation;

#define CELL_FUNCTIONS 3 /* ONNX's f, g and h */

/* One direction of one kind of cell. */
typedef struct cell {
    int64_t kind, hidden;
    cell_activation f[CELL_FUNCTIONS];
    float clip;            /* of what goes into activations; infinite: none */
    int reset_after;       /* GRU: the reset gate multiplies the product, not the state */
    int coupled;           /* LSTM: the forget gate is 1 - the input gate */
    const float *peephole; /* LSTM, for gates i, o, f; NULL: none */
} cell;

/* One row. sums: those of all gates, in ONNX's order. h and c are the state before and after. */
void ASC_FN(cell_rnn)(const cell *k, const float *sums, float *h);
void ASC_FN(cell_lstm)(const cell *k, const float *sums, float *h, float *c);
/* The same, of int8 weights. */
void ASC_FN(cell_lstm_bytes)(const cell *k, const float *sums, float *h, float *c);
/* The gates z and r in place; and r h, unless the reset comes after the product. */
void ASC_FN(cell_gru_gates)(const cell *k, float *sums, const float *h, float *reset);
/* x: the candidate's sum of the input, used when the reset comes after the product. */
void ASC_FN(cell_gru_state)(const cell *k, const float *gates, const float *candidate, const float *x, float *h);

/* A call that was read. */
typedef struct layer {
    const asc_call *call;
    int64_t steps, batch, hidden, directions, gates;
    int64_t columns; /* of R */
    cell cells[2];
    int backwards[2];
    int64_t r_step, rc_step; /* floats (of bytes, bytes) between the directions' weights in panels */
    int narrow;              /* R and Rc are bfloat16, in VNNI2_32 */
    const float *r, *rc;     /* in panels */
    int quantised;           /* R is int8, in VNNI4_32, and these belong to its columns */
    const int8_t *bytes, *r_zero;
    const int32_t *r_sums;
    const float *r_scale, *bias;
    int shared; /* the rows of a step have one scale */
} layer;

typedef struct recurrent_note {
    layer layer;        /* without pointers */
    int64_t rows;       /* of a chunk */
    int shares_columns; /* of each product, among all threads */
    int64_t scratch_bytes, pack_floats;
} recurrent_note;

static inline recurrent_note *recurrent_note_of(const asc_call *call) {
    return call->note;
}

/* Columns of a product that are one chunk, in whole panels. */
static inline int64_t recurrent_share(const asc_call *call, int64_t columns) {
    int64_t shares = recurrent_note_of(call)->shares_columns ? call->threads : 1;
    return asc_ceil_div(asc_ceil_div(columns, ASC_PANEL), shares) * ASC_PANEL;
}

static inline const float *floats_of(const asc_call *call, int operand, int64_t offset) {
    const float *data = asc_has_input(call, operand) ? call->in[operand].data : NULL;
    return data ? data + offset : NULL;
}

/* sums[rows, columns] = state[rows, H] weights + x + bias, with int8 weights; `room` is that of as many rows. */
void ASC_FN(recurrent_bytes_multiply)(const layer *l, int64_t d, const float *state, int64_t rows, const float *x,
                                      int64_t x_row, float *sums, void *room);
/* Bytes of that room; 0 when they are too many. */
int64_t ASC_FN(recurrent_bytes_room)(const layer *l, int64_t rows);

/* Checks all that a run relies on but the lengths, and reads what shapes decide. */
int32_t ASC_FN(recurrent_read)(const asc_call *call, layer *l);
/* What was read, of a call that runs: with its pointers. */
layer ASC_FN(recurrent_at)(const asc_call *call, const layer *found);

#endif
