/* text.c - text that grows. */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void asc_text_add(asc_text *text, const char *format, ...) {
    va_list arguments;
    for (int pass = 0; pass < 2 && !text->failed; pass++) {
        va_start(arguments, format);
        int n = vsnprintf(text->bytes ? text->bytes + text->used : NULL, text->room - text->used, format, arguments);
        va_end(arguments);
        if (n >= 0 && (size_t)n < text->room - text->used) {
            text->used += (size_t)n;
            return;
        }
        size_t room = (text->used + (size_t)(n > 0 ? n : 0) + 1) * 2;
        char *bytes = realloc(text->bytes, room);
        if (!bytes) text->failed = 1;
        if (bytes) {
            text->bytes = bytes;
            text->room = room;
        }
    }
}

char *asc_text_take(asc_text *text) {
    char *bytes = text->bytes;
    if (text->failed) {
        free(bytes);
        bytes = NULL;
    } else if (!bytes)
        bytes = calloc(1, 1);
    *text = (asc_text){0};
    return bytes;
}
