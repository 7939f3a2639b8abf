/* build.cpp - aclgrphBuildModel: ascend-atc makes a bundle of the graph's model, and the buffer is the bundle. */
#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>

#include "converter.h"
#include "ge/ge_ir_build.h"
#include "graph_impl.h"
#include "options.h"
#include "replaced_file.h"
extern "C" {
#include "error.h"
}

namespace {

/* Options of all models, from aclgrphBuildInitialize to aclgrphBuildFinalize. */
struct Engine {
    std::mutex lock;
    bool ready = false;
    std::vector<std::string> flags;
};

Engine &engine() {
    static Engine *one = new Engine; /* never deleted: programs call aclgrphBuildFinalize when they end */
    return *one;
}

asc::Options options_of(const std::map<std::string, std::string> &given) {
    asc::Options options;
    for (const auto &option : given) options.emplace(option.first.c_str(), option.second.c_str());
    return options;
}

/* The folder of one conversion. */
class Folder {
   public:
    Folder() : made_(asc_make_folder(path_) == ACL_SUCCESS) {}
    ~Folder() {
        if (made_) asc_remove_folder(path_);
    }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;
    bool made() const { return made_; }
    const char *path() const { return path_; }
    std::string file(const char *name) const { return std::string(path_) + "/" + name; }

   private:
    char path_[ASC_FOLDER_BYTES];
    bool made_;
};

bool read_bytes(const std::string &path, ge::ModelBufferData &model) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) return false;
    const auto size = (size_t)file.tellg();
    std::shared_ptr<uint8_t> data(new uint8_t[size], std::default_delete<uint8_t[]>());
    file.seekg(0);
    if (!file.read(reinterpret_cast<char *>(data.get()), (std::streamsize)size)) return false;
    model.data = data;
    model.length = size;
    return true;
}

/* What aclGetRecentErrMsg gives, which its callers drop, is printed. */
ge::graphStatus refused() {
    std::string text = asc_last_text();
    std::fprintf(stderr, "[ERROR] %s%s", text.c_str(), text.empty() || text.back() != '\n' ? "\n" : "");
    return ge::GRAPH_FAILED;
}

}  // namespace

namespace ge {

graphStatus aclgrphBuildInitialize(asc::Options &global_options) {
    const graphStatus status = asc::check_options("aclgrphBuildInitialize", asc::Stage::initialize, global_options);
    if (status != GRAPH_SUCCESS) return status;
    std::lock_guard<std::mutex> guard(engine().lock);
    if (engine().ready) return GRAPH_SUCCESS; /* the first call counts */
    engine().ready = true;
    asc::add_flags(global_options, engine().flags);
    return GRAPH_SUCCESS;
}

graphStatus aclgrphBuildInitialize(std::map<std::string, std::string> global_options) {
    asc::Options options = options_of(global_options);
    return aclgrphBuildInitialize(options);
}

void aclgrphBuildFinalize() {
    std::lock_guard<std::mutex> guard(engine().lock);
    engine().ready = false;
    engine().flags.clear();
}

graphStatus aclgrphBuildModel(const Graph &graph, const asc::Options &build_options, ModelBufferData &model) {
    static const char NAME[] = "aclgrphBuildModel";
    const graphStatus status = asc::check_options(NAME, asc::Stage::build, build_options);
    if (status != GRAPH_SUCCESS) return status;
    const GraphImpl *impl = GraphImpl::of(graph);
    if (!impl || !graph.IsValid())
        return asc::fail(NAME, GRAPH_PARAM_INVALID, "the graph holds no model; aclgrphParseONNX reads one");
    std::vector<std::string> flags;
    {
        std::lock_guard<std::mutex> guard(engine().lock);
        if (!engine().ready) return asc::fail(NAME, GRAPH_FAILED, "aclgrphBuildInitialize comes first");
        flags = engine().flags;
    }
    asc_enter(NAME, nullptr);
    const Folder folder;
    if (!folder.made()) return refused();
    const std::string source = impl->path.empty() ? folder.file("model.onnx") : impl->path;
    if (impl->path.empty() && !(std::ofstream(source, std::ios::binary) << impl->onnx).flush())
        return asc::fail(NAME, GRAPH_FAILED, source + " can't be written: " + std::strerror(errno));
    flags.insert(flags.end(), impl->flags.begin(), impl->flags.end());
    asc::add_flags(build_options, flags);
    for (const std::string &flag :
         {"--model=" + source, std::string("--framework=5"), "--output=" + folder.file("out")})
        flags.push_back(flag);
    std::vector<const char *> words;
    for (const std::string &flag : flags) words.push_back(flag.c_str());
    words.push_back(nullptr);
    const std::string what = "the graph [" + impl->name + "]";
    if (asc_convert(folder.path(), words.data(), what.c_str()) != ACL_SUCCESS) return refused();
    if (!read_bytes(folder.file("out.om"), model))
        return asc::fail(NAME, GRAPH_FAILED, folder.file("out.om") + " can't be read");
    return GRAPH_SUCCESS;
}

graphStatus aclgrphBuildModel(const Graph &graph, const std::map<std::string, std::string> &build_options,
                              ModelBufferData &model) {
    return aclgrphBuildModel(graph, options_of(build_options), model);
}

graphStatus aclgrphSaveModel(const char *output_file, const ModelBufferData &model) {
    static const char NAME[] = "aclgrphSaveModel";
    if (!output_file) return asc::fail(NAME, GRAPH_PARAM_INVALID, "output_file must not be NULL");
    if (!model.data || !model.length) return asc::fail(NAME, GRAPH_PARAM_INVALID, "the buffer holds no model");
    const std::string path = std::string(output_file) + ".om";
    const size_t slash = path.rfind('/');
    asc_replaced file;
    const bool whole = (slash == std::string::npos || !slash || asc_make_folders(path.substr(0, slash).c_str())) &&
                       asc_replace_begin(&file, path.c_str()) &&
                       asc_replace_end(&file, fwrite(model.data.get(), model.length, 1, file.file) == 1);
    if (!whole) return asc::fail(NAME, GRAPH_FAILED, path + " can't be written: " + std::strerror(errno));
    return GRAPH_SUCCESS;
}

graphStatus aclgrphSaveModel(const std::string &output_file, const ModelBufferData &model) {
    return aclgrphSaveModel(output_file.c_str(), model);
}

graphStatus aclgrphGetIRVersion(int *major_version, int *minor_version, int *patch_version) {
    if (!major_version || !minor_version || !patch_version)
        return asc::fail("aclgrphGetIRVersion", GRAPH_PARAM_INVALID, "the three versions must not be NULL");
    *major_version = 1;
    *minor_version = *patch_version = 0;
    return GRAPH_SUCCESS;
}

}  // namespace ge
