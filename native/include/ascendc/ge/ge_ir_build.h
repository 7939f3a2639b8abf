/* Compiling a graph into the bytes of an .om, which aclmdlLoadFromMem takes. Our own implementation of public names, in
 * libascend_ge.so. */
#pragma once
#pragma GCC system_header

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "../graph/ascend_string.h"
#include "../graph/graph.h"
#include "../graph/types.h"
#include "ge_api_types.h"

#pragma GCC visibility push(default)
namespace ge {

struct ModelBufferData {
    std::shared_ptr<uint8_t> data = nullptr;
    uint64_t length = 0;
};

/* Options of all models that are compiled until aclgrphBuildFinalize. */
graphStatus aclgrphBuildInitialize(std::map<AscendString, AscendString> &global_options);
graphStatus aclgrphBuildInitialize(std::map<std::string, std::string> global_options);
void aclgrphBuildFinalize();

graphStatus aclgrphBuildModel(const Graph &graph, const std::map<AscendString, AscendString> &build_options,
                              ModelBufferData &model);
graphStatus aclgrphBuildModel(const Graph &graph, const std::map<std::string, std::string> &build_options,
                              ModelBufferData &model);

/* Writes output_file.om. */
graphStatus aclgrphSaveModel(const char *output_file, const ModelBufferData &model);
graphStatus aclgrphSaveModel(const std::string &output_file, const ModelBufferData &model);

graphStatus aclgrphGetIRVersion(int *major_version, int *minor_version, int *patch_version);

}  // namespace ge
#pragma GCC visibility pop
