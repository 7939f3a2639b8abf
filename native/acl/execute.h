/* execute.h - running a loaded model on datasets. */
#ifndef ASC_ACL_EXECUTE_H
#define ASC_ACL_EXECUTE_H

#include "acl/acl_mdl.h"

aclError asc_execute_model(uint32_t id, const aclmdlDataset *input, aclmdlDataset *output);
/* As work of a stream. */
aclError asc_execute_model_in(uint32_t id, const aclmdlDataset *input, aclmdlDataset *output, aclrtStream stream);

#endif
