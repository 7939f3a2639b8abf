/* numbers.h - elements of tensors as numbers, whatever their type. */
#ifndef ASC_ACL_NUMBERS_H
#define ASC_ACL_NUMBERS_H

#include "acl/acl_base.h"

/* An element as a double; integers of 64 bits are rounded. 0 for types without numbers. */
double asc_number_at(const void *elements, size_t index, aclDataType type);
/* Rounds to the nearest the type has (integers toward zero, and to their ends). */
void asc_set_number(void *elements, size_t index, aclDataType type, double value);
bool asc_is_number(aclDataType type);
/* As the converter's list of operators names it; "UNDEFINED" for types that it has no name for. */
const char *asc_type_name(aclDataType type);

#endif
