/* Tilings of a matrix product: how many cores share it, what each computes, and in which tiles.
 *
 * Tiles fill L0C first (128 x 256 sums of 32 bits), then the depth of k that fits half of L0A and L0B, so that both
 * are double-buffered; L1 takes as many tiles as it holds. MultiCoreMatmulTiling cuts M and N only, or k too when
 * EnableMultiCoreSplitK asks for it. Our own implementation of public names; the sizes are this header's choice, and
 * a chip's own library may choose others.
 */
#pragma once
#pragma GCC system_header

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../kernel_tiling/kernel_tiling.h"
#include "library_tiling_data.h"
#include "platform/platform_ascendc.h"

namespace matmul_tiling {

enum class TPosition : int32_t {
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
    MAX
};
enum class CubeFormat { ND = 0, NZ, ZN, ZZ, NN, VECTOR, SCALAR, ND_ALIGN };
enum class LayoutMode { NONE, BSNGD, SBNGD, BNGS1S2, NORMAL };
enum class DataType {
    DT_FLOAT = 0,
    DT_FLOAT16 = 1,
    DT_INT8 = 2,
    DT_INT32 = 3,
    DT_UINT8 = 4,
    DT_INT16 = 6,
    DT_UINT16 = 7,
    DT_UINT32 = 8,
    DT_INT64 = 9,
    DT_UINT64 = 10,
    DT_DOUBLE = 11,
    DT_BFLOAT16 = 27,
    DT_BF16 = 27,
    DT_INT4 = 29
};
enum class MatrixTraverse : int32_t { NOSET, FIRSTM, FIRSTN, MAX };
enum class TilingPolicy : int32_t { FIXED_B_TSCM, FIXED_A_TSCM, FIXED_A_B_TSCM, NO_POLICY };
enum class DequantType { SCALAR, TENSOR };
enum class MatrixMadType { NORMAL, HF32 };
enum class ScheduleType { INNER_PRODUCT, OUTER_PRODUCT };

struct PlatformInfo {
    platform_ascendc::SocVersion socVersion = platform_ascendc::SocVersion::RESERVED_VERSION;
    uint64_t l1Size = 0, l0CSize = 0, ubSize = 0, l0ASize = 0, l0BSize = 0;
};

/* Bits of an element in memory. */
inline int32_t bits_of_type(DataType type) {
    switch (type) {
        case DataType::DT_INT4: return 4;
        case DataType::DT_INT8:
        case DataType::DT_UINT8: return 8;
        case DataType::DT_FLOAT16:
        case DataType::DT_INT16:
        case DataType::DT_UINT16:
        case DataType::DT_BFLOAT16: return 16;
        case DataType::DT_INT64:
        case DataType::DT_UINT64:
        case DataType::DT_DOUBLE: return 64;
        default: return 32;
    }
}

/* What a product is: its sizes, its operands, what was asked of the tiling. Set* return 0, or -1 where the value makes
 * no sense; GetTiling returns -1 where no tiling fits. */
class MatmulApiTilingBase {
   public:
    MatmulApiTilingBase() = default;
    explicit MatmulApiTilingBase(const platform_ascendc::PlatformAscendC &platform) {
        take(platform, platform_ascendc::CoreMemType::L1, l1_);
        take(platform, platform_ascendc::CoreMemType::L0_A, l0a_);
        take(platform, platform_ascendc::CoreMemType::L0_B, l0b_);
        take(platform, platform_ascendc::CoreMemType::L0_C, l0c_);
    }
    explicit MatmulApiTilingBase(const PlatformInfo &platform) {
        if (platform.l1Size) l1_ = int64_t(platform.l1Size);
        if (platform.l0ASize) l0a_ = int64_t(platform.l0ASize);
        if (platform.l0BSize) l0b_ = int64_t(platform.l0BSize);
        if (platform.l0CSize) l0c_ = int64_t(platform.l0CSize);
    }
    virtual ~MatmulApiTilingBase() = default;

    int32_t SetAType(TPosition position, CubeFormat format, DataType type, bool transposed = false) {
        a_ = {position, format, type, transposed};
        return 0;
    }
    int32_t SetBType(TPosition position, CubeFormat format, DataType type, bool transposed = false) {
        b_ = {position, format, type, transposed};
        return 0;
    }
    int32_t SetCType(TPosition position, CubeFormat format, DataType type) {
        c_ = {position, format, type, false};
        return 0;
    }
    int32_t SetBiasType(TPosition position, CubeFormat format, DataType type) {
        bias_ = {position, format, type, false};
        return 0;
    }
    int32_t SetDequantType(DequantType) { return 0; }
    int32_t SetMadType(MatrixMadType) { return 0; }
    int32_t SetBias(bool with = false) { return with_bias_ = with, 0; }
    int32_t EnableBias(bool with = false) { return SetBias(with); }
    virtual int32_t SetShape(int32_t m, int32_t n, int32_t k) { return set_single(m, n, k); }
    int32_t SetOrgShape(int32_t m, int32_t n, int32_t k) { return SetOrgShape(m, n, k, k); }
    int32_t SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb) {
        if (m <= 0 || n <= 0 || ka <= 0 || kb <= 0) return -1;
        m_ = m, n_ = n, ka_ = ka, kb_ = kb;
        return 0;
    }
    int32_t SetALayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
        return layout(layout_a_, b, s, n, g, d);
    }
    int32_t SetBLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
        return layout(layout_b_, b, s, n, g, d);
    }
    int32_t SetCLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
        return layout(layout_c_, b, s, n, g, d);
    }
    int32_t SetBatchNum(int32_t batches) { return batches_ = batches, batches > 0 ? 0 : -1; }
    int32_t SetBatchInfoForNormal(int32_t batch_a, int32_t batch_b, int32_t m, int32_t n, int32_t k) {
        batch_m_ = batch_a, batch_n_ = batch_b;
        batches_ = std::max(batch_a, batch_b);
        return SetOrgShape(m, n, k) || SetShape(m, n, k) ? -1 : 0;
    }
    /* Bytes that the product may use; -1 keeps the chip's size. */
    int32_t SetBufferSpace(int32_t l1 = -1, int32_t l0c = -1, int32_t = -1, int32_t = -1) {
        if (l1 > 0) l1_ = std::min<int64_t>(l1_, l1);
        if (l0c > 0) l0c_ = std::min<int64_t>(l0c_, l0c);
        return 0;
    }
    int32_t SetTraverse(MatrixTraverse order) { return order_ = order, 0; }
    int32_t SetFixSplit(int32_t base_m = -1, int32_t base_n = -1, int32_t base_k = -1) {
        fixed_m_ = base_m, fixed_n_ = base_n, fixed_k_ = base_k;
        return 0;
    }
    int32_t SetSplitRange(int32_t max_m = -1, int32_t max_n = -1, int32_t max_k = -1, int32_t = -1, int32_t = -1,
                          int32_t = -1) {
        max_m_ = max_m, max_n_ = max_n, max_k_ = max_k;
        return 0;
    }
    int32_t SetDoubleBuffer(bool a, bool b, bool c, bool, bool = true, bool = true) {
        db_a_ = a, db_b_ = b, db_c_ = c;
        return 0;
    }
    template <typename... Ignored>
    int32_t SetMatmulConfigParams(Ignored...) {
        return 0;
    }
    int32_t SetSparse(bool sparse = false) { return sparse ? -1 : 0; } /* not simulated */
    int32_t GetBaseM() const { return base_m_; }
    int32_t GetBaseN() const { return base_n_; }
    int32_t GetBaseK() const { return base_k_; }

    /* The tiling, in the host's or the kernel's structure. */
    template <typename Tiling>
    int64_t GetTiling(Tiling &to) {
        if (!compute()) return -1;
        AscendC::TCubeTiling tiling;
        fill(tiling);
        static_assert(sizeof(Tiling) == sizeof tiling, "the tiling of a Matmul is TCubeTiling");
        std::memcpy(static_cast<void *>(&to), &tiling, sizeof tiling);
        return 0;
    }

   protected:
    struct Matrix {
        TPosition position = TPosition::GM;
        CubeFormat format = CubeFormat::ND;
        DataType type = DataType::DT_FLOAT16;
        bool transposed = false;
        Matrix() = default;
        Matrix(TPosition p, CubeFormat f, DataType t, bool across = false)
            : position(p), format(f), type(t), transposed(across) {}
    };
    static int32_t align(int64_t value, int64_t to) { return int32_t((value + to - 1) / to * to); }
    static int32_t divide_up(int64_t a, int64_t b) { return int32_t((a + b - 1) / b); }
    int32_t set_single(int32_t m, int32_t n, int32_t k) {
        if ((m != -1 && m <= 0) || (n != -1 && n <= 0) || (k != -1 && k <= 0)) return -1;
        single_m_ = m, single_n_ = n, single_k_ = k;
        return 0;
    }
    /* Fills core_* with what one core computes. */
    virtual bool share() {
        core_m_ = single_m_ > 0 ? single_m_ : m_;
        core_n_ = single_n_ > 0 ? single_n_ : n_;
        core_k_ = single_k_ > 0 ? single_k_ : ka_;
        return core_m_ > 0 && core_n_ > 0 && core_k_ > 0;
    }
    /* Whether a core's share is at least the tile that SetFixSplit fixes, which its documentation asks for. */
    bool holds_fixed(int32_t m, int32_t n) const {
        return fixed_m_ <= align(m, 16) && fixed_n_ <= align(n, std::max(16, 256 / bits_of_type(b_.type)));
    }
    bool compute() {
        if (m_ <= 0 || n_ <= 0 || ka_ <= 0) {
            if (single_m_ <= 0 || single_n_ <= 0 || single_k_ <= 0) return false;
            m_ = single_m_, n_ = single_n_, ka_ = kb_ = single_k_;
        }
        return share() && tiles() && depths();
    }

    int32_t m_ = 0, n_ = 0, ka_ = 0, kb_ = 0;
    int32_t single_m_ = -1, single_n_ = -1, single_k_ = -1;
    int32_t core_m_ = 0, core_n_ = 0, core_k_ = 0, used_cores_ = 1;

   private:
    static void take(const platform_ascendc::PlatformAscendC &platform, platform_ascendc::CoreMemType type,
                     int64_t &bytes) {
        uint64_t size = 0;
        platform.GetCoreMemSize(type, size);
        if (size) bytes = int64_t(size);
    }
    static int32_t layout(int32_t (&to)[5], int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
        to[0] = b, to[1] = s, to[2] = n, to[3] = g, to[4] = d;
        return 0;
    }
    /* base_*: sums that fill L0C, and the depth of k that fits L0A and L0B. */
    bool tiles() {
        const int32_t c0 = 256 / std::max(bits_of_type(a_.type), bits_of_type(b_.type));
        const int64_t row = std::max(bits_of_type(a_.type), bits_of_type(b_.type));
        if (!holds_fixed(core_m_, core_n_)) return false;
        base_m_ = fixed_m_ > 0 ? fixed_m_ : std::min(align(core_m_, 16), limit(128, max_m_, 16));
        base_n_ = fixed_n_ > 0 ? fixed_n_ : std::min(align(core_n_, 16), limit(256, max_n_, 16));
        while (fixed_n_ <= 0 && base_n_ > 16 && int64_t(base_m_) * base_n_ * 4 > l0c_) base_n_ -= 16;
        while (fixed_m_ <= 0 && base_m_ > 16 && int64_t(align(base_m_, 16)) * base_n_ * 4 > l0c_) base_m_ -= 16;
        if (int64_t(align(base_m_, 16)) * align(base_n_, 16) * 4 > l0c_) return false;
        const int64_t by_a = l0a_ / (db_a_ ? 2 : 1) * 8 / row / align(base_m_, 16);
        const int64_t by_b = l0b_ / (db_b_ ? 2 : 1) * 8 / row / align(base_n_, 16);
        const int32_t most = int32_t(std::min(by_a, by_b) / c0 * c0);
        base_k_ = fixed_k_ > 0 ? fixed_k_ : std::min(align(core_k_, c0), limit(std::max(most, c0), max_k_, c0));
        const int64_t depth = align(base_k_, c0);
        return align(base_m_, 16) * depth * row / 8 <= l0a_ && align(base_n_, 16) * depth * row / 8 <= l0b_;
    }
    static int32_t limit(int32_t value, int32_t most, int32_t multiple) {
        return most > 0 ? std::max(std::min(value, most / multiple * multiple), multiple) : value;
    }
    /* step* and depth*: tiles of k that L1 holds, twice where there is room. */
    bool depths() {
        const int64_t tile_a = int64_t(align(base_m_, 16)) * base_k_ * bits_of_type(a_.type) / 8;
        const int64_t tile_b = int64_t(align(base_n_, 16)) * base_k_ * bits_of_type(b_.type) / 8;
        const int64_t bias = with_bias_ ? int64_t(base_n_) * 4 : 0;
        if (tile_a + tile_b + bias > l1_) return false;
        const int32_t steps = divide_up(core_k_, base_k_);
        step_k_ = 1, buffers_ = 1;
        if (2 * (tile_a + tile_b) + bias <= l1_) buffers_ = 2;
        while (step_k_ < steps && buffers_ * (step_k_ + 1) * (tile_a + tile_b) + bias <= l1_) step_k_++;
        if (step_k_ >= steps) step_k_ = steps;
        l1_used_ = buffers_ * step_k_ * (tile_a + tile_b) + bias;
        return true;
    }
    void fill(AscendC::TCubeTiling &t) const {
        t.usedCoreNum = used_cores_;
        t.M = m_, t.N = n_, t.Ka = ka_, t.Kb = kb_;
        t.singleCoreM = core_m_, t.singleCoreN = core_n_, t.singleCoreK = core_k_;
        t.baseM = base_m_, t.baseN = base_n_, t.baseK = base_k_;
        t.stepM = t.stepN = 1;
        t.stepKa = t.stepKb = step_k_;
        t.depthA1 = t.depthB1 = buffers_ * step_k_;
        t.isBias = with_bias_;
        t.iterateOrder = order_ == MatrixTraverse::FIRSTN ? 1 : 0;
        t.dbL0A = db_a_ ? 2 : 1, t.dbL0B = db_b_ ? 2 : 1;
        t.dbL0C = db_c_ && int64_t(align(base_m_, 16)) * base_n_ * 8 <= l0c_ ? 2 : 1;
        t.shareL1Size = int32_t(l1_used_);
        t.shareL0CSize = align(base_m_, 16) * align(base_n_, 16) * 4;
        t.transLength = t.shareUbSize = 0;
        t.batchM = t.singleBatchM = batch_m_, t.batchN = t.singleBatchN = batch_n_;
        t.BatchNum = batches_;
        t.ALayoutInfoB = layout_a_[0], t.ALayoutInfoS = layout_a_[1], t.ALayoutInfoN = layout_a_[2];
        t.ALayoutInfoG = layout_a_[3], t.ALayoutInfoD = layout_a_[4];
        t.BLayoutInfoB = layout_b_[0], t.BLayoutInfoS = layout_b_[1], t.BLayoutInfoN = layout_b_[2];
        t.BLayoutInfoG = layout_b_[3], t.BLayoutInfoD = layout_b_[4];
        t.CLayoutInfoB = layout_c_[0], t.CLayoutInfoS1 = layout_c_[1], t.CLayoutInfoN = layout_c_[2];
        t.CLayoutInfoG = layout_c_[3], t.CLayoutInfoS2 = layout_c_[4];
    }

    Matrix a_, b_, c_, bias_;
    bool with_bias_ = false, db_a_ = true, db_b_ = true, db_c_ = true;
    int64_t l1_ = 524288, l0a_ = 65536, l0b_ = 65536, l0c_ = 131072, l1_used_ = 0;
    MatrixTraverse order_ = MatrixTraverse::NOSET;
    int32_t fixed_m_ = -1, fixed_n_ = -1, fixed_k_ = -1, max_m_ = -1, max_n_ = -1, max_k_ = -1;
    int32_t base_m_ = 0, base_n_ = 0, base_k_ = 0, step_k_ = 1, buffers_ = 1;
    int32_t batches_ = 0, batch_m_ = 1, batch_n_ = 1;
    int32_t layout_a_[5] = {}, layout_b_[5] = {}, layout_c_[5] = {};
};

/* The product on one core. */
class MatmulApiTiling : public MatmulApiTilingBase {
   public:
    using MatmulApiTilingBase::MatmulApiTilingBase;
};

/* The product shared out to SetDim cores. */
class MultiCoreMatmulTiling : public MatmulApiTilingBase {
   public:
    using MatmulApiTilingBase::MatmulApiTilingBase;

    int32_t SetDim(int32_t cores) { return cores_ = cores, cores > 0 ? 0 : -1; }
    /* The whole product, where SetOrgShape gives none. */
    int32_t SetShape(int32_t m, int32_t n, int32_t k) override {
        if (m <= 0 || n <= 0 || k <= 0) return -1;
        whole_m_ = m, whole_n_ = n, whole_k_ = k;
        return 0;
    }
    int32_t SetSingleShape(int32_t m = -1, int32_t n = -1, int32_t k = -1) { return set_single(m, n, k); }
    int32_t SetSingleRange(int32_t max_m = -1, int32_t max_n = -1, int32_t max_k = -1, int32_t = -1, int32_t = -1,
                           int32_t = -1) {
        most_m_ = max_m, most_n_ = max_n, most_k_ = max_k;
        return 0;
    }
    int32_t SetAlignSplit(int32_t m, int32_t n, int32_t k) {
        align_m_ = m, align_n_ = n, align_k_ = k;
        return 0;
    }
    void EnableMultiCoreSplitK(bool yes) { split_k_ = yes; }
    int32_t GetSingleShape(int32_t &m, int32_t &n, int32_t &k) {
        m = core_m_, n = core_n_, k = core_k_;
        return 0;
    }
    int32_t GetCoreNum(int32_t &cores, int32_t &m_cores, int32_t &n_cores) {
        cores = used_cores_, m_cores = m_cores_, n_cores = n_cores_;
        return 0;
    }

   protected:
    /* The cut into m_cores x n_cores (x k_cores) whose largest share is smallest, and of those the squarest share,
     * which reads least. A cut that leaves a smaller share at the end counts as half as much work again, for kernels
     * seldom handle it. */
    bool share() override {
        const int32_t m = whole_m_ > 0 ? whole_m_ : m_, n = whole_n_ > 0 ? whole_n_ : n_;
        const int32_t k = whole_k_ > 0 ? whole_k_ : ka_;
        if (m <= 0 || n <= 0 || k <= 0) return false;
        if (m_ <= 0) m_ = m, n_ = n, ka_ = kb_ = k;
        int64_t best_work = -1, best_reads = 0;
        for (int32_t by_m = 1; by_m <= cores_; by_m++)
            for (int32_t by_n = 1; by_m * by_n <= cores_; by_n++) {
                const int32_t by_k = split_k_ ? cores_ / (by_m * by_n) : 1;
                const int32_t part_m = part(m, by_m, align_m_, single_m_, most_m_);
                const int32_t part_n = part(n, by_n, align_n_, single_n_, most_n_);
                const int32_t part_k = part(k, by_k, align_k_, single_k_, split_k_ ? most_k_ : -1);
                const int64_t parts = int64_t(divide_up(m, part_m)) * divide_up(n, part_n) * divide_up(k, part_k);
                if (parts > cores_ || !holds_fixed(std::min(part_m, m), std::min(part_n, n))) continue;
                const bool even = m % part_m == 0 && n % part_n == 0 && k % part_k == 0;
                const int64_t work = int64_t(part_m) * part_n * part_k * (even ? 2 : 3);
                const int64_t reads = int64_t(part_m + part_n) * part_k;
                if (best_work >= 0 && (work > best_work || (work == best_work && reads >= best_reads))) continue;
                best_work = work, best_reads = reads;
                core_m_ = std::min(part_m, m), core_n_ = std::min(part_n, n), core_k_ = std::min(part_k, k);
                m_cores_ = divide_up(m, part_m), n_cores_ = divide_up(n, part_n);
                used_cores_ = int32_t(parts);
            }
        return best_work >= 0;
    }

   private:
    static int32_t part(int32_t size, int32_t cores, int32_t multiple, int32_t wanted, int32_t most) {
        if (wanted > 0) return wanted;
        const int32_t share = cores == 1 ? size : align(divide_up(size, cores), multiple > 0 ? multiple : 16);
        return most > 0 ? std::min(share, most) : share;
    }

    int32_t cores_ = 1, m_cores_ = 1, n_cores_ = 1;
    int32_t whole_m_ = 0, whole_n_ = 0, whole_k_ = 0;
    int32_t most_m_ = -1, most_n_ = -1, most_k_ = -1, align_m_ = -1, align_n_ = -1, align_k_ = -1;
    bool split_k_ = false;
};

/* Products of a batch, whose matrices are laid out as Set*Layout or SetBatchInfoForNormal says. */
class BatchMatmulTiling : public MatmulApiTilingBase {
   public:
    using MatmulApiTilingBase::MatmulApiTilingBase;
    int32_t GetCoreNum(int32_t &cores, int32_t &m_cores, int32_t &n_cores, int32_t &b_cores, int32_t &g_cores) {
        cores = m_cores = n_cores = b_cores = g_cores = 1;
        return 0;
    }
};

/* Bytes that the libraries' Matmul takes of a core's memories, as the tiling says. */
struct SysTilingTempBufSize {
    int32_t ubSize = 0, l1Size = 0, l0cSize = 0;
};

}  // namespace matmul_tiling

#define ASC_TEMPORARY(name)                                                                         \
    inline int32_t name(optiling::TCubeTiling &tiling, matmul_tiling::SysTilingTempBufSize &size) { \
        size.ubSize = tiling.get_shareUbSize();                                                     \
        size.l1Size = tiling.get_shareL1Size();                                                     \
        size.l0cSize = tiling.get_shareL0CSize();                                                   \
        return 0;                                                                                   \
    }
ASC_TEMPORARY(MatmulGetTmpBufSize)
ASC_TEMPORARY(MultiCoreMatmulGetTmpBufSize)
ASC_TEMPORARY(BatchMatmulGetTmpBufSize)
#undef ASC_TEMPORARY
