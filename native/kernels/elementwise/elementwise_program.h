/* elementwise_program.h - a tile program decoded: checked, resolved to functions and access patterns. */
#ifndef ASC_KERNELS_ELEMENTWISE_PROGRAM_H
#define ASC_KERNELS_ELEMENTWISE_PROGRAM_H

#include "elementwise.h"

/* How an input is walked in the row-major order of the output. */
typedef enum { EW_FLAT, EW_UNIFORM, EW_WALK } ew_pattern;

typedef struct ew_source {
    const char *data;
    ew_convert load; /* NULL: the bytes are the register */
    int32_t size;    /* bytes of an element */
    int32_t pattern;
    int32_t rank;   /* EW_WALK: axes after merging */
    int32_t shared; /* its memory is an output's, and some store reads it: copy before anything is stored */
    int64_t dims[ASC_MAX_RANK];
    int64_t strides[ASC_MAX_RANK]; /* elements */
} ew_source;

typedef struct ew_target {
    char *data;
    ew_convert store; /* NULL: the bytes are the register */
    int32_t size;
} ew_target;

/* Operations of steps that no program holds: elementwise_fold.c makes them. */
enum { EW_FOLDED = -1, EW_NOTHING = -2 };

typedef struct ew_step {
    ew_fn fn;           /* of a primitive, or of the steps that are folded into this one */
    ew_convert convert; /* of a CAST */
    ew_convert narrow;  /* of a CAST, after convert */
    int64_t a;          /* CONST: the value's bits */
    int16_t op, dst, b, c;
    int16_t direct; /* the output this step writes instead of its register, or -1 */
    int16_t bytes;  /* of an element of dst */
    int16_t once;   /* runs once per chunk: a constant, a uniform input, or a row that each tile repeats alike */
} ew_step;

typedef struct ew_program {
    int64_t numel;
    int32_t n_registers, n_steps;
    int32_t first_store;
    int32_t tile;    /* elements; a multiple of EW_LANES */
    int32_t repeats; /* whether rows that are repeated begin anew with every tile */
    int64_t chunk;   /* elements; a multiple of tile */
    int64_t chunks;
    int64_t worker_bytes;
    ew_source in[ASC_EW_MAX_INPUTS];
    ew_target out[ASC_EW_MAX_OUTPUTS];
    ew_step steps[ASC_EW_MAX_STEPS];
} ew_program;

/* Fills *program from the call's operands, ints and floats; checks everything. */
int32_t ASC_FN(asc_ew_decode)(const asc_call *call, ew_program *program);

/* Folds runs of steps into one each. No step of another one may read or write their operands' memory between. */
void ASC_FN(asc_ew_fold)(ew_program *program);

#endif
