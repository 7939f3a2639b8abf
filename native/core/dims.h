/* dims.h - dimension expressions at one set of symbol values. */
#ifndef ASC_CORE_DIMS_H
#define ASC_CORE_DIMS_H

#include "plan.h"

/* Why a node has no value. An expression over such a node has none either. */
#define ASC_DIM_KNOWN 0
#define ASC_DIM_UNBOUND 1 /* a symbol that no input binds */
#define ASC_DIM_OVERFLOW 2
#define ASC_DIM_BY_ZERO 3

typedef struct asc_dims {
    int64_t *symbols; /* per symbol */
    uint8_t *symbol_known;
    int64_t *nodes;  /* per dim node */
    uint8_t *states; /* ASC_DIM_KNOWN, ... */
} asc_dims;

/* Room for the symbols (all unbound) and nodes of a plan. */
int32_t asc_dims_make(asc_dims *dims, const asc_plan *plan, asc_status *status);
void asc_dims_free(asc_dims *dims);
/* Evaluates every node once, in order. */
void asc_dims_evaluate(asc_dims *dims, const asc_plan *plan);
/* Fails with ASC_E_SHAPE, naming what the node is for, unless it has a value. */
int32_t asc_dims_take(const asc_dims *dims, uint32_t node, const char *what, const char *name, int64_t *out,
                      asc_status *status);
/* Fails with ASC_E_SHAPE, naming the sizes and some profiles, when the plan has profiles and the known symbols have
 * the sizes of none. */
int32_t asc_check_profiles(const asc_dims *dims, const asc_plan *plan, asc_status *status);
/* Fails with ASC_E_SHAPE, saying which axes and sizes they are, unless the evaluated dims keep every constraint of the
 * plan whose symbols are known. */
int32_t asc_check_constraints(const asc_dims *dims, const asc_plan *plan, asc_status *status);

#endif
