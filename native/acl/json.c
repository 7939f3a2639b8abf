/* json.c - a reader of JSON that keeps nothing. */
#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 64

static const char *blanks(const char *at) {
    return at + strspn(at, " \t\r\n");
}

/* The four digits of \uXXXX; -1: they are none. */
static long read_hex(const char *digits) {
    long value = 0;
    for (int i = 0; i < 4; i++) {
        char c = digits[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* Behind a string; NULL when it has no end, or an escape that is none. `at` is its first quote. */
static const char *behind_string(const char *at) {
    for (at++; *at && *at != '"'; at++) {
        if (*at != '\\') continue;
        if (!*++at || !strchr("\"\\/bfnrtu", *at) || (*at == 'u' && read_hex(at + 1) < 0)) return NULL;
    }
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

/* ---- text ------------------------------------------------------------------------------------------------ */

static size_t write_utf8(unsigned long code, char out[4]) {
    static const unsigned char first[] = {0, 0, 0xC0, 0xE0, 0xF0};
    size_t count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = count - 1; i; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(first[count] | code);
    return count;
}

/* The character of \uXXXX, or of two that are one beyond 0xFFFF; `*at` is its u and gets its last digit. What is none
 * becomes U+FFFD. */
static size_t read_code(const char **at, char out[4]) {
    unsigned long code = (unsigned long)read_hex(*at + 1);
    *at += 4;
    if (code >> 10 == 0xD800 >> 10 && (*at)[1] == '\\' && (*at)[2] == 'u') {
        unsigned long low = (unsigned long)read_hex(*at + 3);
        if (low >> 10 == 0xDC00 >> 10) {
            *at += 6;
            return write_utf8(0x10000 + ((code & 0x3FF) << 10 | (low & 0x3FF)), out);
        }
    }
    return write_utf8(!code || code >> 11 == 0xD800 >> 11 ? 0xFFFD : code, out);
}

/* The next character of a string's text, 1 to 4 bytes; of UTF-8 as it is, one byte of it. */
static size_t read_character(const char **at, char out[4]) {
    static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
    size_t count = 1;
    if (**at == '\\') {
        ++*at;
        const char *letter = strchr(letters, **at);
        if (**at == 'u')
            count = read_code(at, out);
        else
            out[0] = letter ? meant[letter - letters] : **at;
    } else
        out[0] = **at;
    ++*at;
    return count;
}

size_t asc_json_text(const char *value, char *text, size_t bytes) {
    const char *bad, *at = blanks(value), *end = behind(at, 0, &bad);
    size_t used = 0, kept = 0;
    bool is_string = end && *at == '"';
    if (is_string) {
        at++;
        end--;
    }
    while (end && at < end) {
        char piece[4] = {*at};
        size_t count = is_string ? read_character(&at, piece) : 1;
        if (!is_string) at++;
        if (kept == used && used + count < bytes) {
            memcpy(text + used, piece, count);
            kept += count;
        }
        used += count;
    }
    if (bytes) text[kept] = 0;
    return used;
}

char *asc_json_copy(const char *value) {
    size_t bytes = asc_json_text(value, NULL, 0) + 1;
    char *text = malloc(bytes);
    if (text) asc_json_text(value, text, bytes);
    return text;
}

bool asc_json_is(const char *value, const char *text, size_t bytes) {
    const char *at = blanks(value), *end = *at == '"' ? behind_string(at) : NULL;
    if (!end) return false;
    for (at++; at < end - 1;) {
        char piece[4];
        size_t count = read_character(&at, piece);
        if (count > bytes || memcmp(text, piece, count) != 0) return false;
        text += count;
        bytes -= count;
    }
    return !bytes;
}

/* ---- parts ----------------------------------------------------------------------------------------------- */

/* Behind a key and its colon: the value; NULL: there is none. */
static const char *value_of(const char *key) {
    const char *bad, *at = behind_string(key);
    if (!at || *(at = blanks(at)) != ':') return NULL;
    at = blanks(at + 1);
    return behind(at, 0, &bad) ? at : NULL;
}

/* The key that follows where a member ends, or begins an object; NULL: none does. */
static const char *key_at(const char *at) {
    at = blanks(at);
    return *at == '"' && value_of(at) ? at : NULL;
}

static const char *first_key(const char *object) {
    const char *at = blanks(object);
    return *at == '{' ? key_at(at + 1) : NULL;
}

static const char *next_key(const char *key) {
    const char *bad, *at = blanks(behind(value_of(key), 0, &bad));
    return *at == ',' ? key_at(at + 1) : NULL;
}

const char *asc_json_key(const char *object, size_t index) {
    const char *key = first_key(object);
    for (; key && index; index--) key = next_key(key);
    return key;
}

const char *asc_json_find(const char *text, const char *key, char *value, size_t bytes) {
    size_t length = strlen(key);
    for (const char *at = first_key(text); at; at = next_key(at))
        if (asc_json_is(at, key, length)) {
            if (value) asc_json_text(value_of(at), value, bytes);
            return value_of(at);
        }
    return NULL;
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
