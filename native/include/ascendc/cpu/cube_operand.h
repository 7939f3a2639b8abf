/* Operands of the cube's instructions: bytes of a tensor counted from its first element, and the settings that these
 * instructions share. */
#pragma once

#include <vector>

#include "mmad_values.h"
#include "task_type.h"
#include "tensor.h"

namespace asc_cpu {

constexpr uint32_t L0_ALIGN = 512;

template <typename Tensor>
inline Operand reads_bytes(const Tensor &tensor, const Run &run, uint32_t align = C0_BYTES) {
    Operand o = tensor.reads(0);
    o.run = run, o.align = align;
    return o;
}
template <typename Tensor>
inline Operand writes_bytes(const Tensor &tensor, const Run &run, uint32_t align = C0_BYTES) {
    Operand o = tensor.writes(0);
    o.run = run, o.align = align;
    return o;
}
/* The address of a tensor's first element. */
template <typename Tensor>
inline uint8_t *address_of(const Tensor &tensor) {
    return tensor.reads(0).base;
}
inline void need_space(Where w, const Operand &o, Space space, const char *instruction, const char *position) {
    if (!o.base || o.space == space) return;
    at(w);
    fail_with("ErrorBuffer2", "take it from a queue or buffer of that position", "%s: an operand in %s, not %s",
              instruction, name_of(o.space), position);
}

/* The cube's registers of one core. */
struct CubeModes {
    Hf32 hf32 = Hf32::Off;
    Hf32 hf32_rounding = Hf32::Nearest;
    /* SetFixpipeNz2ndFlag, SetFixpipePreQuantFlag, SetFixPipeConfig; SetFmatrix, SetLoadDataPaddingValue. */
    uint16_t nd_number = 1, nd_source = 0, nd_target = 0;
    uint64_t quant_scalar = 0;
    const uint64_t *quant_vector = nullptr;
    uint16_t map_height = 0, map_width = 0;
    uint8_t map_pads[4] = {};
    uint32_t pad_bits = 0;
};
CubeModes &cube_modes();
#ifndef ASC_CPU_APART
ASC_RUNTIME CubeModes &cube_modes() {
    static std::vector<CubeModes> of_cores;
    const uint32_t number = core().number;
    if (of_cores.size() <= number) of_cores.resize(number + 1);
    return of_cores[number];
}
#endif

/* With the unit flag, each of M and FIX waits for the other on its own. */
inline void wait_by_unit_flag(pipe_t waits, pipe_t for_pipe) {
    if constexpr (CHECKED) core().learn(index_of(waits), core().after(index_of(for_pipe)));
}

/* What an instruction's parameters can't be. */
inline void need_parameter(Where w, bool holds, const char *instruction, const char *rule) {
    if (holds) return;
    at(w);
    fail("ErrorParam", "%s: %s", instruction, rule);
}

}  // namespace asc_cpu
