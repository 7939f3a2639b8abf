/* aclnn/opdev/op_log.h - the name under which host code of operators includes its log.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASCEND_EP_ACLNN_OPDEV_OP_LOG_H
#define ASCEND_EP_ACLNN_OPDEV_OP_LOG_H
#include "log/log.h"
#endif
