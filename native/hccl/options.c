/* options.c - HcclCommConfig. Programs bring it in the size of their header's time: members that it lacks are not
 * set. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "comm.h"
#include "environment.h"

static size_t step_bytes_of(uint32_t mebibytes) {
    /* Two buffers are the buffer; more than a step's most wouldn't be used. */
    size_t half = ((size_t)mebibytes << 20) / 2;
    return half < ASC_MOST_STEP_BYTES ? half : ASC_MOST_STEP_BYTES;
}

#define HAS(config_bytes, member) \
    ((config_bytes) >= offsetof(HcclCommConfig, member) + sizeof(((HcclCommConfig *)0)->member))

static HcclResult read_name(const HcclCommConfig *config, char *name) {
    if (!memchr(config->hcclCommName, 0, sizeof config->hcclCommName))
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "hcclCommName has no end within %d bytes",
                             COMM_NAME_MAX_LENGTH);
    snprintf(name, COMM_NAME_MAX_LENGTH, "%s", config->hcclCommName);
    return HCCL_SUCCESS;
}

HcclResult asc_comm_options_read(const HcclCommConfig *config, asc_comm_options *options) {
    const asc_hccl_environment *environment = asc_hccl_get_environment();
    *options = (asc_comm_options){.step_bytes = step_bytes_of(environment->buffer_mebibytes),
                                  .execute_seconds = environment->execute_seconds};
    if (!config) return HCCL_SUCCESS;
    HcclCommConfigHead head;
    memcpy(&head, config->reserved, sizeof head);
    if (head.mark != HCCL_COMM_CONFIG_MARK || head.bytes < offsetof(HcclCommConfig, hcclCommName))
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "config was not initialized; call HcclCommConfigInit first");
    if (config->hcclBufferSize == 0)
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "hcclBufferSize is 0; it is 1 or more, in MB");
    if (config->hcclBufferSize != HCCL_COMM_CONFIG_NOT_SET) options->step_bytes = step_bytes_of(config->hcclBufferSize);
    if (HAS(head.bytes, hcclExecTimeOut) && config->hcclExecTimeOut >= 0)
        options->execute_seconds = config->hcclExecTimeOut;
    return HAS(head.bytes, hcclCommName) ? read_name(config, options->name) : HCCL_SUCCESS;
}
