"""A stage that folds any axes: lane by lane over what is folded, then, when it folds the columns, the lanes."""

from __future__ import annotations

from collections.abc import Iterator

from .emit import Instructions
from .rows import START
from .stage_text import StageText, indented, voided
from .values import Value

_COMBINE = {"sum": "Add", "prod": "Mul", "max": "Max", "min": "Min"}


class FoldText(StageText):
    def summary(self) -> str:
        return f"{self.outputs[0]}: the {self.op} over some axes."

    @property
    def fold(self) -> Value:
        ((_, fold),) = self.plan.row_outputs
        return fold

    @property
    def op(self) -> str:
        return self.fold.op.removeprefix("fold_")

    def output_length(self, name: str) -> str:
        return "tile_"

    def buffers(self) -> Iterator[tuple[str, int, str]]:
        yield from super().buffers()
        yield "totalBuf_", 1, "tile_ * sizeof(float)"

    def process(self) -> Iterator[str]:
        yield "__aicore__ inline void Process() {"
        if self.plan.sections[0].values:
            yield "    Section0();"
        yield "    for (uint64_t item = first_; item < last_; item++) {"
        yield "        uint64_t row = foldsLast_ ? item : item / tilesPerRow_;"
        yield "        uint64_t col = foldsLast_ ? 0 : item % tilesPerRow_ * tile_;"
        yield "        uint32_t width = Length(col);"
        yield "        PipeBarrier<PIPE_V>();"
        yield f"        Duplicate(totalBuf_.Get<float>(), {START[self.op]}, RoundUpLanes(width > 0 ? width : 1));"
        yield "        for (uint64_t segment = 0; segment < segments_; segment++) {"
        yield "            if (!foldsLast_) Step(row, segment, col, width);"
        yield "            for (uint64_t at = 0; foldsLast_ && at < cols_; at += tile_) {"
        yield "                Step(row, segment, at, Length(at));"
        yield "            }"
        yield "        }"
        yield "        Finish(row, col, width);"
        yield "    }"
        yield "}"

    def methods(self) -> Iterator[str]:
        yield from self.loading()
        yield ""
        yield from self._step()
        if self.plan.sections[0].values:
            yield ""
            yield from self.section(0, self.plan.sections[0])
        yield ""
        yield from self._finish()

    def _step(self) -> Iterator[str]:
        yield "__aicore__ inline void Step(uint64_t row, uint64_t segment, uint64_t col, uint32_t n) {"
        yield "    Load(row, segment, col, n);"
        ((_, registers),) = self.plan.passes
        code = Instructions(registers, "lanes", "v")
        yield from self.opening(code)
        for value in registers.values:
            yield from indented(code.value(value))
        yield from indented(code.settle())
        yield "    LocalTensor<float> total = totalBuf_.Get<float>();"
        yield f"    {_COMBINE[self.op]}(total, total, {code.name(self.fold.args[0])}, n);"
        yield from indented(voided(("lanes",)))
        yield "}"

    def _finish(self) -> Iterator[str]:
        name = self.outputs[0]
        yield "__aicore__ inline void Finish(uint64_t row, uint64_t col, uint32_t width) {"
        yield "    LocalTensor<float> total = totalBuf_.Get<float>();"
        yield "    PipeBarrier<PIPE_V>();"
        yield "    if (!foldsLast_) {"
        yield f"        Write({name}Queue_, {name}Gm_, total, row * cols_ + col, width);"
        yield "        return;"
        yield "    }"
        yield "    LocalTensor<float> folded = foldBuf_.Get<float>();"
        lanes = "width > 0 ? width : 1"
        if self.op == "prod":
            yield f"    float product = Product(total, {lanes});"
            yield "    Duplicate(folded, product, LANES);"
        else:
            extra = "" if self.op == "sum" else ", false"
            call = f"Reduce{self.op.capitalize()}<float>"
            yield f"    {call}(folded, total, workBuf_.Get<float>(), int32_t({lanes}){extra});"
            yield "    float one = Scalar(folded);"
            yield "    Duplicate(folded, one, LANES);"
        yield "    PipeBarrier<PIPE_V>();"
        yield f"    Write({name}Queue_, {name}Gm_, folded, row, 1);"
        yield "}"
