/* converter.h - ascend-atc in a process beside this one, on files in a folder that is made for it. */
#ifndef ASC_ACL_CONVERTER_H
#define ASC_ACL_CONVERTER_H

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ASC_FOLDER_BYTES 256

/* Makes an empty folder, in $TMPDIR or /tmp. */
ACL_FUNC_VISIBILITY aclError asc_make_folder(char folder[ASC_FOLDER_BYTES]);
/* Removes it with all that is in it. */
ACL_FUNC_VISIBILITY void asc_remove_folder(const char *folder);

/* Runs ascend-atc with these flags, the last of which is followed by NULL; what it says goes to the file `log` of the
 * folder. Fails with the first line that has a code; `what` is what it refuses. Its warnings go to the log of this
 * process. Conversions of several threads wait for one another. */
ACL_FUNC_VISIBILITY aclError asc_convert(const char *folder, const char *const flags[], const char *what);

#ifdef __cplusplus
}
#endif
#endif
