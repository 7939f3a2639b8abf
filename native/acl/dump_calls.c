/* dump_calls.c - aclmdl's functions that begin and end dumps. */
#include <stdlib.h>

#include "acl/acl_mdl.h"
#include "config.h"
#include "dump.h"
#include "init.h"

aclError aclmdlInitDump(void) {
    ASC_ENTER();
    aclError code = asc_need_init();
    if (code != ACL_SUCCESS) return code;
    switch (asc_dump_move(ASC_DUMP_OFF, ASC_DUMP_BY_CALLS, NULL)) {
        case ASC_DUMP_OFF: return ACL_SUCCESS;
        case ASC_DUMP_BY_CALLS:
            return asc_acl_fail(ACL_ERROR_DUMP_ALREADY_RUN,
                                "aclmdlInitDump was called before; call aclmdlFinalizeDump");
        default: return asc_acl_fail(ACL_ERROR_DUMP_ALREADY_RUN, "the acl.json of aclInit asked for a dump already");
    }
}

static aclError not_run(void) {
    return asc_acl_fail(ACL_ERROR_DUMP_NOT_RUN, "aclmdlInitDump was not called");
}

aclError aclmdlSetDump(const char *dumpCfgPath) {
    ASC_ENTER();
    ASC_NEED(dumpCfgPath);
    char *text = NULL;
    asc_dump_settings *settings = NULL;
    aclError code = asc_need_init();
    if (code == ACL_SUCCESS) code = asc_config_read(dumpCfgPath, &text);
    if (code == ACL_SUCCESS) code = asc_dump_settings_read(text, dumpCfgPath, &settings);
    free(text);
    if (code != ACL_SUCCESS) return code;
    asc_dump_phase was = asc_dump_move(ASC_DUMP_BY_CALLS, ASC_DUMP_BY_CALLS, settings);
    return was == ASC_DUMP_BY_CALLS ? ACL_SUCCESS : not_run();
}

aclError aclmdlFinalizeDump(void) {
    ASC_ENTER();
    aclError code = asc_need_init();
    if (code != ACL_SUCCESS) return code;
    asc_dump_phase was = asc_dump_move(ASC_DUMP_BY_CALLS, ASC_DUMP_OFF, NULL);
    return was == ASC_DUMP_BY_CALLS ? ACL_SUCCESS : not_run();
}
