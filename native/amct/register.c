/* libamct_onnx_ops: programs on amct_onnx register it by its path, amct_onnx/custom_op/libamct_onnx_ops.so, in the
 * options of the sessions that calibrate. The operators are the plugin's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plugin.h"

ASC_API ort_status *RegisterCustomOps(ort_session_options *options, const ort_api_base *base);

ort_status *RegisterCustomOps(ort_session_options *options, const ort_api_base *base) {
    return asc_ep_register(options, base);
}
