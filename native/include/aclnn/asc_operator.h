/* aclnn/asc_operator.h - operators of two phases: what a function aclnn<Name>GetWorkspaceSize keeps, and what
 * aclnn<Name> runs on a stream. Libraries of operators, ours and those of users, are made of rows of this kind.
 *
 * A row names an operator and the kinds of its arguments. Its first function gathers what it was given as asc_given and
 * calls asc_operator_prepare; its second calls asc_operator_launch. Tensors are copied, not held: a program may destroy
 * them between the phases, but not free their memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASCEND_EP_ACLNN_OPERATOR_H
#define ASCEND_EP_ACLNN_OPERATOR_H

#include "../acl/acl_rt.h"
#include "../ascend_rt.h"
#include "acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of arguments: a letter each. '?' behind it: NULL may be given.
 *   T tensor   O tensor that is written   R tensor that is read and written   L, M, Q: lists of these
 *   S scalar   Z list of scalars   I, F, B: arrays of int64_t, float, bool
 *   i int64_t   d double   b bool   t aclDataType   c const char *, and narrower numbers as i and d */

typedef union asc_given {
    const void *handle;
    int64_t i;
    double d;
} asc_given;

typedef struct asc_number {
    int32_t dtype; /* ASC_INT64, ASC_BOOL or, of all floats, ASC_FLOAT64 */
    int64_t i;     /* rounded toward zero */
    double d;
} asc_number;

typedef struct asc_argument {
    char kind;
    int32_t count; /* of tensors, numbers, ints or floats; -1: NULL was given */
    union {
        asc_tensor *tensors; /* data is where the bytes are; an absent one of a list has ASC_UNDEFINED */
        asc_number *numbers;
        int64_t *ints; /* of bools too */
        double *floats;
        char *text;
    };
    int64_t i; /* of a single number, or aclDataType as asc_tensor has it */
    double d;
    const void *handle; /* of a single tensor */
} asc_argument;

typedef struct asc_operator asc_operator;

typedef struct asc_operator_call {
    const asc_operator *row;
    const asc_argument *arguments;
    uint32_t n;
    asc_status *status; /* what `run` says when it fails */
} asc_operator_call;

struct asc_operator {
    const char *name;         /* aclnnAdd */
    const char *kinds;        /* of all arguments, each with a '?' that it may have */
    const char *const *names; /* of the arguments */
    /* Says whether arguments fit before anything runs; NULL: all do. ASC_OK, or a code with its status. */
    int32_t (*check)(const asc_operator_call *call);
    int32_t (*run)(const asc_operator_call *call); /* in the stream's thread */
    const void *own;                               /* the row's own */
};

/* The first phase. `caller` is an address in the program, for reports. */
ACL_FUNC_VISIBILITY aclnnStatus asc_operator_prepare(const asc_operator *row, const asc_given *given,
                                                     uint64_t *workspaceSize, aclOpExecutor **executor,
                                                     const void *caller);
/* The second. The executor lives no more afterwards. */
ACL_FUNC_VISIBILITY aclnnStatus asc_operator_launch(const asc_operator *row, aclOpExecutor *executor,
                                                    aclrtStream stream, const void *caller);

/* For operators whose results decide how large they are: aclGetViewShape gives these dims once the stream was waited
 * for. */
ACL_FUNC_VISIBILITY void asc_operator_resize(const asc_argument *tensor, int32_t rank, const int64_t *dims);

#ifdef __cplusplus
}
#endif
#endif
