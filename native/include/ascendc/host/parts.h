/* What differs from program to program, as plain tables: so that only they and the kernels are compiled anew. */
#pragma once

#include "kernel.h"

namespace ops {
class OpDef;
}

namespace asc_host {

/* What a kernel's argument is. */
struct ArgumentSpec {
    enum Kind { INPUT, OUTPUT, SHAPES, WORKSPACE, TILING, VALUE };
    Kind kind;
    size_t index;
};

/* A kernel compiled for one column of element types: of every input, then of every output of the definition; -1 is any.
 * has_key: it is for one tiling key alone. */
struct Column {
    const Kernel *kernel;
    const int *types;
    size_t n_types;
    uint64_t key;
    bool has_key;
};

struct Parts {
    const char *op; /* the operator's type in the host code; "" for a kernel without any */
    const Column *columns;
    size_t n_columns;
    const ArgumentSpec *arguments;
    size_t n_arguments;
    const char *const *input_names;
    size_t n_inputs;
    const char *const *output_names;
    size_t n_outputs;
};

/* Those of this program or library. */
extern const Parts the_parts;

/* An operator of a program that has several, with its definition. */
struct Numbered {
    const Parts *parts;
    ops::OpDef *definition;
};

/* That of this program with a number; without parts beyond the last one. */
Numbered numbered(size_t number);

}  // namespace asc_host
