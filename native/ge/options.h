/* options.h - options of the graph engine as flags of ascend-atc. */
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ascend_string.h"
#include "graph/types.h"

namespace asc {

using Options = std::map<ge::AscendString, ge::AscendString>;

/* Which function's options: of all models, of one, of reading one. */
enum class Stage { initialize, build, parse };

/* Fails for a name that the function doesn't have; says it as `function`. */
ge::graphStatus check_options(const char *function, Stage stage, const Options &options);

/* The flags; those of one model stand behind those of all, and so count where both give one. */
void add_flags(const Options &options, std::vector<std::string> &flags);

/* The text for aclGetRecentErrMsg and the log, and on standard error: callers such as onnxruntime's provider drop it.
 */
ge::graphStatus fail(const char *function, ge::graphStatus status, const std::string &why);

}  // namespace asc
