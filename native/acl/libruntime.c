/* libruntime.c - what scripts look up in libruntime.so, below AscendCL: the chip's name, and how many there are. */
#include <string.h>

#include "acl/acl_rt.h"
#include "error.h"
#include "settings.h"

ACL_FUNC_VISIBILITY aclError rtGetSocVersion(char *version, uint32_t maxLen);
ACL_FUNC_VISIBILITY aclError rtGetDeviceCount(int32_t *count);

aclError rtGetSocVersion(char *version, uint32_t maxLen) {
    const char *soc = asc_get_settings()->soc;
    size_t bytes = strlen(soc) + 1;
    if (!version || maxLen < bytes)
        return asc_acl_fail(ACL_ERROR_RT_PARAM_INVALID, "version has room for %u characters; [%s] takes %zu",
                            version ? maxLen : 0, soc, bytes);
    memcpy(version, soc, bytes);
    return ACL_SUCCESS;
}

aclError rtGetDeviceCount(int32_t *count) {
    ASC_NEED(count);
    *count = (int32_t)asc_get_settings()->devices;
    return ACL_SUCCESS;
}
