/* op_attr.h - the attributes of a single operator. */
#ifndef ASC_ACL_OP_ATTR_H
#define ASC_ACL_OP_ATTR_H

#include "acl/acl_op.h"

typedef struct asc_attr_value {
    char *name;
    const char *kind; /* as in the converter's list of operators: "list_int", ... */
    char *plain;      /* as bundles note it: [1,2]; numbers in the shortest form that %.9g gives */
    char *json;
} asc_attr_value;

/* In the order of the names. */
typedef struct asc_attrs {
    asc_attr_value *items;
    uint32_t count;
} asc_attrs;

/* NULL stands for no attributes; fails unless the handle is one. */
aclError asc_attrs_get(const aclopAttr *handle, const asc_attrs **attrs);
/* "name=value" lines, which the caller frees; NULL: no memory. */
char *asc_attrs_text(const asc_attrs *attrs);

#endif
