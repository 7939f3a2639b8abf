/* json.h - looks into JSON text where it lies. */
#ifndef ASC_ACL_JSON_H
#define ASC_ACL_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the text is one JSON value; if not, `line` is where it stops being one. */
bool asc_json_check(const char *text, size_t *line);
/* The value of a key of the object that begins the text (valid JSON); NULL: it has none. `value`, when given, gets it
 * as text, without quotes, cut to `bytes`. */
const char *asc_json_find(const char *text, const char *key, char *value, size_t bytes);
/* A string's text, or another value as it is written, cut to `bytes`; of escapes, \" \\ and \/ are read. */
void asc_json_text(const char *value, char *text, size_t bytes);
/* An element of the array that begins the text (valid JSON); NULL: it has none of that index. */
const char *asc_json_element(const char *array, size_t index);

#endif
