/* What the printed host code takes for granted. */
#pragma once
#include "acl/acl.h"
#include "tiling_strategy.h"

#define ACL_CHECK(call)                         \
    do {                                        \
        aclError code = (call);                 \
        if (code != ACL_SUCCESS) return code;   \
    } while (0)
