"""Random models of nested If, Loop and Scan, whose bodies read values from outside.

Every value is a float tensor whose last dim is 3. Its rank is tracked, None where bodies give several.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import onnx

WEIGHTS = """<float[3,3] w = {0.5, -0.25, 0.1, 0.2, 0.4, -0.3, 0.1, 0.3, 0.6}, float half = {0.5},
    int64[1] zero = {0}, int64[1] one = {1}, int64 first = {0}, float nothing = {0.037}, bool always = {1}>"""


@dataclass(frozen=True)
class Value:
    """`rows`: whether its first dim may be 0."""

    name: str
    rank: int | None
    rows: bool = False


@dataclass
class ControlFlow:
    """A drawn model: feed `feeds`; each of `values` is an output of the main graph."""

    seed: int
    depth: int = 2
    ranks_may_vary: bool = True
    values: list[Value] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self._count = 0
        start = [Value("x", 2), Value("v", 1), Value("z", 3)]
        lines: list[str] = []
        self._steps(lines, start, self.depth, int(self._rng.integers(4, 8)))
        self.values = start[3:]
        outputs = ", ".join(v.name for v in self.values)
        inputs = "float[n,3] x, float[3] v, float[2,m,3] z, bool c, int64 trips"
        body = "\n".join(lines)
        head = '<ir_version: 8, opset_import: ["": 17]>'
        self.model = onnx.parser.parse_model(f"{head} g ({inputs}) => ({outputs}) {WEIGHTS} {{ {body} }}")
        for output in self.model.graph.output:
            output.type.tensor_type.elem_type = onnx.TensorProto.FLOAT

    def feeds(self, n: int, m: int, c: bool, trips: int) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(self.seed + 1)
        shapes = {"x": (n, 3), "v": (3,), "z": (2, m, 3)}
        found = {name: rng.standard_normal(s).astype(np.float32) for name, s in shapes.items()}
        return {**found, "c": np.array(c), "trips": np.array(trips)}

    # --- drawing ------------------------------------------------------------------------------

    def _name(self, what: str = "t") -> str:
        self._count += 1
        return f"{what}{self._count}"

    def _pick(self, scope: list[Value], *ranks: int, rows: bool = True) -> Value | None:
        fit = [v for v in scope if v.rank in (ranks or (1, 2, 3)) and (rows or not v.rows)]
        return fit[min(int(self._rng.exponential(2)), len(fit) - 1) * -1 - 1] if fit else None

    def _steps(self, lines: list[str], scope: list[Value], depth: int, count: int) -> None:
        for _ in range(count):
            kinds = [self._plain] * 3 + ([self._if] * 2 + [self._loop, self._scan]) * (depth > 0)
            kinds[int(self._rng.integers(len(kinds)))](lines, scope, depth - 1)

    def _plain(self, lines: list[str], scope: list[Value], _: int = 0) -> None:
        """One node that reads the values drawn and makes another."""
        value = self._pick(scope)
        assert value is not None
        x, y, rank, rows = value.name, self._name(), value.rank or 1, value.rows
        same = [f"{y} = {op}({x})" for op in ("Neg", "Tanh", "Sin")]
        same += [f"{y} = Mul({x}, half)", f"{y} = MatMul({x}, w)", f"{y} = Add({x}, v)"]
        choices = [(text, rank, rows) for text in same]
        if rank < 3:
            choices.append((f"{y} = Unsqueeze({x}, zero)", rank + 1, False))
        if rank > 1:
            choices += [
                (f"{y} = Concat<axis = 0>({x}, {x})", rank, rows),
                (f"{y} = Slice({x}, zero, one, zero)", rank, rows),
                (f"{y} = ReduceSum<keepdims = 0>({x}, zero)", rank - 1, False),
            ]
        text, rank, rows = choices[int(self._rng.integers(len(choices)))]
        lines.append(text)
        scope.append(Value(y, rank, rows or value.rows))

    def _condition(self, lines: list[str], scope: list[Value]) -> str:
        if self._rng.random() < 0.4:
            return "c"
        value, total, found = self._pick(scope), self._name("sum"), self._name("cond")
        assert value is not None
        lines += [f"{total} = ReduceSum<keepdims = 0>({value.name})", f"{found} = Greater({total}, nothing)"]
        return found

    def _body(self, scope: list[Value], depth: int, ranks: list[int | None]) -> tuple[str, list[Value]]:
        """Nodes, and a value of each of these ranks that they make (None: of any rank)."""
        inside, lines = list(scope), list[str]()
        self._steps(lines, inside, depth, int(self._rng.integers(1, 4)))
        made = []
        for rank in ranks:
            source = self._pick(inside, *((1, 2, 3) if rank is None else (rank,)))
            assert source is not None
            name = self._name("r")
            lines.append(f"{name} = {'Identity' if self._rng.random() < 0.5 else 'Neg'}({source.name})")
            made.append(Value(name, source.rank, source.rows))
        return "\n".join(lines), made

    def _ranks(self, count: int) -> list[int | None]:
        """Of what bodies give: now and then any."""
        drawn = [int(self._rng.integers(1, 4)) for _ in range(count)]
        return [None if self.ranks_may_vary and self._rng.random() < 0.1 else rank for rank in drawn]

    def _if(self, lines: list[str], scope: list[Value], depth: int) -> None:
        condition = self._condition(lines, scope)
        ranks = self._ranks(int(self._rng.integers(1, 3)))
        branches = [self._body(scope, depth, ranks) for _ in range(2)]
        texts = [
            f"{kind}_branch = {self._name('b')} () => ({', '.join(v.name for v in made)}) {{ {text} }}"
            for kind, (text, made) in zip(("then", "else"), branches, strict=True)
        ]
        outs = [
            Value(self._name("i"), a.rank if a.rank == b.rank else None, a.rows or b.rows)
            for a, b in zip(branches[0][1], branches[1][1], strict=True)
        ]
        lines.append(f"{', '.join(v.name for v in outs)} = If <{', '.join(texts)}> ({condition})")
        scope += outs

    def _loop(self, lines: list[str], scope: list[Value], depth: int) -> None:
        """Carries one or two values, and keeps a row of another at each step."""
        starts = [
            s for s in (self._pick(scope) for _ in range(int(self._rng.integers(1, 3)))) if s is not None
        ]
        state = [Value(self._name("s"), s.rank, s.rows) for s in starts]
        text, made = self._body([*scope, *state], depth, [*(s.rank for s in state), 1])
        i, k, k2 = self._name("n"), self._name("k"), self._name("k")
        ins = ", ".join([f"int64 {i}", f"bool {k}", *(f"float[] {s.name}" for s in state)])
        kept = made[-1].name  # of a known shape, which onnxruntime gives to no rows at all
        outs = ", ".join([f"bool {k2}", *(f"float[] {v.name}" for v in made[:-1]), f"float[3] {kept}"])
        trips = "trips" if self._rng.random() < 0.7 else "first"
        results = [Value(self._name("l"), s.rank, s.rows) for s in state]
        results.append(Value(self._name("l"), 2, rows=True))
        names = ", ".join(v.name for v in results)
        body = f"body = {self._name('b')} ({ins}) => ({outs}) {{ {k2} = Identity({k})\n{text} }}"
        lines.append(f"{names} = Loop <{body}> ({trips}, always, {', '.join(s.name for s in starts)})")
        scope += results

    def _scan(self, lines: list[str], scope: list[Value], depth: int) -> None:
        """Carries a value of fixed shape along another's rows."""
        over = self._pick(scope, 2, 3, rows=False)
        assert over is not None
        state, row = self._name("s"), Value(self._name("s"), (over.rank or 2) - 1)
        text, made = self._body([*scope, Value(state, 1), row], depth, [1])
        after, kept = self._name("a"), made[0].name
        results = [Value(self._name("l"), 1), Value(self._name("l"), 2)]
        body = f"""body = {self._name("b")} ({state}, {row.name}) => (float[3] {after}, float[3] {kept})
            {{ {text}\n{after} = Add({state}, {kept}) }}"""
        names = ", ".join(v.name for v in results)
        lines.append(f"{names} = Scan <num_scan_inputs = 1, {body}> (v, {over.name})")
        scope += results
