/* Matmul: the library's matrix product, C = A * B + bias, tile by tile or all at once.
 *
 * The product is computed where it is asked for: by the vector core of a mixed kernel, or by a cube core of its own.
 * Sums are float (int32 for integer operands) in the order of k. It waits for all that its core has issued before, as
 * the library's messages to the cube do; sync = false lets the core go on until Wait* or GetTensorC.
 */
#pragma once

#include "batch_layout.h"
#include "tiles.h"

namespace AscendC {

template <auto copyOut = nullptr, auto copyA = nullptr, auto copyB = nullptr>
struct MatmulCallBackFunc {
    static constexpr bool none = std::is_same_v<decltype(copyOut), std::nullptr_t> &&
                                 std::is_same_v<decltype(copyA), std::nullptr_t> &&
                                 std::is_same_v<decltype(copyB), std::nullptr_t>;
};
struct MatmulPolicy {};

/* Where GetTensorC's tile lies in C. */
struct MatrixOffset {
    int32_t offset = 0, row = 0, col = 0, height = 0, width = 0;
};

template <class A, class B, class C, class Bias = C, const auto &config = CFG_NORM,
          class Callbacks = MatmulCallBackFunc<>, class Policy = MatmulPolicy>
class Matmul {
    static_assert(Callbacks::none, "callbacks of Matmul (MatmulCallBackFunc) are not simulated");
    using TA = typename A::T;
    using TB = typename B::T;
    using TC = typename C::T;
    using TBias = typename Bias::T;
    using Sums = typename asc_cpu::Tiles<A, B, C, Bias>::Sums;
    using Where = asc_cpu::Where;

   public:
    using AType = A;
    using BType = B;
    using CType = C;
    using BiasType = Bias;

    Matmul() = default;
    /* tiling: a TCubeTiling of the host's or the kernel's, or the address of one; without one, nothing is known yet. */
    template <typename Tiling>
    void Init(const Tiling &tiling, TPipe * = nullptr) {
        asc_cpu::mark_cube_code<TC>();
        if constexpr (std::is_pointer_v<Tiling>) {
            if (tiling)
                Init(*tiling);
            else if constexpr (asc_cpu::is_static_tiling<decltype(config)>)
                Init(asc_cpu::tiling_of<AscendC::TCubeTiling>(config));
        } else {
            static_assert(sizeof(Tiling) >= sizeof(tiling_), "the tiling of a Matmul is TCubeTiling");
            std::memcpy(static_cast<void *>(&tiling_), &tiling, sizeof tiling_);
            tiles_.shape.take(tiling_);
            begin();
        }
    }
    void SetSubBlockIdx(uint8_t) {}

    void SetOrgShape(int m, int n, int k) { SetOrgShape(m, n, k, k); }
    void SetOrgShape(int m, int n, int ka, int kb, int c_row = 0) {
        tiles_.shape.m = uint64_t(m), tiles_.shape.n = uint64_t(n), tiles_.shape.ka = uint64_t(ka),
        tiles_.shape.kb = uint64_t(kb);
        tiles_.shape.c_row = uint64_t(c_row);
    }
    void SetSingleShape(int m, int n, int k) { SetTail(m, n, k); }
    void SetTail(int m = -1, int n = -1, int k = -1) {
        if (m >= 0) tiles_.shape.single_m = uint64_t(m);
        if (n >= 0) tiles_.shape.single_n = uint64_t(n);
        if (k >= 0) tiles_.shape.single_k = uint64_t(k);
        begin();
    }
    void SetTensorA(const GlobalTensor<TA> &a, bool transposed = false) {
        set(tiles_.a, a.reads(0, 0), transposed, A::isTrans);
    }
    void SetTensorA(const LocalTensor<TA> &a, bool transposed = false) {
        set(tiles_.a, a.reads(0, 0), transposed, A::isTrans);
    }
    void SetTensorA(TA a) { set_number(tiles_.a, a); }
    void SetTensorB(const GlobalTensor<TB> &b, bool transposed = false) {
        set(tiles_.b, b.reads(0, 0), transposed, B::isTrans);
    }
    void SetTensorB(const LocalTensor<TB> &b, bool transposed = false) {
        set(tiles_.b, b.reads(0, 0), transposed, B::isTrans);
    }
    void SetTensorB(TB b) { set_number(tiles_.b, b); }
    void SetBias(const GlobalTensor<TBias> &bias) { set(tiles_.bias, bias.reads(0, 0), false, true); }
    void SetBias(const LocalTensor<TBias> &bias) { set(tiles_.bias, bias.reads(0, 0), false, true); }
    void ClearBias() { tiles_.bias.set = false; }
    void DisableBias() { tiles_.bias.set = false; }
    void SetHF32(bool on = false, int32_t towards_zero = 0) {
        tiles_.hf32 = !on ? asc_cpu::Hf32::Off : towards_zero ? asc_cpu::Hf32::Truncate : asc_cpu::Hf32::Nearest;
    }
    void SetQuantScalar(uint64_t scale) { tiles_.scalar = scale, tiles_.quant = true, tiles_.vector.set = false; }
    void SetQuantVector(const GlobalTensor<uint64_t> &scales) {
        set(tiles_.vector, scales.reads(0, 0), false, true), tiles_.quant = true;
    }
    void SetQuantVector(const LocalTensor<uint64_t> &scales) {
        set(tiles_.vector, scales.reads(0, 0), false, true), tiles_.quant = true;
    }
    template <typename T>
    void SetSelfDefineData(T) {}
    void SetUserDefInfo(uint64_t) {}
    void SetLocalWorkspace(const LocalTensor<uint8_t> &) {}
    template <typename T>
    void SetWorkspace(const GlobalTensor<T> &memory) {
        workspace_.SetGlobalBuffer(reinterpret_cast<TC *>(memory.data()), memory.GetSize() * sizeof(T) / sizeof(TC));
    }
    template <typename T>
    void SetWorkspace(const T *address, int bytes) {
        workspace_.SetGlobalBuffer(reinterpret_cast<TC *>(const_cast<T *>(address)), uint64_t(bytes) / sizeof(TC));
    }
    void SetBatchNum(int batch_a, int batch_b) { batch_a_ = uint32_t(batch_a), batch_b_ = uint32_t(batch_b); }
    void End() { begin(); }
    const AscendC::TCubeTiling &GetTiling() const { return tiling_; }

    /* Computes the next tile. False when there is none. partial: it is added to the tile of the call before. */
    template <bool sync = true>
    bool Iterate(bool partial = false, Where w = Where::here()) {
        if (idle()) return false;
        tiles_.shape.check("Iterate");
        if (!sync && next_ < tiles_.shape.tiles()) return to_workspace(w);
        if (next_ >= tiles_.shape.tiles()) return false;
        tile_ = tiles_.shape.tile(next_++);
        sums_ = tiles_.multiply_tile(tile_, partial ? sums_ : nullptr, tiles_.a, tiles_.b, tiles_.bias, w);
        return true;
    }
    template <bool sync = true, typename T>
    bool Iterate(bool partial, const LocalTensor<T> &, Where w = Where::here()) {
        return Iterate<sync>(partial, w);
    }
    /* Stores the tile that Iterate computed, in its place of C or (sequential) at the first element. */
    template <bool sync = true, bool pad = false, uint32_t height = 0, uint32_t width = 0, uint32_t x = 0,
              uint32_t y = 0>
    void GetTensorC(const GlobalTensor<TC> &c, uint8_t atomic = 0, bool sequential = false, Where w = Where::here()) {
        if (idle()) return;
        if (queued()) return fetch(c, sequential, w);
        need_tile("GetTensorC");
        store_tile(c, sequential, atomic, w);
        asc_cpu::wait_for_product();
    }
    template <bool sync = true, bool pad = false, uint32_t height = 0, uint32_t width = 0, uint32_t x = 0,
              uint32_t y = 0>
    void GetTensorC(const LocalTensor<TC> &c, uint8_t atomic = 0, bool = false, Where w = Where::here()) {
        if (idle()) return;
        if (queued()) return fetch(c, w);
        need_tile("GetTensorC");
        const asc_cpu::Tile at_origin{0, 0, tile_.rows, tile_.columns};
        tiles_.store(c, sums_, at_origin, at_origin, tiles_.local_place(tile_), atomic, w);
        asc_cpu::wait_for_product();
    }
    /* To global memory and to a copy of the tile at once. */
    template <bool sync = true>
    void GetTensorC(const GlobalTensor<TC> &c, const LocalTensor<TC> &copy, uint8_t atomic = 0, bool sequential = false,
                    Where w = Where::here()) {
        GetTensorC<sync>(c, atomic, sequential, w);
        GetTensorC<sync>(copy, 0, false, w);
    }
    /* The next tile that Iterate<false> left in the workspace. */
    template <bool sync = true>
    GlobalTensor<TC> GetTensorC(uint8_t = 0, bool = false, Where w = Where::here()) {
        if (idle()) return {};
        if (w.line) asc_cpu::place().where = w;
        if (!queued())
            asc_cpu::fail_with("ErrorParam", "call Iterate<false> first",
                               "GetTensorC: no tile is left in the workspace");
        asc_cpu::wait_for_product();
        return workspace_[fetched_++ * tiles_.shape.base_m * tiles_.shape.base_n];
    }
    void WaitGetTensorC() { asc_cpu::wait_for_product(); }
    void AsyncGetTensorC(const LocalTensor<TC> &c, Where w = Where::here()) { GetTensorC<false>(c, 0, false, w); }
    MatrixOffset GetOffsetC() const {
        return {int32_t(tile_.row * tiles_.shape.n + tile_.column), int32_t(tile_.row), int32_t(tile_.column),
                int32_t(tile_.rows), int32_t(tile_.columns)};
    }

    template <bool sync = true>
    void IterateAll(const GlobalTensor<TC> &c, uint8_t atomic = 0, bool sequential = false, bool = false, bool = false,
                    Where w = Where::here()) {
        if (idle()) return;
        tiles_.shape.check("IterateAll");
        if (sequential) {
            for (next_ = 0; Iterate(false, w);)
                store_tile(c[(next_ - 1) * tiles_.shape.base_m * tiles_.shape.base_n], true, atomic, w);
        } else {
            all(c, tiles_.a, tiles_.b, tiles_.bias, tiles_.global_place(0), atomic, w);
        }
        next_ = tiles_.shape.tiles();
        if (sync) asc_cpu::wait_for_product();
    }
    template <bool sync = true>
    void IterateAll(const LocalTensor<TC> &c, uint8_t atomic = 0, Where w = Where::here()) {
        if (idle()) return;
        tiles_.shape.check("IterateAll");
        all(c, tiles_.a, tiles_.b, tiles_.bias, tiles_.local_place(tiles_.shape.whole()), atomic, w);
        next_ = tiles_.shape.tiles();
        if (sync) asc_cpu::wait_for_product();
    }
    void WaitIterateAll() { asc_cpu::wait_for_product(); }
    void WaitIterateBatch() { asc_cpu::wait_for_product(); }

    /* batch_a and batch_b products; the smaller number is a divisor of the other, and its matrices are used again. */
    template <bool sync = true, bool wait = false>
    void IterateBatch(const GlobalTensor<TC> &c, uint32_t batch_a, uint32_t batch_b, bool = false, uint32_t step_a = 0,
                      uint32_t step_b = 0, uint32_t step_c = 0, bool = false, uint8_t atomic = 0,
                      Where w = Where::here()) {
        if (idle()) return;
        tiles_.shape.check("IterateBatch");
        const uint32_t n = std::max(batch_a, batch_b);
        for (uint32_t i = 0; i < n; i++) {
            asc_cpu::Source a = tiles_.a, b = tiles_.b, bias = tiles_.bias;
            const asc_cpu::BatchLayout la = layout_a(step_a), lb = layout_b(step_b), lc = layout_c(step_c);
            move<TA>(a, la.offset(i / (n / batch_a)));
            move<TB>(b, lb.offset(i / (n / batch_b)));
            if (bias.set && asc_cpu::config_of(config).isBiasBatch)
                move<TBias>(bias, uint64_t(i) * tiles_.shape.single_n);
            tiles_.row_a = la.row, tiles_.row_b = lb.row;
            all(c, a, b, bias, {lc.offset(i), lc.row, false, 16}, atomic, w);
        }
        tiles_.row_a = tiles_.row_b = 0;
        if (sync) asc_cpu::wait_for_product();
    }
    template <bool sync = true, bool wait = false>
    void IterateBatch(const LocalTensor<TC> &c, uint32_t batch_a, uint32_t batch_b, bool sequential = false,
                      uint32_t step_a = 0, uint32_t step_b = 0, uint32_t step_c = 0, bool = false, uint8_t = 0,
                      Where w = Where::here()) {
        (void)sequential;
        const uint32_t n = std::max(batch_a, batch_b);
        for (uint32_t i = 0; !idle() && i < n; i++) {
            asc_cpu::Source a = tiles_.a, b = tiles_.b;
            const asc_cpu::BatchLayout la = layout_a(step_a), lb = layout_b(step_b);
            move<TA>(a, la.offset(i / (n / batch_a)));
            move<TB>(b, lb.offset(i / (n / batch_b)));
            asc_cpu::Destination place = tiles_.local_place(tiles_.shape.whole());
            place.first = i * (step_c ? step_c : tiles_.shape.single_m * place.apart);
            all(c, a, b, tiles_.bias, place, 0, w);
        }
        asc_cpu::wait_for_product();
    }

   private:
    bool idle() const { return asc_cpu::serves_products(); }
    /* From the first tile. */
    void begin() { next_ = produced_ = fetched_ = 0, sums_ = nullptr; }
    void set(asc_cpu::Source &to, const asc_cpu::Operand &memory, bool transposed, bool may) {
        if (transposed && !may)
            asc_cpu::fail_with("ErrorParam", "give MatmulType true as its fourth argument",
                               "SetTensor: a transposed matrix of a MatmulType that is not");
        to.memory = memory, to.set = true, to.transposed = transposed, to.number = false;
        begin();
    }
    template <typename T>
    void set_number(asc_cpu::Source &to, T value) {
        std::memcpy(&to.bits, &value, sizeof value);
        to.set = to.number = true;
        begin();
    }
    template <typename T>
    static void move(asc_cpu::Source &source, uint64_t elements) {
        const uint64_t bytes = asc_cpu::bytes_of<T>(elements);
        source.memory.base += bytes;
        source.memory.limit = source.memory.limit > bytes ? source.memory.limit - bytes : 0;
    }
    void need_tile(const char *call) const {
        if (!sums_) asc_cpu::fail_with("ErrorParam", "call Iterate first", "%s: no tile was computed", call);
    }
    bool queued() const { return produced_ > fetched_; }

    void store_tile(const GlobalTensor<TC> &c, bool sequential, uint8_t atomic, Where w) {
        const asc_cpu::Tile at_origin{0, 0, tile_.rows, tile_.columns};
        if (sequential)
            tiles_.store(c, sums_, at_origin, tile_, {0, tile_.columns, false, 16}, atomic, w);
        else
            tiles_.store(c, sums_, tile_, tile_, tiles_.global_place(0), atomic, w);
    }
    template <typename Target>
    void all(const Target &c, const asc_cpu::Source &a, const asc_cpu::Source &b, const asc_cpu::Source &bias,
             const asc_cpu::Destination &place, uint8_t atomic, Where w) {
        const asc_cpu::Tile whole = tiles_.shape.whole();
        tiles_.store(c, tiles_.multiply_tile(whole, nullptr, a, b, bias, w), whole, whole, place, atomic, w);
    }

    /* Iterate<false>: all tiles at once, one behind the other in the workspace; true until each was fetched. */
    bool to_workspace(Where w) {
        if (!workspace_.data())
            asc_cpu::fail_with("ErrorParam", "call SetWorkspace", "Iterate<false> without a workspace");
        while (next_ < tiles_.shape.tiles()) {
            tile_ = tiles_.shape.tile(next_);
            sums_ = tiles_.multiply_tile(tile_, nullptr, tiles_.a, tiles_.b, tiles_.bias, w);
            store_tile(workspace_[next_++ * tiles_.shape.base_m * tiles_.shape.base_n], true, 0, w);
        }
        produced_ = next_;
        return true;
    }
    /* The next tile out of the workspace. */
    template <typename Copy>
    void fetch_with(Copy copy, Where w) {
        if (w.line) asc_cpu::place().where = w;
        tile_ = tiles_.shape.tile(fetched_);
        const GlobalTensor<TC> from = workspace_[fetched_++ * tiles_.shape.base_m * tiles_.shape.base_n];
        asc_cpu::wait_for_product();
        copy(from);
    }
    void fetch(const LocalTensor<TC> &c, Where w) {
        fetch_with(
            [&](const GlobalTensor<TC> &from) {
                using namespace asc_cpu;
                const Destination place = tiles_.local_place(tile_);
                const Tile at{0, 0, tile_.rows, tile_.columns};
                Operand target = c.writes(0, 0), source = from.reads(0, tile_.rows * tile_.columns);
                target.run = place.bytes(at, bits_of<TC>), target.align = 1;
                TC *const to = reinterpret_cast<TC *>(target.base);
                const TC *const t = from.data();
                issue(PIPE_MTE2, "GetTensorC", w, {target, source}, [=] {
                    for (uint64_t row = 0; row < at.rows; row++)
                        for (uint64_t column = 0; column < at.columns; column++)
                            to[place.at(row, column)] = t[row * at.columns + column];
                });
                core().learn(0, core().after(index_of(PIPE_MTE2)));
            },
            w);
    }
    void fetch(const GlobalTensor<TC> &c, bool sequential, Where w) {
        fetch_with(
            [&](const GlobalTensor<TC> &from) {
                using namespace asc_cpu;
                const Destination place =
                    sequential ? Destination{0, tile_.columns, false, 16} : tiles_.global_place(0);
                const Tile at = sequential ? Tile{0, 0, tile_.rows, tile_.columns} : tile_;
                Operand target = c.writes(0, 0);
                target.run = place.bytes(at, bits_of<TC>);
                TC *const to = reinterpret_cast<TC *>(target.base);
                const TC *const t = from.data();
                issue(PIPE_FIX, "GetTensorC", w, {target, from.reads(0, at.rows * at.columns)}, [=] {
                    for (uint64_t row = 0; row < at.rows; row++)
                        for (uint64_t column = 0; column < at.columns; column++)
                            to[place.at(at.row + row, at.column + column)] = t[row * at.columns + column];
                });
                wait_for_product();
            },
            w);
    }

    asc_cpu::BatchLayout layout_a(uint64_t step) const {
        return asc_cpu::layout_of_a(A::layout, tiling_, tiles_.shape.m * tiles_.shape.ka, step);
    }
    asc_cpu::BatchLayout layout_b(uint64_t step) const {
        return asc_cpu::layout_of_b(B::layout, tiling_, tiles_.shape.kb * tiles_.shape.n, step);
    }
    asc_cpu::BatchLayout layout_c(uint64_t step) const {
        return asc_cpu::layout_of_c(C::layout, tiling_, tiles_.shape, step);
    }

    AscendC::TCubeTiling tiling_;
    asc_cpu::Tiles<A, B, C, Bias> tiles_;
    uint32_t batch_a_ = 1, batch_b_ = 1;
    GlobalTensor<TC> workspace_;
    /* Tiles: the next to compute, how many the workspace has been given, how many were fetched; the last one's sums. */
    uint64_t next_ = 0, produced_ = 0, fetched_ = 0;
    asc_cpu::Tile tile_;
    Sums sums_;
};

template <class A, class B, class C, class Bias = C, const auto &config = CFG_NORM,
          class Callbacks = MatmulCallBackFunc<>, class Policy = MatmulPolicy>
using MatmulImpl = Matmul<A, B, C, Bias, config, Callbacks, Policy>;
template <class A, class B, class C, class Bias = C, const auto &config = CFG_NORM,
          class Callbacks = MatmulCallBackFunc<>, class Policy = MatmulPolicy>
using BatchMatmul = Matmul<A, B, C, Bias, config, Callbacks, Policy>;

}  // namespace AscendC
