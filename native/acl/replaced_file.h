/* replaced_file.h - a file of the user's that is replaced whole, as by ascend_ep/atomic_file.py: what is at the name is
 * the old content or the new. */
#ifndef ASC_ACL_REPLACED_FILE_H
#define ASC_ACL_REPLACED_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `beside` is empty where the target is written to as it stands: a device, a pipe, what /proc leads to. */
typedef struct asc_replaced {
    FILE *file;
    int place; /* a target that is a mount point, into which the new content is copied; else -1 */
    char target[PATH_MAX], beside[PATH_MAX];
} asc_replaced;

/* Makes a folder and those above it that are not there. False, with errno. */
ACL_FUNC_VISIBILITY bool asc_make_folders(const char *folder);
/* Opens the new content of `path`; a link is followed, and stays. False, with errno. */
ACL_FUNC_VISIBILITY bool asc_replace_begin(asc_replaced *replaced, const char *path);

/* Puts it in its place if it is `whole` and reaches the disk; else the old one stays. False, with errno. */
ACL_FUNC_VISIBILITY bool asc_replace_end(asc_replaced *replaced, bool whole);

#ifdef __cplusplus
}
#endif

#endif
