/* report.h - checking mode (ASCEND_EP_ACL_CHECK=1): misuse is said on stderr, with the place of the call. */
#ifndef ASC_ACL_REPORT_H
#define ASC_ACL_REPORT_H

#include <stddef.h>

#include "error.h"

/* "file.cpp:12" where debug information and addr2line are at hand, else "program+0x1234". */
void asc_describe_site(const void *caller, char *text, size_t bytes);

/* In checking mode, one line; else nothing. */
void asc_report_failure(asc_site site, aclError code, const char *what);
void asc_report(asc_site site, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Lines reported so far. */
unsigned asc_report_count(void);

#endif
