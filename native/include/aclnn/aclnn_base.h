/* aclnn/aclnn_base.h - the name under which programs include the objects of aclnn.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASCEND_EP_ACLNN_BASE_H
#define ASCEND_EP_ACLNN_BASE_H
#include "acl_meta.h"
#endif
