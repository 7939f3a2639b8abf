/* json.h - looks into JSON text where it lies. */
#ifndef ASC_ACL_JSON_H
#define ASC_ACL_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the text is one JSON value of RFC 8259; if not, `line` is where it stops being one, and `why` says what is
 * there. bytes: of the text, without the zero behind it. What follows finds nothing in text that is none. */
bool asc_json_check(const char *text, size_t bytes, size_t *line, const char **why);
/* The value of a key of the object that begins the text, of several the last, which CANN takes; NULL: it has none.
 * `value`, when given, gets it as text, cut to `bytes`. */
const char *asc_json_find(const char *text, const char *key, char *value, size_t bytes);
/* The text of a string (UTF-8, its escapes read), or another value as it is written, cut to `bytes`. Returns how many
 * bytes the whole has. */
size_t asc_json_text(const char *value, char *text, size_t bytes);
/* That text whole, which the caller frees; NULL: no memory. */
char *asc_json_copy(const char *value);
/* Whether a value is a string of that text. */
bool asc_json_is(const char *value, const char *text, size_t bytes);
/* An element of the array that begins the text; NULL: it has none of that index. */
const char *asc_json_element(const char *array, size_t index);
/* The key of a member of the object that begins the text, a string; NULL: it has none of that index. */
const char *asc_json_key(const char *object, size_t index);

#endif
