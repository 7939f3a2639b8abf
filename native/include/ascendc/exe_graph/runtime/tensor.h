/* gert::Tensor and CompileTimeTensorDesc. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include "../../graph/types.h"
#include "shape.h"

namespace gert {

enum TensorPlacement { kOnDeviceHbm, kOnHost, kFollowing, kOnDeviceP2p, kTensorPlacementEnd };

class StorageFormat {
   public:
    StorageFormat() = default;
    StorageFormat(ge::Format origin, ge::Format storage) : origin_(origin), storage_(storage) {}
    ge::Format GetOriginFormat() const { return origin_; }
    ge::Format GetStorageFormat() const { return storage_; }

   private:
    ge::Format origin_ = ge::FORMAT_ND, storage_ = ge::FORMAT_ND;
};

/* What is known of a tensor's type and format. */
class CompileTimeTensorDesc {
   public:
    CompileTimeTensorDesc() = default;
    CompileTimeTensorDesc(ge::DataType type, ge::Format format) : type_(type), format_(format, format) {}
    ge::DataType GetDataType() const { return type_; }
    const StorageFormat &GetFormat() const { return format_; }
    ge::Format GetOriginFormat() const { return format_.GetOriginFormat(); }
    ge::Format GetStorageFormat() const { return format_.GetStorageFormat(); }
    void SetDataType(ge::DataType type) { type_ = type; }

   private:
    ge::DataType type_ = ge::DT_UNDEFINED;
    StorageFormat format_;
};

/* A tensor whose elements the host may read; its address is null where they aren't known yet. */
class Tensor {
   public:
    Tensor() = default;
    Tensor(const StorageShape &shape, const CompileTimeTensorDesc &desc, void *data)
        : shape_(shape), desc_(desc), data_(data) {}
    const StorageShape &GetShape() const { return shape_; }
    const Shape &GetStorageShape() const { return shape_.GetStorageShape(); }
    const Shape &GetOriginShape() const { return shape_.GetOriginShape(); }
    int64_t GetShapeSize() const { return shape_.GetStorageShape().GetShapeSize(); }
    size_t GetSize() const { return size_t(ge::GetSizeInBytes(GetShapeSize(), desc_.GetDataType())); }
    ge::DataType GetDataType() const { return desc_.GetDataType(); }
    ge::Format GetOriginFormat() const { return desc_.GetOriginFormat(); }
    ge::Format GetStorageFormat() const { return desc_.GetStorageFormat(); }
    const StorageFormat &GetFormat() const { return desc_.GetFormat(); }
    TensorPlacement GetPlacement() const { return kOnHost; }
    const void *GetAddr() const { return data_; }
    void *GetAddr() { return data_; }
    template <typename T>
    const T *GetData() const {
        return static_cast<const T *>(data_);
    }
    template <typename T>
    T *GetData() {
        return static_cast<T *>(data_);
    }
    /* Not of the public names: what the contexts hand out in parts. */
    const StorageShape *asc_shape() const { return &shape_; }
    StorageShape *asc_shape() { return &shape_; }
    const CompileTimeTensorDesc *asc_desc() const { return &desc_; }
    CompileTimeTensorDesc *asc_desc() { return &desc_; }

   private:
    StorageShape shape_;
    CompileTimeTensorDesc desc_;
    void *data_ = nullptr;
};

}  // namespace gert
