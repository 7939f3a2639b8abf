/* Mmad: C in L0C = A in L0A times B in L0B, from zero, from what C holds, or from a bias. */
#pragma once

#include "cube_operand.h"
#include "mmad_values.h"

namespace AscendC {

/* C starts from zero where cmatrixInitVal is true and isBias is not; else from the bias table where cmatrixSource is
 * true, else from what it holds. unitFlag 2 or 3 lets Fixpipe and Mmad wait for each other by themselves. */
struct MmadParams {
    MmadParams() = default;
    MmadParams(uint16_t m_in, uint16_t n_in, uint16_t k_in, bool bias, uint8_t offset = 0, bool sparse = false,
               bool winograd_a = false, bool winograd_b = false)
        : m(m_in),
          n(n_in),
          k(k_in),
          isBias(bias),
          fmOffset(offset),
          enSsparse(sparse),
          enWinogradA(winograd_a),
          enWinogradB(winograd_b) {}
    MmadParams(uint16_t m_in, uint16_t n_in, uint16_t k_in, uint8_t unit, bool source, bool zero)
        : m(m_in), n(n_in), k(k_in), unitFlag(unit), cmatrixSource(source), cmatrixInitVal(zero) {}
    uint16_t m = 0, n = 0, k = 0;
    bool isBias = false;
    int32_t fmOffset = 0;
    bool enSsparse = false, enWinogradA = false, enWinogradB = false;
    uint8_t unitFlag = 0;
    bool kDirectionAlign = false, cmatrixSource = false, cmatrixInitVal = true, disableGemv = false;
};

}  // namespace AscendC

namespace asc_cpu {

/* What a sum of products of A and B is held in. */
template <typename A>
using SumOf = std::conditional_t<bits_of<A> <= 8 && !is_floating<A>, int32_t, float>;

/* Whether nothing of an operand was ever written. */
inline bool is_blank(const Operand &o) {
    Memory &m = core().in(o.space);
    bool blank = true;
    o.each_run([&](const Run &run) {
        for (uint32_t i = 0; blank && o.base && m.holds(o.base) && i < run.repeats; i++)
            blank = m.written.none(uint64_t(o.base - m.data() + run.begin + run.stride * int64_t(i)), run.bytes);
    });
    return blank;
}
/* Whether k elements from fractal `at` on, every `step`-th fractal, were written: a row of A or a column of B. */
template <typename T>
inline bool is_line_written(Memory &m, uint64_t at, uint64_t step, uint32_t k) {
    for (uint32_t left = k; left;) {
        const uint32_t here = left < c0_of<T> ? left : c0_of<T>;
        if (!m.written.all(at, (uint64_t(here) * bits_of<T> + 7) / 8)) return false;
        at += step, left -= here;
    }
    return true;
}
/* Whole fractals are multiplied, of which rows and columns may lack: what they make of C counts as unwritten, and is
 * told here if it is all of C, where it is taken otherwise. */
template <typename A, typename B, typename C>
inline void leave_unwritten(const MmadShape &s, const Operand &c, const Operand &a, const Operand &b) {
    Memory &out = core().in(c.space), &in_a = core().in(a.space), &in_b = core().in(b.space);
    const uint64_t at_c = uint64_t(c.base - out.data()), at_a = uint64_t(a.base - in_a.data());
    const uint64_t at_b = uint64_t(b.base - in_b.data()), bands = s.bands<A>();
    const uint64_t step_b = divide_up(s.n, FRACTAL_ROWS) * FRACTAL_BYTES;
    uint32_t rows = 0, columns = 0;
    const auto clear = [&](uint32_t row, uint32_t column) {
        out.written.clear(at_c + nz_offset(row, column, s.rows_c(), FRACTAL_ROWS) * sizeof(C), sizeof(C));
    };
    for (uint32_t row = 0; !s.single_row() && row < s.m; row++) {
        if (is_line_written<A>(in_a, at_a + bytes_of<A>(zz_offset(row, 0, bands, c0_of<A>)), FRACTAL_BYTES, s.k))
            continue;
        for (uint32_t column = 0; column < s.n; column++) clear(row, column);
        rows++;
    }
    for (uint32_t column = 0; column < s.n; column++) {
        if (is_line_written<B>(in_b, at_b + column * uint64_t(C0_BYTES), step_b, s.k)) continue;
        for (uint32_t row = 0; row < s.m; row++) clear(row, column);
        columns++;
    }
    Issued &product = core().log.back();
    const uint32_t id = uint32_t(core().log.size() - 1);
    if (rows == s.m || columns == s.n)
        product.root = id;
    else if (rows || columns)
        product.partly = id;
}

template <typename C, typename A, typename B>
inline void multiply_in_cube(const AscendC::LocalTensor<C> &c, const AscendC::LocalTensor<A> &a,
                             const AscendC::LocalTensor<B> &b, const Operand *bias, const AscendC::MmadParams &p,
                             Where w) {
    mark_cube_code<C>();
    constexpr bool is_half = std::is_same_v<C, half>; /* of chips with a single kind of core */
    static_assert(sizeof(C) == 4 || is_half, "Mmad sums in float, int32_t or half");
    using Sum = std::conditional_t<std::is_same_v<C, float> || is_half, float, int32_t>;
    using Stored = std::conditional_t<is_half, half, Sum>;
    need_parameter(w, p.m && p.n && p.k, "Mmad", "m, n and k are not 0");
    need_parameter(w, !p.enSsparse, "Mmad", "sparse matrices are not simulated");
    const CubeModes &modes = cube_modes();
    const MmadShape shape{p.m, p.n, p.k, p.kDirectionAlign, !p.disableGemv, modes.hf32};
    const bool zero = p.cmatrixInitVal && !p.isBias;
    if (zero && bias)
        advise("ErrorParam", "set cmatrixInitVal = false", "Mmad: C starts from zero, and the bias is not added");
    const bool from_table = bias ? bias->space == Space::BT : p.cmatrixSource;
    const MmadInitial initial = zero ? MmadInitial::Zero : from_table ? MmadInitial::Bias : MmadInitial::Sums;
    const Operand target = writes_bytes(c, {0, shape.elements_c() * sizeof(C)});
    const Operand sums =
        reads_bytes(c, {0, initial == MmadInitial::Sums ? shape.elements_c() * sizeof(C) : 0}).loosely();
    std::vector<Run> of_a, of_b;
    shape.template add_runs_a<A>(of_a);
    shape.template add_runs_b<B>(of_b);
    const Operand left = a.reads_runs(of_a).aligned(L0_ALIGN), right = b.reads_runs(of_b).aligned(L0_ALIGN);
    need_space(w, target, Space::L0C, "Mmad", "L0C (CO1)");
    need_space(w, left, Space::L0A, "Mmad", "L0A (A2)");
    need_space(w, right, Space::L0B, "Mmad", "L0B (B2)");
    Memory &biases = core().in(Space::BT);
    Operand table =
        from_table && bias ? *bias : Operand{Space::BT, false, 32, 1, nullptr, biases.data(), biases.size(), {}};
    if (initial == MmadInitial::Bias) table.run = {0, shape.n * uint64_t(4)};
    if (p.unitFlag) wait_by_unit_flag(PIPE_M, PIPE_FIX);
    Stored *const out = reinterpret_cast<Stored *>(target.base);
    const uint8_t *const l = left.base, *const r = right.base;
    const Sum *const t = reinterpret_cast<const Sum *>(table.base);
    const bool known = !CHECKED || is_foreign({target, left, right});
    const Operand used_a = known || is_blank(left) ? left : left.loosely();
    const Operand used_b = known || is_blank(right) ? right : right.loosely();
    issue(PIPE_M, "Mmad", w, {target, sums, used_a, used_b, table},
          [=] { mmad_values<A, B, Sum>(out, l, r, t, initial, shape); });
    if (!known) leave_unwritten<A, B, C>(shape, target, left, right);
}

}  // namespace asc_cpu

namespace AscendC {

template <typename C, typename A, typename B>
inline void Mmad(const LocalTensor<C> &c, const LocalTensor<A> &a, const LocalTensor<B> &b, const MmadParams &p,
                 asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::multiply_in_cube(c, a, b, nullptr, p, w);
}
/* With a bias of n elements in the bias table (C2), or sums in L0C. */
template <typename C, typename A, typename B, typename D>
inline void Mmad(const LocalTensor<C> &c, const LocalTensor<A> &a, const LocalTensor<B> &b, const LocalTensor<D> &bias,
                 const MmadParams &p, asc_cpu::Where w = asc_cpu::Where::here()) {
    static_assert(sizeof(D) == 4, "a bias in the bias table is float or int32_t");
    const asc_cpu::Operand table = asc_cpu::reads_bytes(bias, {}, 1);
    asc_cpu::multiply_in_cube(c, a, b, &table, p, w);
}

}  // namespace AscendC
