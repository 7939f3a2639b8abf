/* error.c - codes and texts of failures. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "acl/acl.h"
#include "log_file.h"
#include "report.h"

typedef struct thread_state {
    asc_site site;
    aclError code;
    char text[ASC_TEXT_BYTES];  /* what asc_acl_fail wrote */
    char given[ASC_TEXT_BYTES]; /* what aclGetRecentErrMsg returned last */
} thread_state;
static _Thread_local thread_state state;

void asc_enter(const char *function, const void *caller) {
    state.site = (asc_site){function, caller};
}

asc_site asc_current_site(void) {
    return state.site;
}

/* The letters and number before a text, by whose fault it is. */
static const char *number_of(aclError code) {
    if (code == ACL_ERROR_FEATURE_UNSUPPORTED) return "EH9997";
    if (code / 100000 == 1) return code >= 107000 && code < 108000 ? "EE1001" : "EH0001";
    if (code / 100000 == 2) return "EE1004";
    return "EZ9999";
}

static void fail(const char *number, int code, const char *format, va_list arguments) {
    char what[ASC_TEXT_BYTES - 200];
    vsnprintf(what, sizeof what, format, arguments);
    struct timespec now;
    struct tm day;
    char date[32];
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &day);
    strftime(date, sizeof date, "%Y-%m-%d-%H:%M:%S", &day);
    const char *function = state.site.function ? state.site.function : "AscendCL";
    char written[16]; /* codes of the media functions are written as bits */
    snprintf(written, sizeof written, code < 0 ? "0x%X" : "%d", (unsigned)code);
    snprintf(state.text, sizeof state.text, "%s: [PID: %d] %s.%03ld %s failed with %s: %s.\n", number, (int)getpid(),
             date, now.tv_nsec / 1000000, function, written, what);
    state.code = code;
    char told[ASC_TEXT_BYTES];
    snprintf(told, sizeof told, "%.100s failed with %s: %s", function, written, what);
    asc_log_line(ACL_ERROR, "ASCENDCL", "libascendcl.so", told);
    asc_report_failure(state.site, code, what);
}

aclError asc_acl_fail(aclError code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail(number_of(code), code, format, arguments);
    va_end(arguments);
    return code;
}

int asc_fail_numbered(const char *number, int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail(number, code, format, arguments);
    va_end(arguments);
    return code;
}

aclError asc_acl_fail_with(aclError code, const char *text) {
    snprintf(state.text, sizeof state.text, "%s", text);
    state.code = code;
    return code;
}

aclError asc_last_code(void) {
    return state.code;
}

void asc_forget_code(void) {
    state.code = ACL_SUCCESS;
}

const char *asc_last_text(void) {
    return state.text;
}

const char *aclGetRecentErrMsg(void) {
    if (!state.text[0]) return NULL;
    memcpy(state.given, state.text, sizeof state.given);
    state.text[0] = 0;
    return state.given;
}
