/* settings.h - what the environment says, read once. */
#ifndef ASC_ACL_SETTINGS_H
#define ASC_ACL_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#define ASC_MAX_DEVICES 64

typedef struct asc_settings {
    bool check;       /* ASCEND_EP_ACL_CHECK=1: memory of devices is out of the host's reach, misuse is said */
    uint32_t devices; /* ASCEND_EP_DEVICES, 1 to ASC_MAX_DEVICES; 1 by default */
    uint64_t memory;  /* bytes of one device: ASCEND_EP_DEVICE_MEMORY (MiB), or its share of this machine's */
    char soc[64];     /* ASCEND_EP_SOC; Ascend910B3 by default */
    int log_level;    /* ASCEND_GLOBAL_LOG_LEVEL, 0 debug to 4 none; 3 (errors) by default */
    bool log_stdout;  /* ASCEND_SLOG_PRINT_TO_STDOUT=1 */
} asc_settings;

const asc_settings *asc_get_settings(void);

#endif
