/* error.h - how a function of AscendCL fails: a code, and this thread's text of what and why. What is visible is for
 * libascend_ge.so. */
#ifndef ASC_ACL_ERROR_H
#define ASC_ACL_ERROR_H

#include "acl/acl_base.h"

/* A call of a function of AscendCL: its name, and an address in the code that called it. */
typedef struct asc_site {
    const char *function;
    const void *caller;
} asc_site;

/* First in every function of the interface: what this thread is in, for texts and reports. */
#define ASC_ENTER() asc_enter(__func__, __builtin_return_address(0))
ACL_FUNC_VISIBILITY void asc_enter(const char *function, const void *caller);
asc_site asc_current_site(void);

/* Keeps the text for aclGetRecentErrMsg, says it in checking mode, and returns the code. The text is one sentence:
 * what is wrong, why, and what to do, without the function's name. */
ACL_FUNC_VISIBILITY aclError asc_acl_fail(aclError code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As asc_acl_fail, for codes of another interface: the number that begins the text is given ("EI0003"). */
int asc_fail_numbered(const char *number, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* As asc_acl_fail for what another thread found: the text as aclGetRecentErrMsg is to give it. */
aclError asc_acl_fail_with(aclError code, const char *text);

/* The text of the last failure, still there for aclGetRecentErrMsg; "" when there is none. */
ACL_FUNC_VISIBILITY const char *asc_last_text(void);

/* The code of this thread's last failure since asc_forget_code; ACL_SUCCESS when there is none. */
aclError asc_last_code(void);
void asc_forget_code(void);

#define ASC_TEXT_BYTES 1024

/* Fails with ACL_ERROR_INVALID_PARAM where a pointer that must be given is NULL. */
#define ASC_NEED(pointer)                                                                              \
    do {                                                                                               \
        if (!(pointer)) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "%s must not be NULL", #pointer); \
    } while (0)

#endif
