/* memory_apart.h - memory that the host can't touch: mapped twice, once without access for programs, once for us.
 * Addresses aren't used twice, and behind each block lies a page of nobody's. */
#ifndef ASC_ACL_MEMORY_APART_H
#define ASC_ACL_MEMORY_APART_H

#include <stddef.h>

void *asc_acl_apart_new(size_t bytes); /* NULL when there is no room */
void asc_acl_apart_free(void *pointer, size_t bytes);
/* Where the bytes at a program's address are; other addresses as they are. */
void *asc_acl_apart_real(const void *pointer);

#endif
