"""A stage of rows: elementwise values, and reductions of a row in passes over its tiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .emit import Instructions, row_member
from .passes import Registers
from .stage_text import StageText, indented, voided
from .values import Value

START = {"sum": "0.0f", "prod": "1.0f", "max": "FloatOfBits(0xFF800000u)", "min": "FloatOfBits(0x7F800000u)"}


class RowsText(StageText):
    def summary(self) -> str:
        names = ", ".join(self.outputs)
        if not self.plan.passes:
            return f"{names}, element by element."
        passes = "one pass" if len(self.plan.passes) == 1 else f"{len(self.plan.passes)} passes"
        return f"{names}, with {passes} over each row for what is folded."

    def output_length(self, name: str) -> str:
        return "LANES" if name in dict(self.plan.row_outputs) else "tile_"

    def process(self) -> Iterator[str]:
        yield "__aicore__ inline void Process() {"
        if self.plan.sections[0].values:
            yield "    Section0();"
        if not self.plan.passes:
            yield "    for (uint64_t item = first_; item < last_; item++) {"
            yield "        uint64_t row = item / tilesPerRow_, col = item % tilesPerRow_ * tile_;"
            yield "        uint32_t n = Length(col);"
            yield "        Load(row, 0, col, n);"
            yield "        Finish(row, col, n);"
            yield "    }"
            yield "}"
            return
        yield "    for (uint64_t row = first_; row < last_; row++) {"
        yield "        if (tilesPerRow_ == 1) {"
        yield "            OneTile(row);"
        yield "        } else {"
        yield "            ManyTiles(row);"
        yield "        }"
        for name, _ in self.plan.row_outputs:
            yield f"        Write{name.capitalize()}(row);"
        yield "    }"
        yield "}"

    def methods(self) -> Iterator[str]:
        if self.plan.passes:
            yield from self._one_tile()
            yield ""
            yield from self._many_tiles()
            yield ""
        yield from self.loading()
        for number, (folds, registers) in enumerate(self.plan.passes, 1):
            yield ""
            yield from self._pass(number, folds, registers)
        for level, section in enumerate(self.plan.sections):
            if section.values:
                yield ""
                yield from self.section(level, section)
        if self.plan.full_outputs:
            yield ""
            yield from self._finish()
        for name, value in self.plan.row_outputs:
            yield ""
            yield from self._write_row(name, value)

    def _starts(self, folds: Iterable[Value]) -> Iterator[str]:
        for f in folds:
            yield f"{row_member(f)} = {START[f.op.removeprefix('fold_')]};"

    def _one_tile(self) -> Iterator[str]:
        """A row that fits a tile is read once."""
        yield "__aicore__ inline void OneTile(uint64_t row) {"
        yield "    uint32_t n = Length(0);"
        yield "    Load(row, 0, 0, n);"
        for number, (folds, _) in enumerate(self.plan.passes, 1):
            yield from indented(self._starts(folds))
            yield f"    Pass{number}(0, n);"
            if self.plan.sections[number].values:
                yield f"    Section{number}();"
        if self.plan.full_outputs:
            yield "    Finish(row, 0, n);"
        yield "}"

    def _many_tiles(self) -> Iterator[str]:
        """A longer one is read by every pass."""
        yield "__aicore__ inline void ManyTiles(uint64_t row) {"
        for number, (folds, _) in enumerate(self.plan.passes, 1):
            yield from indented(self._starts(folds))
            yield from indented(self._tiles(f"Pass{number}(col, n);"))
            if self.plan.sections[number].values:
                yield f"    Section{number}();"
        if self.plan.full_outputs:
            yield from indented(self._tiles("Finish(row, col, n);"))
        yield "}"

    def _tiles(self, body: str) -> Iterator[str]:
        yield "for (uint64_t col = 0; col < cols_; col += tile_) {"
        yield "    uint32_t n = Length(col);"
        yield "    Load(row, 0, col, n);"
        yield f"    {body}"
        yield "}"

    def _write_row(self, name: str, value: Value) -> Iterator[str]:
        yield f"__aicore__ inline void Write{name.capitalize()}(uint64_t row) {{"
        yield "    LocalTensor<float> r0 = rBuf_.Get<float>();"
        yield "    PipeBarrier<PIPE_V>();"
        yield f"    Duplicate(r0, {row_member(value)}, LANES);"
        yield "    PipeBarrier<PIPE_V>();"
        yield f"    Write({name}Queue_, {name}Gm_, r0, row, 1);"
        yield "}"

    # ---- computing -----------------------------------------------------------------------------

    def _pass(self, number: int, folds: tuple[Value, ...], registers: Registers) -> Iterator[str]:
        yield f"__aicore__ inline void Pass{number}(uint64_t col, uint32_t n) {{"
        code = Instructions(registers, "lanes", "v")
        yield from self.opening(code)
        yield "    LocalTensor<float> folded = foldBuf_.Get<float>(), work = workBuf_.Get<float>();"
        for value in registers.values:
            yield from indented(code.value(value))
            for fold in folds:
                if fold.args[0] is value:
                    yield from indented(self._fold(code, fold))
        for fold in folds:
            if fold.args[0].op == "input":
                yield from indented(self._fold(code, fold))
        yield from indented(voided(("col", "lanes", "folded", "work")))
        yield "}"

    def _fold(self, code: Instructions, fold: Value) -> Iterator[str]:
        source, total = code.name(fold.args[0]), row_member(fold)
        op = fold.op.removeprefix("fold_")
        yield from code.settle()
        if op == "prod":
            yield f"{total} = {total} * Product({source}, n);"
            return
        extra = "" if op == "sum" else ", false"
        yield f"Reduce{op.capitalize()}<float>(folded, {source}, work, int32_t(n){extra});"
        if op == "sum":
            yield f"{total} = {total} + Scalar(folded);"
        else:
            yield f"{total} = {'Larger' if op == 'max' else 'Smaller'}({total}, Scalar(folded));"

    def _finish(self) -> Iterator[str]:
        yield "__aicore__ inline void Finish(uint64_t row, uint64_t col, uint32_t n) {"
        code = Instructions(self.plan.last, "lanes", "v")
        yield from self.opening(code)
        written: set[str] = set()
        for value in self.plan.last.values:
            yield from indented(code.value(value))
            for name, output in self.plan.full_outputs:
                if output is value:
                    written.add(name)
                    yield from indented(self._write(code, name, value))
        for name, output in self.plan.full_outputs:
            if name not in written:
                yield from indented(self._write(code, name, output))
        yield from indented(voided(("lanes",)))
        yield "}"

    def _write(self, code: Instructions, name: str, value: Value) -> Iterator[str]:
        yield from code.settle()
        yield f"Write({name}Queue_, {name}Gm_, {code.name(value)}, row * cols_ + col, n);"
