/* Logical positions of tensors, the memory that each lies in, and the pipe that fills or empties it. */
#pragma once

#include "issue.h"

namespace AscendC {

enum class TPosition : uint8_t {
    GM,
    A1,
    A2,
    B1,
    B2,
    C1,
    C2,
    CO1,
    CO2,
    VECIN,
    VECOUT,
    VECCALC,
    LCM = VECCALC,
    SPM,
    SHM = SPM,
    TSCM,
    C2PIPE2GM,
    C2PIPE2LOCAL,
    MAX
};
using QuePosition = TPosition;

/* As asc_cpu::Space. */
enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };

}  // namespace AscendC

namespace asc_cpu {

using AscendC::TPosition;

constexpr Space space_of(TPosition position) {
    switch (position) {
        case TPosition::GM: return Space::GM;
        case TPosition::CO2: return Space::UB; /* of the older chips; newer ones have no such buffer */
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::C1:
        case TPosition::SPM:
        case TPosition::TSCM: return Space::L1;
        case TPosition::A2: return Space::L0A;
        case TPosition::B2: return Space::L0B;
        case TPosition::C2: return Space::BT;
        case TPosition::CO1: return Space::L0C;
        case TPosition::C2PIPE2GM:
        case TPosition::C2PIPE2LOCAL: return Space::FB;
        default: return Space::UB;
    }
}

/* The memory of a queue between two positions: the nearer end that is not global memory. */
constexpr TPosition home_of(TPosition from, TPosition to) {
    return to == TPosition::GM || to == TPosition::CO2 ? from : to;
}

/* The pipe that fills a queue's tensors. */
constexpr pipe_t filler_of(TPosition from, TPosition to) {
    switch (home_of(from, to)) {
        case TPosition::VECIN:
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::C1:
        case TPosition::TSCM:
        case TPosition::SPM: return from == TPosition::VECOUT || from == TPosition::VECCALC ? PIPE_MTE3 : PIPE_MTE2;
        case TPosition::A2:
        case TPosition::B2:
        case TPosition::C2: return PIPE_MTE1;
        case TPosition::C2PIPE2GM: return PIPE_FIX;
        case TPosition::CO1: return PIPE_M;
        case TPosition::VECOUT: return from == TPosition::VECIN ? PIPE_MTE2 : PIPE_V;
        default: return PIPE_V;
    }
}
/* The pipe that uses them after DeQue. */
constexpr pipe_t user_of(TPosition from, TPosition to) {
    switch (home_of(from, to)) {
        case TPosition::VECIN: return PIPE_V;
        case TPosition::CO2:
        case TPosition::VECOUT: return PIPE_MTE3;
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::C1:
        case TPosition::TSCM:
        case TPosition::SPM: return PIPE_MTE1;
        case TPosition::A2:
        case TPosition::B2:
        case TPosition::C2: return PIPE_M;
        case TPosition::CO1:
        case TPosition::C2PIPE2GM: return PIPE_FIX;
        default: return PIPE_V;
    }
}

}  // namespace asc_cpu
