/* Settings of the cube that hold until they are changed. */
#pragma once

#include "cube_operand.h"

namespace AscendC {

/* Whether Mmad rounds float operands to HF32 first. */
inline void SetHF32Mode(bool on) {
    asc_cpu::CubeModes &modes = asc_cpu::cube_modes();
    modes.hf32 = on ? modes.hf32_rounding : asc_cpu::Hf32::Off;
}
/* true: towards zero, false: to nearest even. */
inline void SetHF32TransMode(bool towards_zero) {
    asc_cpu::CubeModes &modes = asc_cpu::cube_modes();
    modes.hf32_rounding = towards_zero ? asc_cpu::Hf32::Truncate : asc_cpu::Hf32::Nearest;
    if (modes.hf32 != asc_cpu::Hf32::Off) modes.hf32 = modes.hf32_rounding;
}
/* The order in which the cube walks over C, which changes no value. */
inline void SetMMLayoutTransform(bool) {}
inline void SetMMRowMajor() {}
inline void SetMMColumnMajor() {}

}  // namespace AscendC
