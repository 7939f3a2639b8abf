/* Registration of operators: OP_ADD. Our own implementation of public names. */
#pragma once

/* Host files use these without naming them. */
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "../graph/types.h"
#include "../tiling/platform/platform_ascendc.h"
#include "op_def.h"
#include "op_impl_registry.h"
#include "tilingdata_base.h"

/* Host files in this namespace use these unqualified. */
namespace optiling {
using std::map;
using std::string;
using std::vector;
}  // namespace optiling

/* A second argument is the structure that TilingParse fills. */
#define OP_ADD(type, ...) \
    [[maybe_unused]] static const bool type##_asc_added = ::ops::add<type __VA_OPT__(, ) __VA_ARGS__>(#type);
