/* acl/dvpp/hi_dvpp.h - the media functions of the second version, all of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASCEND_EP_HI_DVPP_H
#define ASCEND_EP_HI_DVPP_H

#include "hi_dvpp_pngd.h"
#include "hi_dvpp_vdec.h"
#include "hi_dvpp_venc.h"
#include "hi_dvpp_vpc.h"
#include "hi_media_common.h"

#endif
