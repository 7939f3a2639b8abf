#include "register/op_def_registry.h"
#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(PositivesTilingData)
TILING_DATA_FIELD_DEF(uint32_t, rows);
TILING_DATA_FIELD_DEF(uint32_t, columns);
TILING_DATA_FIELD_DEF(uint32_t, mistake);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Positives, PositivesTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext *context) {
    const gert::Shape &shape = context->GetInputShape(0)->GetStorageShape();
    if (shape.GetDimNum() != 2) return ge::GRAPH_FAILED;
    PositivesTilingData tiling;
    tiling.set_rows(shape.GetDim(0));
    tiling.set_columns(shape.GetDim(1));
    tiling.set_mistake(*context->GetAttrs()->GetInt(0));
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(1);
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext *context) {
    *context->GetOutputShape(0) = {-1};
    *context->GetOutputShape(1) = {1};
    *context->GetOutputShape(2) = {-1, 2};
    return GRAPH_SUCCESS;
}
static graphStatus InferShapeRange(gert::InferShapeRangeContext *context) {
    const int64_t most = context->GetInputShapeRange(0)->GetMax()->GetShapeSize();
    *context->GetOutputShapeRange(0)->GetMin() = {0};
    *context->GetOutputShapeRange(0)->GetMax() = {most};
    *context->GetOutputShapeRange(2)->GetMin() = {0, 2};
    *context->GetOutputShapeRange(2)->GetMax() = {most, 2};
    return GRAPH_SUCCESS;
}
static graphStatus InferDataType(gert::InferDataTypeContext *context) {
    context->SetOutputDataType(0, context->GetInputDataType(0));
    context->SetOutputDataType(1, ge::DT_INT64);
    context->SetOutputDataType(2, ge::DT_INT32);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class Positives : public OpDef {
   public:
    explicit Positives(const char *name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("kept")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT})
            .Format({ge::FORMAT_ND})
            .OutputShapeDependOnCompute();
        this->Output("count").ParamType(REQUIRED).DataType({ge::DT_INT64}).Format({ge::FORMAT_ND});
        this->Output("places")
            .ParamType(REQUIRED)
            .DataType({ge::DT_INT32})
            .Format({ge::FORMAT_ND})
            .OutputShapeDependOnCompute();
        this->Attr("mistake").AttrType(OPTIONAL).Int(0);
        this->SetInferShape(ge::InferShape)
            .SetInferShapeRange(ge::InferShapeRange)
            .SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc).AddConfig("ascend910b");
    }
};
OP_ADD(Positives);
}  // namespace ops
