/* Global memory that a kernel is given: workspaces, lists of tensors, outputs that it fills. */
#pragma once

#include "copy.h"
#include "scalar.h"

namespace asc_cpu {
inline GM_ADDR &system_workspace() {
    static GM_ADDR address = nullptr;
    return address;
}
/* The key of the kernel's variant that the tiling has chosen. */
inline uint64_t &tiling_key() {
    static uint64_t key = 0;
    return key;
}
}  // namespace asc_cpu

namespace AscendC {

inline void SetSysWorkspace(GM_ADDR workspace) {
    asc_cpu::system_workspace() = workspace;
}
inline void SetSysWorkspaceForce(GM_ADDR workspace) {
    asc_cpu::system_workspace() = workspace;
}
inline GM_ADDR GetSysWorkSpacePtr() {
    return asc_cpu::system_workspace();
}
/* Where the core's part of a tensor begins, each part having `elements` of T. */
template <typename T>
inline GM_ADDR ParamOffset(GM_ADDR address, uint64_t elements) {
    return address + uint64_t(asc_cpu::core().block_idx) * elements * sizeof(T);
}
inline void clearWorkspace(GM_ADDR) {}

/* `size` elements of global memory to one value. */
template <typename T>
inline void InitOutput(GlobalTensor<T> gm, uint64_t size, asc_cpu::Same<T> value = 0,
                       asc_cpu::Where w = asc_cpu::Where::here()) {
    T *y = gm.data();
    asc_cpu::issue(PIPE_MTE3, "InitOutput", w, {gm.writes(0, size)}, [=] {
        for (uint64_t i = 0; i < size; i++) y[i] = value;
    });
}
template <typename T>
inline void InitGlobalMemory(GlobalTensor<T> &gm, const uint64_t size, const asc_cpu::Same<T> value,
                             asc_cpu::Where w = asc_cpu::Where::here()) {
    InitOutput(gm, size, value, w);
    asc_cpu::barrier(PIPE_ALL, w);
}
template <typename T>
inline void Fill(GlobalTensor<T> &gm, const uint64_t size, const asc_cpu::Same<T> value,
                 asc_cpu::Where w = asc_cpu::Where::here()) {
    InitOutput(gm, size, value, w);
}

/* A tensor of a list: its address and dimensions. */
template <typename T>
class TensorDesc {
   public:
    void SetShapeAddr(uint64_t *shape) { shape_ = shape; }
    uint64_t GetDim() const { return dims_; }
    uint64_t GetIndex() const { return index_; }
    uint64_t GetShape(uint32_t i) const { return shape_[i]; }
    T *GetDataPtr() const { return data_; }
    GlobalTensor<T> GetDataObj() const {
        GlobalTensor<T> tensor;
        tensor.SetGlobalBuffer(data_);
        return tensor;
    }
    void set(uint64_t dims, uint64_t index, const uint64_t *sizes, T *data) {
        dims_ = dims, index_ = index, data_ = data;
        for (uint64_t i = 0; shape_ && i < dims; i++) shape_[i] = sizes[i];
    }

   private:
    uint64_t *shape_ = nullptr;
    uint64_t dims_ = 0, index_ = 0;
    T *data_ = nullptr;
};
/* A list of tensors in global memory: a word that says where its addresses begin, in bytes; for each tensor a word of
 * its rank (the lower half) and its number, then its dimensions; the addresses. */
class ListTensorDesc {
   public:
    ListTensorDesc() = default;
    ListTensorDesc(__gm__ void *data, uint64_t = ~uint64_t(0), uint32_t = ~0u) { Init(data); }
    void Init(__gm__ void *data, uint64_t = ~uint64_t(0), uint32_t = ~0u) { words_ = static_cast<uint64_t *>(data); }
    template <typename T>
    void GetDesc(TensorDesc<T> &desc, uint32_t index) const {
        const uint64_t *at = words_ + 1;
        for (uint32_t i = 0; i < index; i++) at += 1 + (*at & 0xFFFFFFFF);
        desc.set(*at & 0xFFFFFFFF, index, at + 1, GetDataPtr<T>(index));
    }
    template <typename T>
    __gm__ T *GetDataPtr(uint32_t index) const {
        return reinterpret_cast<T *>(uintptr_t(words_[words_[0] / 8 + index]));
    }
    uint32_t GetSize() const {
        uint32_t n = 0;
        for (const uint64_t *at = words_ + 1, *end = words_ + words_[0] / 8; at < end; at += 1 + (*at & 0xFFFFFFFF))
            n++;
        return n;
    }

   private:
    uint64_t *words_ = nullptr;
};

}  // namespace AscendC

using AscendC::GetSysWorkSpacePtr; /* kernels name it so */
