/* op_plugin/AclOpsInterface.h - of op-plugin's sources, as OpApiInterface.h. */
#pragma once

#include "OpApiInterface.h"
