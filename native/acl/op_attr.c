/* op_attr.c - aclop's attributes, kept as the text that they are compared by and handed on as. */
#include "op_attr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "handle.h"
#include "model.h"
#include "numbers.h"
#include "text.h"

static const asc_attrs none;

aclopAttr *aclopCreateAttr(void) {
    ASC_ENTER();
    asc_attrs *attrs = calloc(1, sizeof *attrs);
    void *handle = attrs ? asc_handle_new(ASC_KIND_OP_ATTR, attrs) : NULL;
    if (!handle) {
        free(attrs);
        asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for more attributes");
    }
    return handle;
}

static void forget(asc_attr_value *value) {
    free(value->name);
    free(value->plain);
    free(value->json);
}

void aclopDestroyAttr(const aclopAttr *attr) {
    ASC_ENTER();
    asc_attrs *attrs = asc_handle_take(ASC_KIND_OP_ATTR, attr);
    if (!attrs) {
        if (attr) asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_OP_ATTR, attr, "attr");
        return;
    }
    for (uint32_t i = 0; i < attrs->count; i++) forget(&attrs->items[i]);
    free(attrs->items);
    free(attrs);
}

aclError asc_attrs_get(const aclopAttr *handle, const asc_attrs **attrs) {
    *attrs = handle ? asc_handle_get(ASC_KIND_OP_ATTR, handle) : &none;
    return *attrs ? ACL_SUCCESS : asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_OP_ATTR, handle, "attr");
}

char *asc_attrs_text(const asc_attrs *attrs) {
    asc_text text = {0};
    for (uint32_t i = 0; i < attrs->count; i++)
        asc_text_add(&text, "%s%s=%s", i ? "\n" : "", attrs->items[i].name, attrs->items[i].plain);
    return asc_text_take(&text);
}

/* Puts the value in its place; takes the texts over. */
static aclError set(aclopAttr *handle, const char *name, const char *kind, char *plain, char *json) {
    asc_attrs *attrs = asc_handle_get(ASC_KIND_OP_ATTR, handle);
    asc_attr_value value = {name ? strdup(name) : NULL, kind, plain, json};
    aclError code = ACL_SUCCESS;
    asc_attr_value *items = NULL;
    if (!attrs)
        code = asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_OP_ATTR, handle, "attr");
    else if (!name)
        code = asc_acl_fail(ACL_ERROR_INVALID_PARAM, "attrName must not be NULL");
    else if (!value.name || !plain || !json || !(items = realloc(attrs->items, (attrs->count + 1) * sizeof *items)))
        code = asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    if (code != ACL_SUCCESS) {
        forget(&value);
        return code;
    }
    attrs->items = items;
    uint32_t at = 0;
    while (at < attrs->count && strcmp(items[at].name, name) < 0) at++;
    if (at < attrs->count && !strcmp(items[at].name, name))
        forget(&items[at]);
    else
        memmove(&items[at + 1], &items[at], (attrs->count++ - at) * sizeof *items);
    items[at] = value;
    return ACL_SUCCESS;
}

/* ---- values as text ---------------------------------------------------------------------------------- */

typedef enum kind { INTS, FLOATS, BOOLS, STRINGS, TYPES } kind;

static void add_json_string(asc_text *text, const char *value) {
    asc_text_add(text, "\"");
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            asc_text_add(text, "\\%c", *value);
        else if ((unsigned char)*value < 0x20)
            asc_text_add(text, "\\u%04x", *value);
        else
            asc_text_add(text, "%c", *value);
    }
    asc_text_add(text, "\"");
}

static void add_value(asc_text *text, kind of, const void *values, int i, bool json) {
    switch (of) {
        case INTS: asc_text_add(text, "%lld", (long long)((const int64_t *)values)[i]); break;
        case FLOATS: asc_text_add(text, "%.9g", (double)((const float *)values)[i]); break;
        case BOOLS:
            asc_text_add(text, "%s",
                         json                           ? (((const uint8_t *)values)[i] ? "true" : "false")
                         : ((const uint8_t *)values)[i] ? "1"
                                                        : "0");
            break;
        case TYPES:
            if (json)
                asc_text_add(text, "\"%s\"", asc_type_name(((const aclDataType *)values)[i]));
            else
                asc_text_add(text, "%d", asc_rt_type(((const aclDataType *)values)[i]));
            break;
        case STRINGS:
            if (json)
                add_json_string(text, ((const char *const *)values)[i]);
            else
                asc_text_add(text, "%s", ((const char *const *)values)[i]);
    }
}

static char *one(kind of, const void *value, bool json) {
    asc_text text = {0};
    add_value(&text, of, value, 0, json);
    return asc_text_take(&text);
}

static void add_list(asc_text *text, kind of, const void *values, int count, bool json) {
    asc_text_add(text, "[");
    for (int i = 0; i < count; i++) {
        if (i) asc_text_add(text, ",");
        add_value(text, of, values, i, json);
    }
    asc_text_add(text, "]");
}

static char *list(kind of, const void *values, int count, bool json) {
    asc_text text = {0};
    add_list(&text, of, values, count, json);
    return asc_text_take(&text);
}

static aclError set_one(aclopAttr *attr, const char *name, const char *word, kind of, const void *value) {
    return set(attr, name, word, one(of, value, false), one(of, value, true));
}

static aclError set_list(aclopAttr *attr, const char *name, const char *word, kind of, int count, const void *values) {
    if (count < 0) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "numValues is %d", count);
    if (count && !values) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "values must not be NULL");
    for (int i = 0; of == STRINGS && i < count; i++)
        if (!((const char *const *)values)[i])
            return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "values[%d] must not be NULL", i);
    return set(attr, name, word, list(of, values, count, false), list(of, values, count, true));
}

/* ---- the interface ------------------------------------------------------------------------------------- */

aclError aclopSetAttrBool(aclopAttr *attr, const char *attrName, uint8_t attrValue) {
    ASC_ENTER();
    return set_one(attr, attrName, "bool", BOOLS, &attrValue);
}

aclError aclopSetAttrInt(aclopAttr *attr, const char *attrName, int64_t attrValue) {
    ASC_ENTER();
    return set_one(attr, attrName, "int", INTS, &attrValue);
}

aclError aclopSetAttrFloat(aclopAttr *attr, const char *attrName, float attrValue) {
    ASC_ENTER();
    return set_one(attr, attrName, "float", FLOATS, &attrValue);
}

aclError aclopSetAttrString(aclopAttr *attr, const char *attrName, const char *attrValue) {
    ASC_ENTER();
    ASC_NEED(attrValue);
    return set_one(attr, attrName, "string", STRINGS, &attrValue);
}

aclError aclopSetAttrDataType(aclopAttr *attr, const char *attrName, aclDataType attrValue) {
    ASC_ENTER();
    return set_one(attr, attrName, "data_type", TYPES, &attrValue);
}

aclError aclopSetAttrListDataType(aclopAttr *attr, const char *attrName, int numValues, const aclDataType values[]) {
    ASC_ENTER();
    return set_list(attr, attrName, "list_data_type", TYPES, numValues, values);
}

aclError aclopSetAttrListBool(aclopAttr *attr, const char *attrName, int numValues, const uint8_t *values) {
    ASC_ENTER();
    return set_list(attr, attrName, "list_bool", BOOLS, numValues, values);
}

aclError aclopSetAttrListInt(aclopAttr *attr, const char *attrName, int numValues, const int64_t *values) {
    ASC_ENTER();
    return set_list(attr, attrName, "list_int", INTS, numValues, values);
}

aclError aclopSetAttrListFloat(aclopAttr *attr, const char *attrName, int numValues, const float *values) {
    ASC_ENTER();
    return set_list(attr, attrName, "list_float", FLOATS, numValues, values);
}

aclError aclopSetAttrListString(aclopAttr *attr, const char *attrName, int numValues, const char **values) {
    ASC_ENTER();
    return set_list(attr, attrName, "list_string", STRINGS, numValues, values);
}

aclError aclopSetAttrListListInt(aclopAttr *attr, const char *attrName, int numLists, const int *numValues,
                                 const int64_t *const values[]) {
    ASC_ENTER();
    if (numLists < 0) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "numLists is %d", numLists);
    if (numLists && (!numValues || !values))
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "numValues and values must not be NULL");
    asc_text text = {0};
    asc_text_add(&text, "[");
    for (int i = 0; i < numLists; i++) {
        if (numValues[i] < 0 || (numValues[i] && !values[i])) {
            free(asc_text_take(&text));
            return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "list %d has %d values and no address", i, numValues[i]);
        }
        if (i) asc_text_add(&text, ",");
        add_list(&text, INTS, values[i], numValues[i], false);
    }
    asc_text_add(&text, "]");
    char *plain = asc_text_take(&text);
    return set(attr, attrName, "list_list_int", plain, plain ? strdup(plain) : NULL);
}
