/* Registration of operators: OP_ADD. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include "../graph/types.h"
#include "../host/standard_headers.h"
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

namespace asc_host {

/* The files that register operators, a line each. */
inline std::string &registering_files() {
    static std::string all;
    return all;
}
inline bool add_file(const char *path) {
    if (registering_files().find(std::string(path) + "\n") == std::string::npos)
        registering_files() += path + std::string("\n");
    return true;
}

}  // namespace asc_host

/* Of a library of host files: where their sources are, for op_build. */
extern "C" __attribute__((weak, visibility("default"))) const char *asc_op_host_files() {
    return ::asc_host::registering_files().c_str();
}

/* A second argument is the structure that TilingParse fills. */
#define OP_ADD(type, ...)                                        \
    __attribute__((unused)) static const bool type##_asc_added = \
        ::ops::add<type __VA_OPT__(, ) __VA_ARGS__>(#type) && ::asc_host::add_file(__FILE__);
