/* A kernel as the host sees it: one function that launches it over memory. It has what it needs of the cores within its
 * own translation unit, so that kernels of one program share no name, and the host knows nothing of the cores. */
#pragma once

#include <cstddef>
#include <cstdint>

namespace asc_host {

/* Of the workspace, in front of what is the operator's; kernels skip it by GetUserWorkspace. */
constexpr uint32_t WORKSPACE_IN_FRONT = 4096;

/* Numbers of cpu/work.h: cores, then of each kind all, then of each kind most. */
constexpr size_t WORK_NUMBERS = 11;

/* SHAPES: what a kernel says of the shapes of its outputs (output_shapes.h). */
enum class Role { INPUT, OUTPUT, BOTH, WORKSPACE, READABLE, SHAPES };

/* The name of the buffer that tiling fills. */
constexpr const char *TILING_DATA = "the tiling data";

/* Memory that a kernel may use. */
struct Buffer {
    const char *name;
    uint8_t *begin;
    uint64_t bytes;
    Role role;
    const uint64_t *shape =
        nullptr;          /* of an output that may be smaller: its words among those that the kernel writes */
    uint32_t element = 0; /* its bytes, of such an output */
};

struct LaunchRequest {
    uint32_t blocks;
    uint64_t key; /* the tiling key */
    const char *chip;
    uint64_t ub; /* bytes of unified buffer */
    const Buffer *buffers;
    size_t n_buffers;
    void *const *arguments; /* the address that a pointer gets, or where the value of a number or structure lies */
    bool strict, stop;      /* cpu/fault.h, Settings */
    /* Is given every fault and advice, as file:line: block n: [Kind] text. */
    void (*tell)(void *to, bool advice, const char *line);
    void *to;
    uint64_t *work = nullptr; /* where what it asks of the chip goes, of a checked kernel: WORK_NUMBERS of cpu/work.h */
    bool owns_process = false; /* the process is for launches alone: signals that end it are explained */
};

/* One kernel for one column of element types. */
struct Kernel {
    void (*launch)(const LaunchRequest &request);
    size_t n_arguments;
    const size_t *value_bytes; /* of each argument that is no pointer; 0 for pointers */
};

}  // namespace asc_host
