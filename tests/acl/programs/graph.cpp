/* graph.cpp - `graph MODEL.onnx`: compiles the model through the graph engine's interface, from its file and from its
 * bytes, saves it, and runs it from memory on 1, 2, 3, ... Prints a line for each step. */
#include "graph/graph.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "ge/ge_api_types.h"
#include "ge/ge_ir_build.h"
#include "graph/ascend_string.h"
#include "parser/onnx_parser.h"

using Options = std::map<ge::AscendString, ge::AscendString>;
using ge::AscendString;

static void run(const ge::ModelBufferData &model) {
    uint32_t id = 0;
    if (aclmdlLoadFromMem(model.data.get(), model.length, &id) != ACL_SUCCESS) exit(3);
    aclmdlDesc *desc = aclmdlCreateDesc();
    aclmdlGetDesc(desc, id);
    aclmdlDataset *sets[2] = {aclmdlCreateDataset(), aclmdlCreateDataset()};
    const size_t bytes[2] = {aclmdlGetInputSizeByIndex(desc, 0), aclmdlGetOutputSizeByIndex(desc, 0)};
    void *at[2];
    for (int i = 0; i < 2; i++) {
        aclrtMalloc(&at[i], bytes[i], ACL_MEM_MALLOC_HUGE_FIRST);
        aclmdlAddDatasetBuffer(sets[i], aclCreateDataBuffer(at[i], bytes[i]));
    }
    std::vector<float> values(bytes[0] / sizeof(float)), results(bytes[1] / sizeof(float));
    for (size_t i = 0; i < values.size(); i++) values[i] = (float)i;
    aclrtMemcpy(at[0], bytes[0], values.data(), bytes[0], ACL_MEMCPY_HOST_TO_DEVICE);
    printf("execute %d", aclmdlExecute(id, sets[0], sets[1]));
    aclrtMemcpy(results.data(), bytes[1], at[1], bytes[1], ACL_MEMCPY_DEVICE_TO_HOST);
    for (float result : results) printf(" %g", result);
    printf("\n");
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    aclInit(nullptr);
    aclrtSetDevice(0);
    ge::ModelBufferData model;
    ge::Graph empty("empty"), graph("from memory"), file("from a file");
    const Options shapes = {{AscendString(ge::ir_option::INPUT_SHAPE), AscendString("x:2,3")}};
    std::ifstream stream(argv[1], std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};

    printf("garbage %d\n", ge::aclgrphParseONNXFromMem("garbage", 7, {}, graph) == ge::GRAPH_SUCCESS);
    printf("parse %d\n", ge::aclgrphParseONNXFromMem(bytes.data(), bytes.size(), {}, graph) == ge::GRAPH_SUCCESS);
    printf("too early %d\n", ge::aclgrphBuildModel(graph, shapes, model) == ge::GRAPH_SUCCESS);
    Options wrong = {{AscendString("ge.socVersions"), AscendString("Ascend910B3")}};
    printf("unknown option %d\n", ge::aclgrphBuildInitialize(wrong) == ge::GRAPH_PARAM_INVALID);
    Options global = {{AscendString(ge::ir_option::SOC_VERSION), AscendString("Ascend910B3")},
                      {AscendString(ge::ir_option::PRECISION_MODE), AscendString("must_keep_origin_dtype")}};
    printf("initialize %d\n", ge::aclgrphBuildInitialize(global) == ge::GRAPH_SUCCESS);
    printf("no model %d\n", ge::aclgrphBuildModel(empty, shapes, model) == ge::GRAPH_SUCCESS);
    const Options other = {{AscendString(ge::ir_option::INPUT_SHAPE), AscendString("z:2,3")}};
    printf("refused %d\n", ge::aclgrphBuildModel(graph, other, model) == ge::GRAPH_SUCCESS);
    printf("said %s", aclGetRecentErrMsg());
    printf("build %d\n", ge::aclgrphBuildModel(graph, shapes, model) == ge::GRAPH_SUCCESS);
    run(model);
    printf("file %d\n", ge::aclgrphParseONNX(argv[1], {}, file) == ge::GRAPH_SUCCESS);
    printf("build %d\n", ge::aclgrphBuildModel(file, shapes, model) == ge::GRAPH_SUCCESS);
    printf("save %d\n", ge::aclgrphSaveModel(argv[2], model) == ge::GRAPH_SUCCESS);
    printf("no folder %d\n", ge::aclgrphSaveModel(std::string(argv[1]) + "/saved", model) == ge::GRAPH_SUCCESS);
    uint32_t loaded;
    const std::string saved = std::string(argv[2]) + ".om";
    printf("load %d\n", aclmdlLoadFromFile(saved.c_str(), &loaded) || aclmdlUnload(loaded));
    AscendString name;
    const bool named = file.GetName(name) == ge::GRAPH_SUCCESS;
    printf("name %d %s\n", named, name.GetString());
    ge::aclgrphBuildFinalize();
    aclFinalize();
    return 0;
}
