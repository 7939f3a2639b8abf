/* A Matmul's state: its shapes, its operands, which tile is next, and what was computed. */
#pragma once

#include <memory>

#include "../../kernel_tiling/kernel_tiling.h"
#include "matrix.h"

namespace asc_cpu {

/* Whether this core leaves products to the others of a mixed kernel: the cube core to the vector cores that ask for
 * them, or (ASCENDC_CUBE_ONLY, which stands in front of lib/matmul_intf.h) the vector cores to the cube core. */
inline bool serves_products() {
    if (!core().apart) return false;
    return (core().kind == CoreKind::Cube) != is_cube_only();
}

/* A rectangle of C. */
struct Tile {
    uint64_t row = 0, column = 0, rows = 0, columns = 0;
};

/* Sizes: whole matrices (m, n, ka, kb; c_row: elements from row to row of C), this core's share (single_*), tiles. */
struct ProductShape {
    uint64_t m = 0, n = 0, ka = 0, kb = 0, c_row = 0;
    uint64_t single_m = 0, single_n = 0, single_k = 0, base_m = 0, base_n = 0;
    bool by_column = false; /* tiles go down before they go right */

    void take(const AscendC::TCubeTiling &t) {
        m = uint64_t(t.M), n = uint64_t(t.N), ka = uint64_t(t.Ka), kb = uint64_t(t.Kb), c_row = 0;
        single_m = uint64_t(t.singleCoreM), single_n = uint64_t(t.singleCoreN), single_k = uint64_t(t.singleCoreK);
        base_m = uint64_t(t.baseM), base_n = uint64_t(t.baseN);
        by_column = t.iterateOrder == 0;
    }
    uint64_t tiles_m() const { return base_m ? divide_up(single_m, base_m) : 0; }
    uint64_t tiles_n() const { return base_n ? divide_up(single_n, base_n) : 0; }
    uint64_t tiles() const { return tiles_m() * tiles_n(); }
    Tile tile(uint64_t i) const {
        const uint64_t row = by_column ? i % tiles_m() : i / tiles_n(),
                       column = by_column ? i / tiles_m() : i % tiles_n();
        const uint64_t r = row * base_m, c = column * base_n;
        return {r, c, std::min(base_m, single_m - r), std::min(base_n, single_n - c)};
    }
    Tile whole() const { return {0, 0, single_m, single_n}; }
    void check(const char *call) const {
        if (!single_m || !single_n || !single_k || !base_m || !base_n)
            fail_with("ErrorParam", "call REGIST_MATMUL_OBJ or Init with the tiling of the host",
                      "%s: a product of %llu x %llu x %llu in tiles of %llu x %llu", call, (unsigned long long)single_m,
                      (unsigned long long)single_n, (unsigned long long)single_k, (unsigned long long)base_m,
                      (unsigned long long)base_n);
    }
};

/* An operand as it was set: memory, or one number. */
struct Source {
    Operand memory{};
    bool set = false, transposed = false, number = false;
    uint64_t bits = 0; /* of the number */
};

/* How the elements of C lie: rows `apart` elements apart, or strips. */
struct Destination {
    uint64_t first = 0, apart = 0; /* elements; apart: rows of a strip where strips */
    bool strips = false;
    uint32_t strip = 16;

    uint64_t at(uint64_t row, uint64_t column) const {
        return first + (strips ? nz_offset(row, column, apart, strip) : row * apart + column);
    }
    Run bytes(const Tile &tile, uint32_t bits) const {
        const int64_t begin = int64_t(at(tile.row, tile.column) * bits / 8);
        if (!strips) return {begin, tile.columns * bits / 8, uint32_t(tile.rows), int64_t(apart * bits / 8)};
        return {begin, tile.rows * strip * bits / 8, uint32_t(divide_up(tile.columns, strip)),
                int64_t(apart * strip * bits / 8)};
    }
};

/* The cube's work waits for all that this core has issued before: the library exchanges messages with the cube. */
inline void wait_for_core(pipe_t pipe) {
    if constexpr (CHECKED) core().learn(index_of(pipe), core().issued);
}
/* While it lives, no instruction is left to the cube core beside this one: a vector core computes its products. */
class Together {
   public:
    Together() : was_apart_(core().apart) { core().apart = false; }
    ~Together() { core().apart = was_apart_; }
    Together(const Together &) = delete;

   private:
    bool was_apart_;
};
/* The scalar unit waits for what the product has written. */
inline void wait_for_product() {
    if constexpr (CHECKED) core().learn(0, core().after(index_of(PIPE_FIX)));
}

}  // namespace asc_cpu
