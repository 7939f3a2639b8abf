/* buffer.h - what a data buffer's handle stands for. */
#ifndef ASC_ACL_BUFFER_H
#define ASC_ACL_BUFFER_H

#include <stddef.h>

typedef struct asc_acl_buffer {
    void *data;
    size_t bytes;
} asc_acl_buffer;

#endif
