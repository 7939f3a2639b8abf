/* The address of a LocalTensor as plain numbers, which kernels read and set themselves: t.address_.bufferAddr. An
 * address is what GetPhyAddr gives, or a number of bytes from the begin of a position's memory. */
#pragma once

#include "params.h"
#include "position.h"

namespace AscendC {

/* logicPos: a TPosition, 0 where only the address says which memory. dataLen: bytes, 0 for all behind the address. */
struct TBuffAddr {
    uint8_t logicPos = 0, bufferHandle = 0;
    uint32_t dataLen = 0;
    uint64_t bufferAddr = 0, absAddr = 0;
};

}  // namespace AscendC

namespace asc_cpu {

/* Where an address lies: in the memory that holds it, else that many bytes into `space`. */
struct Spot {
    Space space;
    uint32_t begin;
};
inline Spot spot_of(uint64_t address, Space space) {
    const auto *at = reinterpret_cast<const uint8_t *>(address);
    if (address < core().in(space).size()) return {space, uint32_t(address)};
    for (uint32_t s = uint32_t(Space::GM) + 1; s < SPACES; s++) {
        Memory &memory = core().in(Space(s));
        if (memory.begun() && memory.holds(at)) return {Space(s), uint32_t(at - memory.data())};
    }
    fail("ErrorRead1", "an address outside of the core's memories");
}

/* The member address_ of a tensor, and its members: each is empty and lies where the tensor begins. */
template <typename Tensor, int member>
class AddressPart {
   public:
    AddressPart() = default;
    AddressPart(const AddressPart &) = default;
    AddressPart &operator=(const AddressPart &other) { return *this = uint64_t(other); }
    AddressPart &operator=(uint64_t value) {
        AscendC::TBuffAddr whole = tensor().GetAddress();
        if (member == 0) whole.logicPos = uint8_t(value);
        if (member == 1) whole.dataLen = uint32_t(value);
        if (member == 2) whole.bufferAddr = value;
        tensor().SetAddr(whole);
        return *this;
    }
    AddressPart &operator+=(uint64_t value) { return *this = *this + value; }
    operator uint64_t() const {
        const AscendC::TBuffAddr whole = tensor().GetAddress();
        return member == 0 ? whole.logicPos : member == 1 ? whole.dataLen : whole.bufferAddr;
    }

    template <typename T>
    explicit operator T *() const {
        return reinterpret_cast<T *>(uint64_t(*this));
    }

   private:
    Tensor &tensor() { return *reinterpret_cast<Tensor *>(this); }
    const Tensor &tensor() const { return *reinterpret_cast<const Tensor *>(this); }
};
template <typename Tensor>
class TensorAddress {
   public:
    [[no_unique_address]] AddressPart<Tensor, 0> logicPos;
    [[no_unique_address]] AddressPart<Tensor, 1> dataLen;
    [[no_unique_address]] AddressPart<Tensor, 2> bufferAddr;
    [[no_unique_address]] AddressPart<Tensor, 3> absAddr;

    TensorAddress() = default;
    TensorAddress(const TensorAddress &) = default;
    TensorAddress &operator=(const TensorAddress &other) { return *this = AscendC::TBuffAddr(other); }
    TensorAddress &operator=(const AscendC::TBuffAddr &address) {
        reinterpret_cast<Tensor *>(this)->SetAddr(address);
        return *this;
    }
    operator AscendC::TBuffAddr() const { return reinterpret_cast<const Tensor *>(this)->GetAddress(); }
};

}  // namespace asc_cpu
