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

/* How many bytes a character of UTF-8 has; 0: it is none. What encodes half of a pair, or more bytes than need be, is
 * none. */
static size_t utf8_bytes(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    size_t bytes = at[0] < 0x80 ? 1 : at[0] >> 5 == 6 ? 2 : at[0] >> 4 == 14 ? 3 : at[0] >> 3 == 30 ? 4 : 0;
    unsigned long code = bytes > 1 ? at[0] & (0xFFu >> (bytes + 1)) : at[0];
    for (size_t i = 1; i < bytes; i++) {
        if (at[i] >> 6 != 2) return 0;
        code = code << 6 | (at[i] & 0x3F);
    }
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    return code < least[bytes] || code > 0x10FFFF || code >> 11 == 0xD800 >> 11 ? 0 : bytes;
}

/* Behind the escape that begins at a backslash; NULL, with why, when it is none. */
static const char *behind_escape(const char *at, const char **why) {
    long code = at[1] == 'u' ? read_hex(at + 2) : 0;
    *why = "an escape that is none";
    if (!at[1] || !strchr("\"\\/bfnrtu", at[1]) || code < 0) return NULL;
    if (at[1] != 'u') return at + 2;
    if (code >> 11 != 0xD800 >> 11) return at + 6;
    *why = "half of a pair of escapes";
    if (code >> 10 != 0xD800 >> 10 || at[6] != '\\' || at[7] != 'u' || read_hex(at + 8) >> 10 != 0xDC00 >> 10)
        return NULL;
    return at + 12;
}

/* Where reading stopped, and why. */
typedef struct {
    const char *at, *why;
} stop;

static const char *stopped(stop *bad, const char *at, const char *why) {
    *bad = (stop){at, why};
    return NULL;
}

/* Behind a string; NULL when it has no end, or what no string has. `at` is its first quote. */
static const char *behind_string(const char *at, stop *bad) {
    const char *first = at, *why;
    for (at++; *at != '"';) {
        if (!*at) return stopped(bad, first, "a string without an end");
        if ((unsigned char)*at < 0x20) return stopped(bad, at, "a control character in a string");
        size_t bytes = utf8_bytes(at);
        if (!bytes) return stopped(bad, at, "bytes that are no UTF-8");
        const char *next = *at == '\\' ? behind_escape(at, &why) : at + bytes;
        if (!next) return stopped(bad, at, why);
        at = next;
    }
    return at + 1;
}

static const char *behind_digits(const char *at) {
    return at + strspn(at, "0123456789");
}

/* Behind a number or a word; NULL when it is none. */
static const char *behind_scalar(const char *at, stop *bad) {
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++)
        if (!strncmp(at, words[i], strlen(words[i]))) return at + strlen(words[i]);
    const char *digits = at + (*at == '-'), *end = *digits == '0' ? digits + 1 : behind_digits(digits);
    if (end == digits) return stopped(bad, at, "no value");
    if (*end == '.') {
        const char *fraction = end + 1;
        if ((end = behind_digits(fraction)) == fraction) return stopped(bad, at, "a number that ends with its point");
    }
    if ((*end | 32) == 'e') {
        const char *power = end + 1 + (end[1] == '-' || end[1] == '+');
        if ((end = behind_digits(power)) == power) return stopped(bad, at, "a number without its exponent");
    }
    double value = strtod(at, NULL);
    return value - value == 0 ? end : stopped(bad, at, "a number beyond what a double holds");
}

static const char *behind(const char *at, int depth, stop *bad);

/* Behind an object or an array; NULL when it is none. */
static const char *behind_parts(const char *at, int depth, stop *bad) {
    bool named = *at == '{', more = false;
    char end = named ? '}' : ']';
    for (at = blanks(at + 1); more || *at != end;) {
        if (more && *at == end) return stopped(bad, at, "nothing follows the last comma");
        if (named) {
            if (*at != '"') return stopped(bad, at, "no key in quotes");
            if (!(at = behind_string(at, bad))) return NULL;
            if (*(at = blanks(at)) != ':') return stopped(bad, at, "no colon behind a key");
            at++;
        }
        if (!(at = behind(at, depth + 1, bad))) return NULL;
        at = blanks(at);
        more = *at == ',';
        if (!more && *at != end) return stopped(bad, at, named ? "neither , nor }" : "neither , nor ]");
        if (more) at = blanks(at + 1);
    }
    return at + 1;
}

/* Behind a value; NULL when it is none, `bad` then says where and why. */
static const char *behind(const char *at, int depth, stop *bad) {
    at = blanks(at);
    if (*at == '"') return behind_string(at, bad);
    if (*at != '{' && *at != '[') return behind_scalar(at, bad);
    return depth > DEEPEST ? stopped(bad, at, "values are nested too deeply") : behind_parts(at, depth, bad);
}

bool asc_json_check(const char *text, size_t bytes, size_t *line, const char **why) {
    stop bad;
    const char *end = behind(text, 0, &bad);
    if (end) bad = (stop){blanks(end), "something behind the value"};
    if (end && bad.at == text + bytes) return true;
    if (!*bad.at && bad.at < text + bytes) bad.why = "a byte of zero";
    *why = bad.why;
    *line = 1;
    for (const char *at = text; at < bad.at; at++) *line += *at == '\n';
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

/* The character of \uXXXX, or of two that are one beyond 0xFFFF; `*at` is its u and gets its last digit. Zero, which
 * C's text can't have, becomes U+FFFD. */
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
    stop bad;
    const char *at = blanks(value), *end = behind(at, 0, &bad);
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
    stop bad;
    const char *at = blanks(value), *end = *at == '"' ? behind_string(at, &bad) : NULL;
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
    stop bad;
    const char *at = behind_string(key, &bad);
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
    stop bad;
    const char *at = blanks(behind(value_of(key), 0, &bad));
    return *at == ',' ? key_at(at + 1) : NULL;
}

const char *asc_json_key(const char *object, size_t index) {
    const char *key = first_key(object);
    for (; key && index; index--) key = next_key(key);
    return key;
}

const char *asc_json_find(const char *text, const char *key, char *value, size_t bytes) {
    size_t length = strlen(key);
    const char *found = NULL;
    for (const char *at = first_key(text); at; at = next_key(at))
        if (asc_json_is(at, key, length)) found = value_of(at);
    if (found && value) asc_json_text(found, value, bytes);
    return found;
}

const char *asc_json_element(const char *array, size_t index) {
    stop bad;
    const char *at = blanks(array);
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
