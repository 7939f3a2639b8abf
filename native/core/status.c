#include "kernel.h"

#include <string.h>

int32_t asc_fail(asc_status *status, int32_t code, const char *text) {
    return asc_failn(status, code, text, 0, NULL);
}

static size_t put_number(char *out, size_t room, int64_t value) {
    char digits[24];
    size_t n = 0, used = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[n++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0) digits[n++] = '-';
    while (n && used < room) out[used++] = digits[--n];
    return used;
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

int asc_contiguous(const asc_tensor *t) {
    int64_t expect = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (t->dims[i] != 1 && t->strides[i] != expect) return 0;
        expect *= t->dims[i];
    }
    return 1;
}

int asc_same_dims(const asc_tensor *a, const asc_tensor *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, sizeof a->dims[0] * (size_t)a->rank) == 0;
}
