/* Matmul: the library's matrix product, C = A * B + bias, tile by tile or all at once.
 *
 * The product is computed where it is asked for: by the vector core of a mixed kernel, or by a cube core of its own.
 * Sums are float (int32 for integer operands) in the order of k. It waits for all that its core has issued before, as
 * the library's messages to the cube do; sync = false lets the core go on until Wait* or GetTensorC.
 */
#pragma once

#include "product.h"

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
    using Sum = std::conditional_t<asc_cpu::is_floating<TA> || asc_cpu::is_floating<TB>, float, int32_t>;
    using Sums = std::shared_ptr<std::vector<Sum>>;
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
            if (tiling) Init(*tiling);
        } else {
            static_assert(sizeof(Tiling) >= sizeof(tiling_), "the tiling of a Matmul is TCubeTiling");
            std::memcpy(static_cast<void *>(&tiling_), &tiling, sizeof tiling_);
            shape_.take(tiling_);
            begin();
        }
    }
    void SetSubBlockIdx(uint8_t) {}

    void SetOrgShape(int m, int n, int k) { SetOrgShape(m, n, k, k); }
    void SetOrgShape(int m, int n, int ka, int kb, int c_row = 0) {
        shape_.m = uint64_t(m), shape_.n = uint64_t(n), shape_.ka = uint64_t(ka), shape_.kb = uint64_t(kb);
        shape_.c_row = uint64_t(c_row);
    }
    void SetSingleShape(int m, int n, int k) { SetTail(m, n, k); }
    void SetTail(int m = -1, int n = -1, int k = -1) {
        if (m >= 0) shape_.single_m = uint64_t(m);
        if (n >= 0) shape_.single_n = uint64_t(n);
        if (k >= 0) shape_.single_k = uint64_t(k);
        begin();
    }
    void SetTensorA(const GlobalTensor<TA> &a, bool transposed = false) {
        set(a_, a.reads(0, 0), transposed, A::isTrans);
    }
    void SetTensorA(const LocalTensor<TA> &a, bool transposed = false) {
        set(a_, a.reads(0, 0), transposed, A::isTrans);
    }
    void SetTensorA(TA a) { set_number(a_, a); }
    void SetTensorB(const GlobalTensor<TB> &b, bool transposed = false) {
        set(b_, b.reads(0, 0), transposed, B::isTrans);
    }
    void SetTensorB(const LocalTensor<TB> &b, bool transposed = false) {
        set(b_, b.reads(0, 0), transposed, B::isTrans);
    }
    void SetTensorB(TB b) { set_number(b_, b); }
    void SetBias(const GlobalTensor<TBias> &bias) { set(bias_, bias.reads(0, 0), false, true); }
    void SetBias(const LocalTensor<TBias> &bias) { set(bias_, bias.reads(0, 0), false, true); }
    void ClearBias() { bias_.set = false; }
    void DisableBias() { bias_.set = false; }
    void SetHF32(bool on = false, int32_t towards_zero = 0) {
        hf32_ = !on ? asc_cpu::Hf32::Off : towards_zero ? asc_cpu::Hf32::Truncate : asc_cpu::Hf32::Nearest;
    }
    void SetQuantScalar(uint64_t scale) { scalar_ = scale, quant_ = true, vector_.set = false; }
    void SetQuantVector(const GlobalTensor<uint64_t> &scales) {
        set(vector_, scales.reads(0, 0), false, true), quant_ = true;
    }
    void SetQuantVector(const LocalTensor<uint64_t> &scales) {
        set(vector_, scales.reads(0, 0), false, true), quant_ = true;
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
        shape_.check("Iterate");
        if (!sync && next_ < shape_.tiles()) return to_workspace(w);
        if (next_ >= shape_.tiles()) return false;
        tile_ = shape_.tile(next_++);
        sums_ = multiply_tile(tile_, partial ? sums_ : nullptr, a_, b_, bias_, w);
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
        store(c, sums_, at_origin, at_origin, local_place(tile_), atomic, w);
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
        return workspace_[fetched_++ * shape_.base_m * shape_.base_n];
    }
    void WaitGetTensorC() { asc_cpu::wait_for_product(); }
    void AsyncGetTensorC(const LocalTensor<TC> &c, Where w = Where::here()) { GetTensorC<false>(c, 0, false, w); }
    MatrixOffset GetOffsetC() const {
        return {int32_t(tile_.row * shape_.n + tile_.column), int32_t(tile_.row), int32_t(tile_.column),
                int32_t(tile_.rows), int32_t(tile_.columns)};
    }

    template <bool sync = true>
    void IterateAll(const GlobalTensor<TC> &c, uint8_t atomic = 0, bool sequential = false, bool = false, bool = false,
                    Where w = Where::here()) {
        if (idle()) return;
        shape_.check("IterateAll");
        if (sequential) {
            for (next_ = 0; Iterate(false, w);)
                store_tile(c[(next_ - 1) * shape_.base_m * shape_.base_n], true, atomic, w);
        } else {
            all(c, a_, b_, bias_, global_place(0), atomic, w);
        }
        next_ = shape_.tiles();
        if (sync) asc_cpu::wait_for_product();
    }
    template <bool sync = true>
    void IterateAll(const LocalTensor<TC> &c, uint8_t atomic = 0, Where w = Where::here()) {
        if (idle()) return;
        shape_.check("IterateAll");
        all(c, a_, b_, bias_, local_place(shape_.whole()), atomic, w);
        next_ = shape_.tiles();
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
        shape_.check("IterateBatch");
        const uint32_t n = std::max(batch_a, batch_b);
        for (uint32_t i = 0; i < n; i++) {
            asc_cpu::Source a = a_, b = b_, bias = bias_;
            const Laid la = laid(A::layout, false, step_a), lb = laid(B::layout, true, step_b), lc = laid_c(step_c);
            move<TA>(a, la.offset(i / (n / batch_a)));
            move<TB>(b, lb.offset(i / (n / batch_b)));
            if (bias.set && config.isBiasBatch) move<TBias>(bias, uint64_t(i) * shape_.single_n);
            row_a_ = la.row, row_b_ = lb.row;
            all(c, a, b, bias, {lc.offset(i), lc.row, false, 16}, atomic, w);
        }
        row_a_ = row_b_ = 0;
        if (sync) asc_cpu::wait_for_product();
    }
    template <bool sync = true, bool wait = false>
    void IterateBatch(const LocalTensor<TC> &c, uint32_t batch_a, uint32_t batch_b, bool sequential = false,
                      uint32_t step_a = 0, uint32_t step_b = 0, uint32_t step_c = 0, bool = false, uint8_t = 0,
                      Where w = Where::here()) {
        (void)sequential;
        const uint32_t n = std::max(batch_a, batch_b);
        for (uint32_t i = 0; !idle() && i < n; i++) {
            asc_cpu::Source a = a_, b = b_;
            const Laid la = laid(A::layout, false, step_a), lb = laid(B::layout, true, step_b);
            move<TA>(a, la.offset(i / (n / batch_a)));
            move<TB>(b, lb.offset(i / (n / batch_b)));
            asc_cpu::Destination place = local_place(shape_.whole());
            place.first = i * (step_c ? step_c : shape_.single_m * place.apart);
            all(c, a, b, bias_, place, 0, w);
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

    /* The operands as matrices: whole rows apart in global memory, of this core's share in a local one. */
    template <typename Type>
    asc_cpu::Matrix matrix(const asc_cpu::Source &s, uint64_t rows, uint64_t columns, uint64_t all_rows,
                           uint64_t all_columns, uint64_t row) const {
        using T = typename Type::T;
        const bool local = s.memory.space != asc_cpu::Space::GM;
        asc_cpu::Matrix m{s.memory.base,    rows, columns, 0, s.transposed, Type::format == CubeFormat::NZ,
                          asc_cpu::c0_of<T>};
        const uint64_t r = s.transposed ? (local ? columns : all_columns) : (local ? rows : all_rows);
        const uint64_t c = s.transposed ? (local ? rows : all_rows) : (local ? columns : all_columns);
        const bool aligned = local || Type::format == CubeFormat::ND_ALIGN;
        m.apart = m.strips ? asc_cpu::align_up(r, 16) : aligned ? asc_cpu::align_up(c, asc_cpu::c0_of<T>) : c;
        if (row) m.apart = row;
        return m;
    }
    asc_cpu::Matrix matrix_a(const asc_cpu::Source &a) const {
        return matrix<A>(a, shape_.single_m, shape_.single_k, shape_.m, shape_.ka, row_a_);
    }
    asc_cpu::Matrix matrix_b(const asc_cpu::Source &b) const {
        return matrix<B>(b, shape_.single_k, shape_.single_n, shape_.kb, shape_.n, row_b_);
    }

    /* The sums of one tile, which the cube will have computed when a later instruction of it runs. */
    Sums multiply_tile(const asc_cpu::Tile &tile, const Sums &before, const asc_cpu::Source &a,
                       const asc_cpu::Source &b, const asc_cpu::Source &bias, Where w) {
        using namespace asc_cpu;
        if (!a.set || !b.set)
            fail_with("ErrorParam", "call SetTensorA and SetTensorB", "Matmul: an operand was not set");
        const Matrix left = matrix_a(a).template part<TA>(tile.row, 0, tile.rows, shape_.single_k);
        const Matrix right = matrix_b(b).template part<TB>(0, tile.column, shape_.single_k, tile.columns);
        Operand reads_a = a.memory, reads_b = b.memory, reads_bias = bias.memory;
        place_operand(reads_a, a, left.base, left.bytes(bits_of<TA>));
        place_operand(reads_b, b, right.base, right.bytes(bits_of<TB>));
        const uint8_t *const add = bias.set ? bias.memory.base + tile.column * sizeof(TBias) : nullptr;
        place_operand(reads_bias, bias, add, {0, bias.set ? tile.columns * sizeof(TBias) : 0});
        if (!bias.set) reads_bias = reads_a, reads_bias.run = {};
        Sums sums = std::make_shared<std::vector<Sum>>();
        wait_for_core(PIPE_M);
        const Together together;
        const uint64_t columns = tile.columns;
        const Hf32 mode = hf32_;
        const uint64_t number_a = a.bits, number_b = b.bits;
        const bool is_a = a.number, is_b = b.number;
        issue(PIPE_M, "Matmul", w, {reads_a, reads_b, reads_bias}, [=] {
            if (before) *sums = *before;
            sums->resize(left.rows * columns, Sum(0));
            Matrix l = left, r = right;
            if (is_a) l = one_number(number_a, left);
            if (is_b) r = one_number(number_b, right);
            add_product<TA, TB, Sum>(*sums, l, r, mode);
            for (uint64_t i = 0; add && i < sums->size(); i++)
                (*sums)[i] += operand_at<TBias, Sum>(add, i % columns, Hf32::Off);
        });
        return sums;
    }
    static void place_operand(asc_cpu::Operand &o, const asc_cpu::Source &s, const uint8_t *from,
                              const asc_cpu::Run &run) {
        o.align = 1;
        o.run = s.number ? asc_cpu::Run{} : run;
        if (s.number)
            o.base = asc_cpu::core().in(asc_cpu::Space::UB).data(), o.buffer = nullptr, o.space = asc_cpu::Space::UB;
        else
            o.run.begin += from - o.base;
    }
    static asc_cpu::Matrix one_number(const uint64_t &bits, asc_cpu::Matrix like) {
        like.base = reinterpret_cast<const uint8_t *>(&bits), like.rows = like.columns = 1;
        return like;
    }

    QuantMode_t mode() const {
        const bool vector = vector_.set;
        if (!quant_) return NoQuant;
        if constexpr (std::is_same_v<Sum, int32_t>)
            return asc_cpu::quant_to_b8<TC> ? (vector ? VREQ8 : REQ8) : (vector ? VDEQF16 : DEQF16);
        else
            return asc_cpu::quant_to_b8<TC> ? (vector ? VQF322B8_PRE : QF322B8_PRE)
                                            : (vector ? VQF322F16_PRE : QF322F16_PRE);
    }
    /* Stores the rectangle `at` of sums, whose first column is column `from.column` of this core's share. */
    template <typename Target>
    void store(const Target &c, const Sums &sums, const asc_cpu::Tile &at, const asc_cpu::Tile &from,
               const asc_cpu::Destination &place, uint8_t atomic, Where w) {
        using namespace asc_cpu;
        Operand target = c.writes(0, 0);
        target.run = place.bytes(at, bits_of<TC>), target.align = 1;
        const QuantMode_t how = mode();
        Operand factors = vector_.set ? vector_.memory : target;
        factors.write = vector_.set ? false : target.write;
        factors.run = {int64_t(from.column * 8), vector_.set ? at.columns * 8 : 0};
        const uint64_t *const scales =
            vector_.set ? reinterpret_cast<const uint64_t *>(vector_.memory.base) + from.column : nullptr;
        const uint64_t scalar = scalar_;
        const Atomic add = atomic == 1                 ? Atomic::Add
                           : atomic == 2               ? Atomic::Max
                           : atomic == 3               ? Atomic::Min
                           : target.space == Space::GM ? core().atomic
                                                       : Atomic::None;
        TC *const to = reinterpret_cast<TC *>(target.base);
        wait_for_core(PIPE_FIX);
        issue(PIPE_FIX, "Matmul", w, {target, factors}, [=] {
            for (uint64_t column = 0; column < at.columns; column++) {
                const QuantFactor factor =
                    how == NoQuant ? QuantFactor() : QuantFactor(scales ? scales[column] : scalar);
                for (uint64_t row = 0; row < at.rows; row++)
                    store_by(to[place.at(at.row + row, at.column + column)],
                             quantised<TC>((*sums)[row * at.columns + column], how, factor, false), add);
            }
        });
    }
    asc_cpu::Destination global_place(uint64_t first) const {
        const uint64_t row = shape_.c_row ? shape_.c_row : shape_.n;
        if (C::format == CubeFormat::NZ)
            return {first, asc_cpu::align_up(shape_.m, 16), true, asc_cpu::strip_of<TC>(false)};
        return {first, C::format == CubeFormat::ND_ALIGN ? asc_cpu::align_up(row, 32 / sizeof(TC)) : row, false, 16};
    }
    static asc_cpu::Destination local_place(const asc_cpu::Tile &tile) {
        if (C::format == CubeFormat::NZ)
            return {0, asc_cpu::align_up(tile.rows, 16), true, asc_cpu::strip_of<TC>(false)};
        return {0, asc_cpu::align_up(tile.columns, 32 / sizeof(TC)), false, 16};
    }
    void store_tile(const GlobalTensor<TC> &c, bool sequential, uint8_t atomic, Where w) {
        const asc_cpu::Tile at_origin{0, 0, tile_.rows, tile_.columns};
        if (sequential)
            store(c, sums_, at_origin, tile_, {0, tile_.columns, false, 16}, atomic, w);
        else
            store(c, sums_, tile_, tile_, global_place(0), atomic, w);
    }
    template <typename Target>
    void all(const Target &c, const asc_cpu::Source &a, const asc_cpu::Source &b, const asc_cpu::Source &bias,
             const asc_cpu::Destination &place, uint8_t atomic, Where w) {
        const asc_cpu::Tile whole = shape_.whole();
        store(c, multiply_tile(whole, nullptr, a, b, bias, w), whole, whole, place, atomic, w);
    }

    /* Iterate<false>: all tiles at once, one behind the other in the workspace; true until each was fetched. */
    bool to_workspace(Where w) {
        if (!workspace_.data())
            asc_cpu::fail_with("ErrorParam", "call SetWorkspace", "Iterate<false> without a workspace");
        while (next_ < shape_.tiles()) {
            tile_ = shape_.tile(next_);
            sums_ = multiply_tile(tile_, nullptr, a_, b_, bias_, w);
            store_tile(workspace_[next_++ * shape_.base_m * shape_.base_n], true, 0, w);
        }
        produced_ = next_;
        return true;
    }
    /* The next tile out of the workspace. */
    template <typename Copy>
    void fetch_with(Copy copy, Where w) {
        if (w.line) asc_cpu::place().where = w;
        tile_ = shape_.tile(fetched_);
        const GlobalTensor<TC> from = workspace_[fetched_++ * shape_.base_m * shape_.base_n];
        asc_cpu::wait_for_product();
        copy(from);
    }
    void fetch(const LocalTensor<TC> &c, Where w) {
        fetch_with(
            [&](const GlobalTensor<TC> &from) {
                using namespace asc_cpu;
                const Destination place = local_place(tile_);
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
                const Destination place = sequential ? Destination{0, tile_.columns, false, 16} : global_place(0);
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

    /* One matrix of a batch: elements from row to row, and from matrix to matrix. Layouts name the axes: B batches,
     * S rows, N heads, G groups, D columns; N and G count as batches. */
    struct Laid {
        uint64_t row = 0, step = 0, inner = 0, outer = 0;
        uint64_t offset(uint64_t i) const { return inner ? i / inner * outer + i % inner * step : i * step; }
    };
    static Laid laid_as(LayoutMode mode, uint64_t b, uint64_t s, uint64_t n, uint64_t g, uint64_t d) {
        if (mode == LayoutMode::BSNGD) return {n * g * d, d, n * g, s * n * g * d};
        if (mode == LayoutMode::SBNGD) return {b * n * g * d, d, 0, 0};
        return {d, s * d, 0, 0};
    }
    Laid laid(LayoutMode mode, bool right, uint64_t step) const {
        const auto &t = tiling_;
        const bool shaped = mode != LayoutMode::NONE && mode != LayoutMode::NORMAL;
        Laid l = right ? laid_as(mode, uint64_t(t.BLayoutInfoB), uint64_t(t.BLayoutInfoS), uint64_t(t.BLayoutInfoN),
                                 uint64_t(t.BLayoutInfoG), uint64_t(t.BLayoutInfoD))
                       : laid_as(mode, uint64_t(t.ALayoutInfoB), uint64_t(t.ALayoutInfoS), uint64_t(t.ALayoutInfoN),
                                 uint64_t(t.ALayoutInfoG), uint64_t(t.ALayoutInfoD));
        if (!shaped) l = {0, right ? shape_.kb * shape_.n : shape_.m * shape_.ka, 0, 0};
        if (step) l = {l.row, step, 0, 0};
        return l;
    }
    Laid laid_c(uint64_t step) const {
        const auto &t = tiling_;
        Laid l = laid_as(C::layout, uint64_t(t.CLayoutInfoB), uint64_t(t.CLayoutInfoS1), uint64_t(t.CLayoutInfoN),
                         uint64_t(t.CLayoutInfoG), uint64_t(t.CLayoutInfoS2));
        if (C::layout == LayoutMode::NONE || C::layout == LayoutMode::NORMAL) l = {shape_.n, shape_.m * shape_.n, 0, 0};
        if (step) l = {l.row, step, 0, 0};
        return l;
    }

    AscendC::TCubeTiling tiling_;
    asc_cpu::ProductShape shape_;
    asc_cpu::Source a_, b_, bias_, vector_;
    asc_cpu::Hf32 hf32_ = asc_cpu::Hf32::Off;
    uint64_t scalar_ = 0, row_a_ = 0, row_b_ = 0;
    bool quant_ = false;
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
