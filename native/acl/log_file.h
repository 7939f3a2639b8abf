/* log_file.h - lines of a process's log, as CANN writes them. */
#ifndef ASC_ACL_LOG_FILE_H
#define ASC_ACL_LOG_FILE_H

#include <acl/acl_base.h>

/* To standard output with ASCEND_SLOG_PRINT_TO_STDOUT=1, else to the process's file; nothing below
 * ASCEND_GLOBAL_LOG_LEVEL. `place` is "file:line". */
void asc_log_line(aclLogLevel level, const char *module, const char *place, const char *text);

#endif
