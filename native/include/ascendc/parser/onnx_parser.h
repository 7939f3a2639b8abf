/* Reading ONNX models. Our own implementation of public names, in libascend_ge.so. */
#pragma once
#pragma GCC system_header

#include <cstddef>
#include <map>

#include "../graph/ascend_string.h"
#include "../graph/graph.h"
#include "../graph/types.h"

#pragma GCC visibility push(default)
namespace ge {

graphStatus aclgrphParseONNX(const char *model_file, const std::map<AscendString, AscendString> &parser_params,
                             Graph &graph);
graphStatus aclgrphParseONNXFromMem(const char *buffer, size_t size,
                                    const std::map<AscendString, AscendString> &parser_params, Graph &graph);

}  // namespace ge
#pragma GCC visibility pop
