"""C++ text that divides the elements of a stage: into rows and columns, tiles, and a share for every core."""

from __future__ import annotations

DIVISION_TEXT = """
constexpr size_t MAX_DIMS = 8;
constexpr size_t OPERANDS = @OPERANDS@;
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

template <typename Stage>
static bool Divide(Stage &stage, const std::vector<Dims> &s, const Elements &elements, uint64_t perElement,
                   uint64_t held, Chip &chip) {
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
    uint64_t dims[2][MAX_DIMS];
    std::fill(&dims[0][0], &dims[0][0] + 2 * MAX_DIMS, 1);
    std::vector<uint64_t> strides[2];
    std::vector<uint32_t> steps;
    for (auto &list : strides) list.assign(OPERANDS * MAX_DIMS, 0);
    steps.assign(OPERANDS, 0);
    for (size_t i = loops.dims.size() - 1; i-- > 0;) {
        const size_t which = loops.folded[i] ? 1 : 0;
        if (places[which] == 0) return false;
        const size_t place = --places[which];
        counts[which] *= static_cast<uint64_t>(loops.dims[i]);
        dims[which][place] = static_cast<uint64_t>(std::max<int64_t>(loops.dims[i], 1));
        for (size_t t = 0; t < loops.strides.size(); t++) strides[which][t * MAX_DIMS + place] = loops.strides[t][i];
    }
    for (size_t t = 0; t < loops.strides.size(); t++) steps[t] = static_cast<uint32_t>(loops.strides[t].back());
    if (elements.wholeRows && counts[1] != 1) return false;

    if (chip.ub < held + 256 * perElement) return false;
    const uint64_t most = std::min<uint64_t>((chip.ub - held) / perElement / 256 * 256, 16384);
    const uint64_t share = foldsLast ? cols : std::min(cols, (counts[0] * cols + chip.cores - 1) / chip.cores);
    const uint64_t tile = std::min(most, RoundUp(std::max<uint64_t>(share, 1), 256));
    const uint64_t tilesPerRow = (cols + tile - 1) / tile;
    const uint64_t items = foldsLast ? counts[0] : counts[0] * tilesPerRow;
    const uint64_t perCore = std::max<uint64_t>((items + chip.cores - 1) / chip.cores, 1);
    chip.blocks = std::max(chip.blocks, static_cast<uint32_t>((items + perCore - 1) / perCore));
    stage.set_rows(counts[0]);
    stage.set_cols(cols);
    stage.set_segments(counts[1]);
    stage.set_tilesPerRow(tilesPerRow);
    stage.set_items(items);
    stage.set_itemsPerCore(perCore);
    stage.set_tileLength(static_cast<uint32_t>(tile));
    stage.set_foldsLast(foldsLast ? 1 : 0);
    stage.set_dims(dims[0]);
    stage.set_foldDims(dims[1]);
    stage.set_strides(strides[0].data());
    stage.set_foldStrides(strides[1].data());
    stage.set_steps(steps.data());
    return true;
}
"""
