/* query.c - what communicators say of themselves, and settings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm.h"

HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize) {
    ASC_ENTER();
    asc_comm *found = NULL;
    ASC_HCCL_NEED(rankSize);
    HcclResult code = asc_comm_get(comm, &found);
    if (code == HCCL_SUCCESS) *rankSize = found->ranks;
    return code;
}

HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank) {
    ASC_ENTER();
    asc_comm *found = NULL;
    ASC_HCCL_NEED(rank);
    HcclResult code = asc_comm_get(comm, &found);
    if (code == HCCL_SUCCESS) *rank = found->rank;
    return code;
}

HcclResult HcclGetCommName(HcclComm comm, char *commName) {
    ASC_ENTER();
    asc_comm *found = NULL;
    ASC_HCCL_NEED(commName);
    HcclResult code = asc_comm_get(comm, &found);
    if (code == HCCL_SUCCESS) memcpy(commName, found->name, strlen(found->name) + 1);
    return code;
}

HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError) {
    ASC_ENTER();
    asc_comm *found = NULL;
    ASC_HCCL_NEED(asyncError);
    HcclResult code = asc_comm_get(comm, &found);
    if (code == HCCL_SUCCESS) *asyncError = (HcclResult)atomic_load(&found->code);
    return code;
}

const char *HcclGetErrorString(HcclResult code) {
    static const char *const texts[] = {
        [HCCL_SUCCESS] = "no error",
        [HCCL_E_PARA] = "parameter error",
        [HCCL_E_PTR] = "empty pointer",
        [HCCL_E_MEMORY] = "memory error",
        [HCCL_E_INTERNAL] = "internal error",
        [HCCL_E_NOT_SUPPORT] = "not support feature",
        [HCCL_E_NOT_FOUND] = "not found specific resource",
        [HCCL_E_UNAVAIL] = "resource unavailable",
        [HCCL_E_SYSCALL] = "call system interface error",
        [HCCL_E_TIMEOUT] = "timeout",
        [HCCL_E_OPEN_FILE_FAILURE] = "open file fail",
        [HCCL_E_TCP_CONNECT] = "tcp connect fail",
        [HCCL_E_ROCE_CONNECT] = "roce connect fail",
        [HCCL_E_TCP_TRANSFER] = "tcp transfer fail",
        [HCCL_E_ROCE_TRANSFER] = "roce transfer fail",
        [HCCL_E_RUNTIME] = "call runtime api fail",
        [HCCL_E_DRV] = "call driver api fail",
        [HCCL_E_PROFILING] = "call profiling api fail",
        [HCCL_E_CCE] = "call cce api fail",
        [HCCL_E_NETWORK] = "call network api fail",
        [HCCL_E_AGAIN] = "try again",
        [HCCL_E_REMOTE] = "error cqe",
        [HCCL_E_SUSPENDING] = "error communicator suspending",
    };
    return (size_t)code < sizeof texts / sizeof *texts ? texts[code] : "unknown error";
}

/* ---- settings --------------------------------------------------------------------------------------------- */

/* Results are the same every time, whatever this says. */
static atomic_int deterministic = -1; /* -1: as the environment says */

HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue) {
    ASC_ENTER();
    if (config != HCCL_DETERMINISTIC)
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "config is %d, not HCCL_DETERMINISTIC", (int)config);
    if (configValue.value < 0 || configValue.value > 2)
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "configValue is %d; it is 0, 1 or 2", configValue.value);
    atomic_store(&deterministic, configValue.value);
    return HCCL_SUCCESS;
}

HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue) {
    ASC_ENTER();
    ASC_HCCL_NEED(configValue);
    if (config != HCCL_DETERMINISTIC)
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "config is %d, not HCCL_DETERMINISTIC", (int)config);
    const char *said = getenv("HCCL_DETERMINISTIC");
    int set = atomic_load(&deterministic);
    configValue->value = set >= 0 ? set : said && !strcmp(said, "strict") ? 2 : said && !strcmp(said, "true");
    return HCCL_SUCCESS;
}

uint32_t HcclGetCommConfigCapability(void) {
    return HCCL_COMM_CONFIG_RESERVED;
}
