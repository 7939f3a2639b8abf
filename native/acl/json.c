/* json.c - a reader of JSON that keeps nothing. */
#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 64

static const char *blanks(const char *at) {
    return at + strspn(at, " \t\r\n");
}

/* Behind a string; NULL when it has no end. `at` is its first quote. */
static const char *behind_string(const char *at) {
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && !*++at) return NULL;
    return *at ? at + 1 : NULL;
}

/* Behind a value; NULL when it is none, `*bad` is then where. */
static const char *behind(const char *at, int depth, const char **bad) {
    at = blanks(at);
    *bad = at;
    if (depth > DEEPEST) return NULL;
    if (*at == '"') return behind_string(at);
    if (*at == '{' || *at == '[') {
        char end = *at == '{' ? '}' : ']';
        at = blanks(at + 1);
        while (*at != end) {
            if (end == '}') {
                *bad = at;
                if (*at != '"' || !(at = behind_string(at))) return NULL;
                at = blanks(at);
                *bad = at;
                if (*at++ != ':') return NULL;
            }
            if (!(at = behind(at, depth + 1, bad))) return NULL;
            at = blanks(at);
            *bad = at;
            if (*at == ',')
                at = blanks(at + 1);
            else if (*at != end)
                return NULL;
        }
        return at + 1;
    }
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++)
        if (!strncmp(at, words[i], strlen(words[i]))) return at + strlen(words[i]);
    char *end;
    strtod(at, &end);
    return end == at ? NULL : end;
}

bool asc_json_check(const char *text, size_t *line) {
    const char *bad = text, *end = behind(text, 0, &bad);
    if (end) {
        bad = blanks(end);
        if (!*bad) return true;
    }
    *line = 1;
    for (const char *at = text; at < bad; at++) *line += *at == '\n';
    return false;
}

const char *asc_json_find(const char *text, const char *key, char *value, size_t bytes) {
    const char *bad, *at = blanks(text);
    if (*at != '{') return NULL;
    at = blanks(at + 1);
    while (*at == '"') {
        const char *name = at + 1, *end = behind_string(at);
        if (!end) return NULL;
        bool same = (size_t)(end - 1 - name) == strlen(key) && !strncmp(name, key, strlen(key));
        const char *begin = blanks(end);
        if (*begin != ':') return NULL;
        begin = blanks(begin + 1);
        end = behind(begin, 0, &bad);
        if (!end) return NULL;
        if (same) {
            bool text_value = *begin == '"';
            if (value) snprintf(value, bytes, "%.*s", (int)(end - begin - 2 * text_value), begin + text_value);
            return begin;
        }
        at = blanks(end);
        if (*at == ',') at = blanks(at + 1);
    }
    return NULL;
}

void asc_json_text(const char *value, char *text, size_t bytes) {
    const char *bad, *at = blanks(value), *end = behind(at, 0, &bad);
    size_t used = 0;
    if (end && *at == '"') {
        at++;
        end--;
    }
    for (; end && at < end && used + 1 < bytes; at++) {
        if (*at == '\\' && at + 1 < end && strchr("\"\\/", at[1])) at++;
        text[used++] = *at;
    }
    if (bytes) text[used] = 0;
}

const char *asc_json_element(const char *array, size_t index) {
    const char *bad, *at = blanks(array);
    if (*at != '[') return NULL;
    at = blanks(at + 1);
    for (size_t i = 0; i < index && *at != ']'; i++) {
        at = behind(at, 0, &bad);
        if (!at) return NULL;
        at = blanks(at);
        if (*at == ',') at = blanks(at + 1);
    }
    return *at == ']' ? NULL : at;
}
