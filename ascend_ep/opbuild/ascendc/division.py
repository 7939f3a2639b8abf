"""C++ text that divides the elements of a stage: into rows and columns, tiles, and a share for every core."""

from __future__ import annotations

DIVISION_TEXT = """
constexpr size_t MAX_DIMS = 8;
constexpr size_t NO_RESULT = static_cast<size_t>(-1);

struct Chip {
    uint64_t ub = 0, cores = 1;
    uint32_t blocks = 1;
};

// A stage computes an element for each of the shape that `frame` broadcasts to, from operands of these shapes, and
// folds `axes`; wholeRows: these are the columns. A top-k writes a tensor of the shape `result`.
struct Elements {
    std::vector<size_t> frame, operands;
    Axes axes;
    bool wholeRows;
    size_t result;
};

static uint64_t RoundUp(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

static uint64_t ProductOf(const Dims &dims) {
    uint64_t product = 1;
    for (int64_t d : dims) product *= static_cast<uint64_t>(d);
    return product;
}

static std::vector<uint64_t> StridesOf(const Dims &dims, size_t rank) {
    std::vector<uint64_t> strides(rank, 0);
    uint64_t step = 1;
    for (size_t i = 0; i < dims.size(); i++) {
        const size_t at = dims.size() - 1 - i;
        strides[rank - 1 - i] = dims[at] == 1 ? 0 : step;
        step *= static_cast<uint64_t>(dims[at]);
    }
    return strides;
}

// The dimensions of a stage, each kept or folded, and every tensor's stride along it.
struct Loops {
    Dims dims;
    std::vector<bool> folded;
    std::vector<std::vector<uint64_t>> strides;

    void Remove(size_t i) {
        dims.erase(dims.begin() + i);
        folded.erase(folded.begin() + i);
        for (auto &s : strides) s.erase(s.begin() + i);
    }
    // Leaves out dimensions of 1, and joins neighbours that every tensor has without a gap.
    void Simplify(bool keepLast) {
        for (size_t i = dims.size(); i-- > 0;) {
            if (dims[i] == 1 && dims.size() > 1 && !(keepLast && i + 1 == dims.size())) Remove(i);
        }
        for (size_t i = dims.size() - 1; i-- > 0;) {
            const uint64_t size = static_cast<uint64_t>(dims[i + 1]);
            bool joined = folded[i] == folded[i + 1];
            for (const auto &s : strides) joined = joined && (size == 1 || s[i] == s[i + 1] * size);
            if (!joined) continue;
            for (auto &s : strides) s[i + 1] = size == 1 ? s[i] : s[i + 1];
            dims[i + 1] *= dims[i];
            Remove(i);
        }
    }
};

// What the tiling data of a stage holds: [0] of what is kept, [1] of what is folded.
struct Division {
    uint64_t rows = 1, cols = 1, segments = 1, tilesPerRow = 1, items = 1, perCore = 1, tile = 1;
    bool foldsLast = false;
    uint64_t dims[2][MAX_DIMS];
    std::vector<uint64_t> strides[2];
    std::vector<uint32_t> steps;
};

// `tensors`: as many as the tiling data has room for.
static bool Divide(Division &result, const std::vector<Dims> &s, const Elements &elements, uint64_t perElement,
                   uint64_t held, size_t tensors, Chip &chip) {
    Loops loops;
    for (size_t part : elements.frame) {
        if (!Broadcast(loops.dims, s[part])) return false;
    }
    if (!elements.axes.Flags(loops.dims.size(), loops.folded)) return false;
    if (loops.dims.empty()) {
        loops.dims = {1};
        loops.folded = {elements.wholeRows};
    }
    const size_t rank = loops.dims.size();
    for (size_t operand : elements.operands) {
        Dims joined = loops.dims;
        if (!Broadcast(joined, s[operand]) || joined != loops.dims) return false;
        loops.strides.push_back(StridesOf(s[operand], rank));
    }
    if (elements.result != NO_RESULT) loops.strides.push_back(StridesOf(s[elements.result], rank));
    loops.Simplify(elements.wholeRows);

    const bool foldsLast = loops.folded.back();
    const uint64_t cols = static_cast<uint64_t>(loops.dims.back());
    uint64_t counts[2] = {1, 1};
    size_t places[2] = {MAX_DIMS, MAX_DIMS};
    std::fill(&result.dims[0][0], &result.dims[0][0] + 2 * MAX_DIMS, 1);
    for (auto &list : result.strides) list.assign(tensors * MAX_DIMS, 0);
    result.steps.assign(tensors, 0);
    for (size_t i = loops.dims.size() - 1; i-- > 0;) {
        const size_t which = loops.folded[i] ? 1 : 0;
        if (places[which] == 0) return false;
        const size_t place = --places[which];
        counts[which] *= static_cast<uint64_t>(loops.dims[i]);
        result.dims[which][place] = static_cast<uint64_t>(std::max<int64_t>(loops.dims[i], 1));
        for (size_t t = 0; t < loops.strides.size(); t++) {
            result.strides[which][t * MAX_DIMS + place] = loops.strides[t][i];
        }
    }
    for (size_t t = 0; t < loops.strides.size(); t++) {
        result.steps[t] = static_cast<uint32_t>(loops.strides[t].back());
    }
    if (elements.wholeRows && counts[1] != 1) return false;

    if (chip.ub < held + 256 * perElement) return false;
    const uint64_t most = std::min<uint64_t>((chip.ub - held) / perElement / 256 * 256, 16384);
    const uint64_t share = foldsLast ? cols : std::min(cols, (counts[0] * cols + chip.cores - 1) / chip.cores);
    result.rows = counts[0];
    result.cols = cols;
    result.segments = counts[1];
    result.foldsLast = foldsLast;
    result.tile = std::min(most, RoundUp(std::max<uint64_t>(share, 1), 256));
    result.tilesPerRow = (cols + result.tile - 1) / result.tile;
    result.items = foldsLast ? counts[0] : counts[0] * result.tilesPerRow;
    result.perCore = std::max<uint64_t>((result.items + chip.cores - 1) / chip.cores, 1);
    chip.blocks = std::max(chip.blocks, static_cast<uint32_t>((result.items + result.perCore - 1) / result.perCore));
    return true;
}

template <typename Stage>
static void Assign(Stage &stage, const Division &division) {
    stage.set_rows(division.rows);
    stage.set_cols(division.cols);
    stage.set_segments(division.segments);
    stage.set_tilesPerRow(division.tilesPerRow);
    stage.set_items(division.items);
    stage.set_itemsPerCore(division.perCore);
    stage.set_tileLength(static_cast<uint32_t>(division.tile));
    stage.set_foldsLast(division.foldsLast ? 1 : 0);
    stage.set_dims(division.dims[0]);
    stage.set_foldDims(division.dims[1]);
    stage.set_strides(division.strides[0].data());
    stage.set_foldStrides(division.strides[1].data());
    stage.set_steps(division.steps.data());
}
"""
