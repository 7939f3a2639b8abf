#include <stdlib.h>
#include <string.h>

#include "plugin.h"

void text_add(char *text, size_t size, const char *more) {
    size_t used = strlen(text);
    while (*more && used + 1 < size) text[used++] = *more++;
    text[used] = 0;
}

void text_add_number(char *text, size_t size, int64_t value) {
    char digits[24];
    size_t at = sizeof digits - 1;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    digits[at] = 0;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0) digits[--at] = '-';
    text_add(text, size, digits + at);
}

int text_to_size(const char *text, uint64_t *value) {
    if (!*text) return 0;
    *value = 0;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return 0;
        if (__builtin_mul_overflow(*value, (uint64_t)10, value)) return 0;
        if (__builtin_add_overflow(*value, (uint64_t)(*text - '0'), value)) return 0;
    }
    return 1;
}

int text_to_int(const char *text, int64_t *value) {
    int negative = *text == '-';
    uint64_t size;
    if (!text_to_size(text + negative, &size) || size > INT64_MAX) return 0;
    *value = negative ? -(int64_t)size : (int64_t)size;
    return 1;
}

/* Levenshtein's distance over the first 47 characters. */
uint32_t text_distance(const char *a, const char *b) {
    enum { LONGEST = 47 };
    uint32_t row[LONGEST + 1];
    size_t n = strnlen(b, LONGEST);
    for (size_t j = 0; j <= n; j++) row[j] = (uint32_t)j;
    for (size_t i = 0; i < LONGEST && a[i]; i++) {
        uint32_t diagonal = row[0];
        row[0] = (uint32_t)i + 1;
        for (size_t j = 0; j < n; j++) {
            uint32_t best = diagonal + (a[i] != b[j]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j + 1] + 1 < best) best = row[j + 1] + 1;
            diagonal = row[j + 1];
            row[j + 1] = best;
        }
    }
    return row[n];
}

char *text_copy(const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    if (copy) memcpy(copy, text, bytes);
    return copy;
}
