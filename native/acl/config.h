/* config.h - the JSON file that aclInit takes. */
#ifndef ASC_ACL_CONFIG_H
#define ASC_ACL_CONFIG_H

#include "error.h"

/* The file's text, which the caller frees; fails unless it is one JSON object. */
aclError asc_config_read(const char *path, char **text);
/* Acts on what it asks for, and says what it doesn't act on. `text` NULL: nothing was asked. */
void asc_config_apply(const char *text, const char *path);

#endif
