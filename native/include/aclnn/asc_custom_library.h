/* aclnn/asc_custom_library.h - a user's operator as a row of asc_operator.h: the functions aclnn<Op>GetWorkspaceSize
 * and aclnn<Op> that are generated of its definition.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASCEND_EP_ACLNN_CUSTOM_LIBRARY_H
#define ASCEND_EP_ACLNN_CUSTOM_LIBRARY_H

#include "asc_operator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The row's own: an operator, and the bytes of the library that exports asc_get_custom_op. A row's arguments are its
 * inputs, attributes and outputs, in this order; an output that is an input's memory is that input's argument. An array
 * among the inputs is a tensor of one axis. */
typedef struct asc_custom_library {
    const char *type;
    uint32_t n_in, n_attrs, n_out;
    const uint32_t *outputs; /* the place of each among the arguments */
    const unsigned char *begin, *end;
    const asc_custom_op *opened; /* begins as NULL */
} asc_custom_library;

/* The row's `check`: opens the library at the first call, and runs the host's tiling. */
ACL_FUNC_VISIBILITY int32_t asc_custom_library_check(const asc_operator_call *call);
/* The row's `run`. */
ACL_FUNC_VISIBILITY int32_t asc_custom_library_run(const asc_operator_call *call);

/* Arguments that aren't handles. */
static inline asc_given asc_given_handle(const void *handle) {
    asc_given given;
    given.handle = handle;
    return given;
}
static inline asc_given asc_given_int(int64_t value) {
    asc_given given;
    given.i = value;
    return given;
}
static inline asc_given asc_given_double(double value) {
    asc_given given;
    given.d = value;
    return given;
}

#ifdef __cplusplus
}
#endif
#endif
