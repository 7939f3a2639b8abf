/* The tiles of a Matmul: what of A, B and the bias one takes, its sums, and where they go. */
#pragma once

#include "product.h"

namespace asc_cpu {

template <class A, class B, class C, class Bias>
class Tiles {
    using CubeFormat = AscendC::CubeFormat;
    using TA = typename A::T;
    using TB = typename B::T;
    using TC = typename C::T;
    using TBias = typename Bias::T;

   public:
    using Sum = std::conditional_t<is_floating<TA> || is_floating<TB>, float, int32_t>;
    using Sums = std::shared_ptr<std::vector<Sum>>;

    ProductShape shape;
    Source a, b, bias, vector; /* vector: factors of quantisation, one per column */
    Hf32 hf32 = Hf32::Off;
    uint64_t scalar = 0; /* one factor for all */
    bool quant = false;
    uint64_t row_a = 0, row_b = 0; /* elements from row to row, where a batch's layout says so */

    /* The sums of one tile, which the cube will have computed when a later instruction of it runs. */
    Sums multiply_tile(const Tile &tile, const Sums &before, const Source &lhs, const Source &rhs, const Source &added,
                       Where w) const {
        if (!lhs.set || !rhs.set)
            fail_with("ErrorParam", "call SetTensorA and SetTensorB", "Matmul: an operand was not set");
        const Matrix left = matrix_a(lhs).template part<TA>(tile.row, 0, tile.rows, shape.single_k);
        const Matrix right = matrix_b(rhs).template part<TB>(0, tile.column, shape.single_k, tile.columns);
        Operand reads_a = lhs.memory, reads_b = rhs.memory, reads_bias = added.memory;
        place_operand(reads_a, lhs, left.base, left.bytes(bits_of<TA>));
        place_operand(reads_b, rhs, right.base, right.bytes(bits_of<TB>));
        const uint8_t *const add = added.set ? added.memory.base + tile.column * sizeof(TBias) : nullptr;
        place_operand(reads_bias, added, add, {0, added.set ? tile.columns * sizeof(TBias) : 0});
        if (!added.set) reads_bias = reads_a, reads_bias.run = {};
        Sums sums = std::make_shared<std::vector<Sum>>();
        wait_for_core(PIPE_M);
        const Together together;
        const uint64_t columns = tile.columns;
        const Hf32 rounding = hf32;
        const uint64_t number_a = lhs.bits, number_b = rhs.bits;
        const bool is_a = lhs.number, is_b = rhs.number;
        issue(PIPE_M, "Matmul", w, {reads_a, reads_b, reads_bias}, [=] {
            if (before) *sums = *before;
            sums->resize(left.rows * columns, Sum(0));
            Matrix l = left, r = right;
            if (is_a) l = one_number(number_a, left);
            if (is_b) r = one_number(number_b, right);
            add_product<TA, TB, Sum>(*sums, l, r, rounding);
            for (uint64_t i = 0; add && i < sums->size(); i++)
                (*sums)[i] += operand_at<TBias, Sum>(add, i % columns, Hf32::Off);
        });
        return sums;
    }
    /* Stores the rectangle `at` of sums, whose first column is column `from.column` of this core's share. */
    template <typename Target>
    void store(const Target &c, const Sums &sums, const Tile &at, const Tile &from, const Destination &place,
               uint8_t atomic, Where w) const {
        Operand target = c.writes(0, 0);
        target.run = place.bytes(at, bits_of<TC>), target.align = 1;
        const QuantMode_t how = mode();
        Operand factors = vector.set ? vector.memory : target;
        factors.write = vector.set ? false : target.write;
        factors.run = {int64_t(from.column * 8), vector.set ? at.columns * 8 : 0};
        const uint64_t *const scales =
            vector.set ? reinterpret_cast<const uint64_t *>(vector.memory.base) + from.column : nullptr;
        const uint64_t one = scalar;
        const Atomic add = atomic == 1                 ? Atomic::Add
                           : atomic == 2               ? Atomic::Max
                           : atomic == 3               ? Atomic::Min
                           : target.space == Space::GM ? core().atomic
                                                       : Atomic::None;
        TC *const to = reinterpret_cast<TC *>(target.base);
        wait_for_core(PIPE_FIX);
        issue(PIPE_FIX, "Matmul", w, {target, factors}, [=] {
            for (uint64_t column = 0; column < at.columns; column++) {
                const QuantFactor factor = how == NoQuant ? QuantFactor() : QuantFactor(scales ? scales[column] : one);
                for (uint64_t row = 0; row < at.rows; row++)
                    store_by(to[place.at(at.row + row, at.column + column)],
                             quantised<TC>((*sums)[row * at.columns + column], how, factor, false), add);
            }
        });
    }
    Destination global_place(uint64_t first) const {
        const uint64_t row = shape.c_row ? shape.c_row : shape.n;
        if (C::format == CubeFormat::NZ) return {first, align_up(shape.m, 16), true, strip_of<TC>(false)};
        return {first, C::format == CubeFormat::ND_ALIGN ? align_up(row, 32 / sizeof(TC)) : row, false, 16};
    }
    static Destination local_place(const Tile &tile) {
        if (C::format == CubeFormat::NZ) return {0, align_up(tile.rows, 16), true, strip_of<TC>(false)};
        return {0, align_up(tile.columns, 32 / sizeof(TC)), false, 16};
    }

   private:
    /* The operands as matrices: whole rows apart in global memory, of this core's share in a local one. */
    template <typename Type>
    Matrix matrix(const Source &s, uint64_t rows, uint64_t columns, uint64_t all_rows, uint64_t all_columns,
                  uint64_t given) const {
        using T = typename Type::T;
        const bool local = s.memory.space != Space::GM;
        Matrix m{s.memory.base, rows, columns, 0, s.transposed, Type::format == CubeFormat::NZ, c0_of<T>};
        const uint64_t r = s.transposed ? (local ? columns : all_columns) : (local ? rows : all_rows);
        const uint64_t c = s.transposed ? (local ? rows : all_rows) : (local ? columns : all_columns);
        const bool aligned = local || Type::format == CubeFormat::ND_ALIGN;
        m.apart = m.strips ? align_up(r, 16) : aligned ? align_up(c, c0_of<T>) : c;
        if (given) m.apart = given;
        return m;
    }
    Matrix matrix_a(const Source &s) const {
        return matrix<A>(s, shape.single_m, shape.single_k, shape.m, shape.ka, row_a);
    }
    Matrix matrix_b(const Source &s) const {
        return matrix<B>(s, shape.single_k, shape.single_n, shape.kb, shape.n, row_b);
    }

    static void place_operand(Operand &o, const Source &s, const uint8_t *from, const Run &run) {
        o.align = 1;
        o.run = s.number ? Run{} : run;
        if (s.number)
            o.base = core().in(Space::UB).data(), o.buffer = nullptr, o.space = Space::UB;
        else
            o.run.begin += from - o.base;
    }
    static Matrix one_number(const uint64_t &number, Matrix like) {
        like.base = reinterpret_cast<const uint8_t *>(&number), like.rows = like.columns = 1;
        return like;
    }

    QuantMode_t mode() const {
        const bool by_column = vector.set;
        if (!quant) return NoQuant;
        if constexpr (std::is_same_v<Sum, int32_t>)
            return quant_to_b8<TC> ? (by_column ? VREQ8 : REQ8) : (by_column ? VDEQF16 : DEQF16);
        else
            return quant_to_b8<TC> ? (by_column ? VQF322B8_PRE : QF322B8_PRE)
                                   : (by_column ? VQF322F16_PRE : QF322F16_PRE);
    }
};

}  // namespace asc_cpu
