#include <stdarg.h>
#include <string.h>

#include "kernel.h"

void asc_status_begin(asc_status *status) {
    if (!status) return;
    status->code = ASC_OK;
    status->node = -1;
    status->node_name[0] = status->text[0] = 0;
}

int32_t asc_fail(asc_status *status, int32_t code, const char *text) {
    return asc_failn(status, code, text, 0, NULL);
}

static size_t put_unsigned(char *out, size_t room, uint64_t value) {
    char digits[24];
    size_t n = 0, used = 0;
    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (n && used < room) out[used++] = digits[--n];
    return used;
}

static size_t put_number(char *out, size_t room, int64_t value) {
    if (value >= 0 || !room) return put_unsigned(out, room, (uint64_t)value);
    *out = '-';
    return 1 + put_unsigned(out + 1, room - 1, 0 - (uint64_t)value);
}

int32_t asc_failn(asc_status *status, int32_t code, const char *text, int n, const int64_t *values) {
    if (!status) return code;
    size_t used = 0, room = sizeof status->text - 1;
    int next = 0;
    for (; *text && used < room; text++) {
        if (*text == '%' && next < n)
            used += put_number(status->text + used, room - used, values[next++]);
        else
            status->text[used++] = *text;
    }
    status->text[used] = 0;
    status->code = code;
    return code;
}

/* The longest prefix of text, at most room bytes, that does not cut a UTF-8 character. */
static size_t whole_characters(const char *text, size_t room) {
    size_t n = 0;
    while (n <= room && text[n]) n++;
    if (n <= room) return n;
    n = room;
    while (n && ((unsigned char)text[n] & 0xC0) == 0x80) n--;
    return n;
}

static void format(char *out, size_t size, const char *text, va_list args) {
    size_t used = 0, room = size - 1;
    for (; *text && used < room; text++) {
        if (*text != '%') {
            out[used++] = *text;
            continue;
        }
        int is_long = *++text == 'l';
        if (is_long) text++;
        if (*text == 's') {
            const char *part = va_arg(args, const char *);
            size_t n = whole_characters(part, room - used);
            memcpy(out + used, part, n);
            used += n;
        } else if (*text == 'u') {
            used +=
                put_unsigned(out + used, room - used, is_long ? va_arg(args, unsigned long) : va_arg(args, unsigned));
        } else {
            used += put_number(out + used, room - used, is_long ? va_arg(args, long) : va_arg(args, int));
        }
    }
    out[used] = 0;
}

void asc_format(char *out, size_t room, const char *text, ...) {
    va_list args;
    va_start(args, text);
    format(out, room, text, args);
    va_end(args);
}

int32_t asc_failf(asc_status *status, int32_t code, const char *text, ...) {
    if (!status) return code;
    va_list args;
    va_start(args, text);
    format(status->text, sizeof status->text, text, args);
    va_end(args);
    status->code = code;
    return code;
}

/* A tensor without elements is contiguous, whatever its strides. */
int asc_contiguous(const asc_tensor *t) {
    int64_t expect = 1;
    int dense = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (t->dims[i] == 0) return 1;
        if (t->dims[i] != 1 && t->strides[i] != expect) dense = 0;
        expect *= t->dims[i];
    }
    return dense;
}

int asc_same_dims(const asc_tensor *a, const asc_tensor *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, sizeof a->dims[0] * (size_t)a->rank) == 0;
}
