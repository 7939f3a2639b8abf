/* failure.h - how a function of HCCL fails: a code, and the text that aclGetRecentErrMsg gives. The numbers that begin
 * texts are those of HCCL's documented errors. */
#ifndef ASC_HCCL_FAILURE_H
#define ASC_HCCL_FAILURE_H

#include "error.h"
#include "hccl/hccl_types.h"

#define ASC_EI_ENVIRONMENT "EI0001"
#define ASC_EI_EXECUTION_TIMEOUT "EI0002"
#define ASC_EI_ARGUMENT "EI0003"
#define ASC_EI_RANK_TABLE "EI0004"
#define ASC_EI_DIFFERENT "EI0005" /* ranks called different operations */
#define ASC_EI_CONNECTION_TIMEOUT "EI0006"
#define ASC_EI_RESOURCE "EI0007"
#define ASC_EI_OTHER "EI9999"

#define asc_hccl_fail(number, code, ...) ((HcclResult)asc_fail_numbered(number, code, __VA_ARGS__))

/* Fails where a pointer that must be given is NULL. */
#define ASC_HCCL_NEED(pointer)                                                                              \
    do {                                                                                                    \
        if (!(pointer)) return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PTR, "%s must not be NULL", #pointer); \
    } while (0)

#endif
