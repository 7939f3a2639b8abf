/* text.h - text that grows. */
#ifndef ASC_ACL_TEXT_H
#define ASC_ACL_TEXT_H

#include <stddef.h>

typedef struct asc_text {
    char *bytes;
    size_t used, room;
    int failed; /* no memory: nothing is added any more */
} asc_text;

void asc_text_add(asc_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What it is now, which the caller frees; NULL: there was no memory. */
char *asc_text_take(asc_text *text);

#endif
