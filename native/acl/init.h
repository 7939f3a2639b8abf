/* init.h - between aclInit and aclFinalize. */
#ifndef ASC_ACL_INIT_H
#define ASC_ACL_INIT_H

#include "error.h"

/* Fails with ACL_ERROR_UNINITIALIZE unless aclInit was called. */
aclError asc_need_init(void);
void asc_set_init(uint32_t count);
uint32_t asc_init_count(void);

#endif
