/* environment.h - what the environment says to HCCL, read once. */
#ifndef ASC_HCCL_ENVIRONMENT_H
#define ASC_HCCL_ENVIRONMENT_H

#include <stdint.h>

typedef struct asc_hccl_environment {
    int32_t connect_seconds;   /* HCCL_CONNECT_TIMEOUT; 120 by default */
    int32_t execute_seconds;   /* HCCL_EXEC_TIMEOUT; 1836 by default, 0: no limit */
    uint32_t buffer_mebibytes; /* HCCL_BUFFSIZE; 200 by default */
} asc_hccl_environment;

const asc_hccl_environment *asc_hccl_get_environment(void);

#endif
