"""Python pseudo-code: `def swish(x): return x * torch.sigmoid(x)`, read through `ast` and a whitelist.

The last function is the operator, functions before it (or inside it) are inlined. Parameters are inputs; one
with a default (a number, truth value or text) or annotated float, int, bool or str is an attribute; one with
the default None is an optional input. The body: assignments to names, `if`, `return` of one value or several;
expressions with the operators of Python, and the functions of pseudo_code_calls with PyTorch's meaning: a
reduction drops its axis unless keepdim=True. Conversions to float32, float64 or to an input's own type change
nothing, as all arithmetic is in the compute type; others round. Everything else is refused with its line.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ascend_ep.errors import did_you_mean
from ascend_ep.frontends.interface import (
    RESERVED,
    Defaults,
    Described,
    Parameter,
    as_names,
    attribute_parameter,
    camel_case,
    identifier,
    operator,
)
from ascend_ep.frontends.pseudo_code_calls import Calls
from ascend_ep.frontends.pseudo_code_things import (
    NOTHING,
    Dims,
    ElementType,
    Helper,
    Scope,
    Thing,
    dtype_of,
)
from ascend_ep.opdef.definition import AttributeType
from ascend_ep.opdef.expression import AttributeRef, Constant, Given, Index, Input, Kind
from ascend_ep.opdef.formula import MAX_DEPTH
from ascend_ep.opdef.formula_nodes import Value

_T = TypeVar("_T")
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.BitAnd: "and",
    ast.BitOr: "or",
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
MODULES = ("torch", "np", "numpy", "math", "F", "nn", "torch.nn", "torch.nn.functional", "nn.functional")
_IMPORTS = ("torch", "torch.nn", "torch.nn.functional", "numpy", "math", "typing", "__future__")
_ANNOTATIONS: dict[str, AttributeType] = {"float": "float", "int": "int", "bool": "bool", "str": "string"}
_STATEMENTS = "allowed: name = value, if, return"


def describe_pseudo_code(
    text: str, op_type: str | None = None, attributes: Defaults | None = None, where: str = ""
) -> Described:
    """The operator that the last function of the text is. Raises AscendError E42001 to E42004, E42101."""
    return _PseudoCode(text, where).read(op_type, attributes or {})


class _PseudoCode(Calls):
    """One text: its functions, and the scope of the one being read."""

    def read(self, op_type: str | None, attributes: Defaults) -> Described:
        function = self.operator_function()
        parameters = self.parameters(function, attributes)
        self.names = as_names(parameters, ())
        for parameter in parameters:
            node = Input(parameter.name) if parameter.is_input else AttributeRef(parameter.name)
            at = self.position(function)
            self.scope[self.spelled[parameter.name]] = self.build(node, _kind(parameter), at)
        self.active.append(function.name)
        returned = self.block(function.body)
        if returned is None:
            self.refuse(function, f"{function.name} returns nothing", "End it with return.")
        results = [self.result(r, function) for r in returned]
        op = op_type or camel_case(identifier(function.name))
        if not identifier(op):
            self.refuse(function, f"{op[:80]} can't be a name: use letters, digits and _")
        doc = " ".join((ast.get_docstring(function) or "").split())[:500]
        opdef = operator(op, parameters, self.lets, results, doc, self.where)
        return Described(opdef, "pseudo-code", tuple(dict.fromkeys(self.warnings)))

    def result(self, returned: tuple[str, Thing], function: ast.AST) -> tuple[str, Value]:
        name, thing = returned
        if not isinstance(thing, Value) or thing.kind == "text":
            self.refuse(function, "it returns something that is no tensor")
        return identifier(name) if len(name) > 1 else "", thing

    # -- the module and the function's head --

    def operator_function(self) -> ast.FunctionDef:
        functions: list[ast.FunctionDef] = []
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef):
                functions.append(node)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self.check_import(node)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                self.statement(node)
            elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                self.refuse(node, "only functions may stand here", "Write one def with a return.")
        if not functions:
            self.fail("E42101", "there is no def", at=0)
        for helper in functions[:-1]:
            self.define(helper)
        return functions[-1]

    def check_import(self, node: ast.Import | ast.ImportFrom) -> None:
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [n.name for n in node.names]
        for name in names:
            if name not in _IMPORTS:
                known = "torch, torch.nn.functional, numpy, math"
                self.refuse(node, f"{name[:80]} can't be imported", f"Only {known} are known.")

    def define(self, function: ast.FunctionDef) -> None:
        self.check_head(function)
        self.scope[function.name] = Helper(function, self.scope)

    def check_head(self, function: ast.FunctionDef) -> None:
        arguments = function.args
        if function.decorator_list:
            self.refuse(function.decorator_list[0], "decorators aren't allowed", "Remove the decorator.")
        for starred in (arguments.vararg, arguments.kwarg):
            if starred:
                self.refuse(starred, "*args and **kwargs aren't allowed", "Name the parameters.")

    def parameters(self, function: ast.FunctionDef, attributes: Defaults) -> list[Parameter]:
        self.check_head(function)
        listed = [*function.args.posonlyargs, *function.args.args]
        missing: list[ast.expr | None] = [None] * (len(listed) - len(function.args.defaults))
        defaults = [*missing, *function.args.defaults, *function.args.kw_defaults]
        result: list[Parameter] = []
        for argument, default in zip([*listed, *function.args.kwonlyargs], defaults, strict=True):
            if argument.arg in ("self", "ctx") and not result:
                continue
            name = identifier(argument.arg)
            if not name or name in self.spelled:
                self.refuse(
                    argument, f"{argument.arg[:80]} can't be a parameter's name", "Use letters and _."
                )
            self.spelled[name] = argument.arg
            if name in attributes:
                result.append(attribute_parameter(name, attributes[name]))
            else:
                result.append(self.parameter(name, argument, default))
        extra = [n for n in attributes if n not in self.spelled]
        self.spelled |= {n: n for n in extra}
        return result + [attribute_parameter(n, attributes[n]) for n in extra]

    def parameter(self, name: str, argument: ast.arg, default: ast.expr | None) -> Parameter:
        annotated = argument.annotation.id if isinstance(argument.annotation, ast.Name) else ""
        type_ = _ANNOTATIONS.get(annotated)
        if default is None:
            return Parameter(name, type_)
        try:
            literal = ast.literal_eval(default)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            known = _CONSTANTS.get(default.attr) if isinstance(default, ast.Attribute) else None
            if known is None:
                self.refuse(default, "a default is a number, True, False, a text or None")
            literal = known
        if literal is None:
            return Parameter(name, type_, None, optional=True)
        if isinstance(literal, int) and not isinstance(literal, bool) and type_ == "float":
            literal = self.finite(literal, default)
        if not isinstance(literal, int | float | bool | str) or abs(_size(literal)) >= 2**63:
            self.refuse(default, "a default is a number, True, False, a text or None")
        return attribute_parameter(name, literal)

    # -- statements --

    def block(self, statements: Sequence[ast.stmt]) -> list[tuple[str, Thing]] | None:
        """Reads statements to the first return: its values with their names, or None when there is none."""
        for i, statement in enumerate(statements):
            if isinstance(statement, ast.Return):
                return self.returned(statement)
            if isinstance(statement, ast.If):
                returned = self.branches(statement, statements[i + 1 :])
                if returned is not None:
                    return returned
            else:
                self.statement(statement)
        return None

    def returned(self, statement: ast.Return) -> list[tuple[str, Thing]]:
        value = statement.value
        if value is None:
            self.refuse(statement, "return needs a value")
        if isinstance(value, ast.Tuple | ast.List):
            return [(n.id if isinstance(n, ast.Name) else "", self.thing(n)) for n in value.elts]
        thing = self.thing(value)
        return [("", t) for t in thing] if isinstance(thing, tuple) else [("", thing)]

    def branches(self, statement: ast.If, rest: Sequence[ast.stmt]) -> list[tuple[str, Thing]] | None:
        """Reads both branches; of names that both assign, and of results, the values are chosen between."""
        condition = self.shared(self.condition(statement.test))
        before = dict(self.scope)
        if any(isinstance(n, ast.Return) for n in ast.walk(statement)):
            chosen = self.nested(lambda: self.block([*statement.body, *rest]), statement)
            self.replace_scope(before)
            other = self.nested(lambda: self.block([*statement.orelse, *rest]), statement)
            if chosen is None or other is None or len(other) != len(chosen):
                self.refuse(statement, "both branches must return the same number of values")
            pairs = zip(chosen, other, strict=True)
            return [(a[0], self.choose(condition, a[1], b[1], statement)) for a, b in pairs]
        self.nested(lambda: self.block(statement.body), statement)
        after_then = dict(self.scope)
        self.replace_scope(before)
        self.nested(lambda: self.block(statement.orelse), statement)
        for name in [*after_then]:
            then, other_value = after_then[name], self.scope.get(name)
            if then is other_value:
                continue
            if other_value is None:
                del after_then[name]
            else:
                self.scope[name] = self.choose(condition, then, other_value, statement)
        for name in [n for n in self.scope if n not in after_then]:
            del self.scope[name]
        return None

    def replace_scope(self, names: dict[str, Thing]) -> None:
        self.scope.clear()
        self.scope.update(names)

    def choose(self, condition: Value, a: Thing, b: Thing, node: ast.AST) -> Thing:
        if not isinstance(a, Value) or not isinstance(b, Value):
            self.refuse(node, "only tensors and numbers can be chosen between")
        return self.select(condition, a, b)

    def statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.FunctionDef):
            self.define(statement)
        elif isinstance(statement, ast.Assign):
            thing = self.thing(statement.value)
            for target in statement.targets:
                self.assign(target, thing)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self.assign(statement.target, self.thing(statement.value))
        elif isinstance(statement, ast.AugAssign):
            target = statement.target
            if not isinstance(target, ast.Name):
                self.refuse(target, "only names can be assigned to")
            left = self.value(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            operation = self.operation(statement.op, statement)
            self.assign(target, self.calculate(operation, left, self.value(statement.value), statement))
        elif isinstance(statement, ast.Pass) or (
            isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        ):
            return
        else:
            words = type(statement).__name__.lower()
            self.refuse(statement, f"{words} isn't allowed in an operator", _STATEMENTS.capitalize() + ".")

    def assign(self, target: ast.expr, thing: Thing) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            if not isinstance(thing, tuple) or len(thing) != len(target.elts):
                self.refuse(target, f"this takes {len(target.elts)} values")
            for part, value in zip(target.elts, thing, strict=True):
                self.assign(part, value)
        elif not isinstance(target, ast.Name):
            self.refuse(target, "only names can be assigned to", "Write name = value.")
        elif isinstance(thing, Value):
            wanted = identifier(target.id)
            self.scope[target.id] = self.shared(thing, "" if wanted in RESERVED else wanted)
        else:
            self.scope[target.id] = thing

    # -- expressions --

    def nested(self, read: Callable[[], _T], node: ast.AST) -> _T:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(
                "E42004", "pseudo-code", f"it is nested deeper than {MAX_DEPTH}", at=self.position(node)
            )
        result = read()
        self.depth -= 1
        return result

    def thing(self, node: ast.expr) -> Thing:
        return self.nested(lambda: self.read_thing(node), node)

    def read_thing(self, node: ast.expr) -> Thing:
        if isinstance(node, ast.Constant):
            return self.literal(node)
        if isinstance(node, ast.Name):
            return self.named(node)
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.Subscript):
            return self.subscript(node)
        if isinstance(node, ast.Tuple | ast.List):
            return tuple(self.thing(e) for e in node.elts)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.BinOp):
            return self.binary(node)
        if isinstance(node, ast.UnaryOp):
            return self.unary(node)
        if isinstance(node, ast.BoolOp):
            return self.truths(node)
        if isinstance(node, ast.Compare):
            return self.comparison(node)
        if isinstance(node, ast.IfExp):
            condition = self.condition(node.test)
            return self.choose(condition, self.thing(node.body), self.thing(node.orelse), node)
        return self.refuse(node, f"{type(node).__name__} isn't allowed in an expression")

    def literal(self, node: ast.Constant) -> Thing:
        value, at = node.value, self.position(node)
        if value is None:
            return NOTHING
        if isinstance(value, bool):
            return self.build(Constant(value), "bool", at)
        if isinstance(value, int | float):
            return self.constant(self.finite(value, node), at)
        if isinstance(value, str):
            if len(value) > 100 or '"' in value or "\n" in value:
                self.refuse(node, "a text is short and has no quotes")
            return self.build(Constant(value), "text", at)
        return self.refuse(node, f"{type(value).__name__} isn't allowed")

    def finite(self, value: float, node: ast.AST) -> float:
        try:
            return float(value)
        except OverflowError:
            self.refuse(node, "this number is no finite double")

    def named(self, node: ast.Name) -> Thing:
        if node.id in self.scope:
            return self.scope[node.id]
        if node.id in MODULES:
            self.refuse(node, f"the module {node.id} is no value")
        known = did_you_mean(node.id, [*self.scope])
        fix = f"Make {node.id[:40]} a parameter, or assign it before."
        return self.fail("E42002", node.id[:80], known, at=self.position(node), fix=fix)

    def attribute(self, node: ast.Attribute) -> Thing:
        module, name = self.dotted(node)
        if module in MODULES:
            if name in _CONSTANTS:
                return self.constant(_CONSTANTS[name], self.position(node))
            if (dtype := dtype_of(name)) is not None:
                return ElementType(dtype)
            self.refuse(node, f"{module}.{name[:60]} is no number or type that is known")
        thing = self.thing(node.value)
        if isinstance(thing, tuple) and node.attr == "values":
            return thing[0]
        if isinstance(thing, Value) and node.attr == "dtype":
            return ElementType(None)
        if isinstance(thing, Value) and node.attr == "shape":
            return Dims(thing, ())
        allowed = "Of a tensor .shape[axis], .dtype and methods are known."
        return self.refuse(node, f".{node.attr[:60]} isn't allowed", allowed)

    def dotted(self, node: ast.expr) -> tuple[str, str]:
        """`torch.nn.functional.silu` as ("torch.nn.functional", "silu"); ("", ...) for no module's name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute) and len(parts) < 8:
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.scope:
            return "", parts[0] if parts else ""
        return ".".join([node.id, *reversed(parts[1:])]), parts[0] if parts else ""

    def subscript(self, node: ast.Subscript) -> Thing:
        thing = self.thing(node.value)
        if isinstance(thing, Dims) and not thing.axes:
            if isinstance(node.slice, ast.Slice):
                start, stop = node.slice.lower, node.slice.upper
                if start is None or stop is not None or node.slice.step is not None:
                    self.refuse(node, "of a shape only [axis] and [-n:] are known")
                count = self.integer(start)
                if not -8 <= count < 0:
                    self.refuse(node, "of a shape only [axis] and [-n:] are known")
                return Dims(thing.like, tuple(range(count, 0)))
            return self.size(thing.like, self.axis(node.slice), node)
        if isinstance(thing, tuple):
            index = self.integer(node.slice)
            if not -len(thing) <= index < len(thing):
                self.refuse(node, f"there are only {len(thing)} values")
            return thing[index]
        return self.refuse(
            node, "elements of a tensor can't be picked", "An operator sees whole tensors: use torch.where."
        )

    def size(self, like: Value, axis: int | AttributeRef, node: ast.AST) -> Value:
        return self.build(Index(like.node, axis, True), "number", self.position(node), [like])

    def binary(self, node: ast.BinOp) -> Value:
        """A chain of operators is read along its left side, however long it is."""
        chain: list[ast.BinOp] = []
        leftmost: ast.expr = node
        while isinstance(leftmost, ast.BinOp):
            chain.append(leftmost)
            leftmost = leftmost.left
        value = self.value(leftmost)
        for part in reversed(chain):
            value = self.calculate(self.operation(part.op, part), value, self.value(part.right), part)
        return value

    def operation(self, operator: ast.operator, node: ast.AST) -> str:
        if isinstance(operator, ast.MatMult):
            self.refuse(node, "a matrix product is no elementwise operation", "Use the operator MatMul.")
        name = _BINARY.get(type(operator))
        if name is None:
            self.refuse(node, f"{type(operator).__name__} isn't allowed")
        return name

    def calculate(self, op: str, a: Value, b: Value, node: ast.AST) -> Value:
        if op in ("and", "or") and "bool" != a.kind != b.kind:
            self.refuse(node, "& and | take conditions", "Write (a > 0) & (b > 0).")
        return self.apply(op, [a, b], self.position(node))

    def unary(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        at = self.position(node)
        if isinstance(node.op, ast.USub):
            return self.apply("neg", [value], at)
        if isinstance(node.op, ast.UAdd):
            return self.numeric(value)
        if isinstance(node.op, ast.Invert) and value.kind != "bool":
            self.refuse(node, "~ takes a condition")
        return self.apply("not", [value], at)

    def truths(self, node: ast.BoolOp) -> Value:
        values = [self.value(v) for v in node.values]
        if any(v.kind != "bool" for v in values):
            self.refuse(node, "`and` and `or` join conditions", "Compare explicitly: x != 0.")
        result = values[0]
        for value in values[1:]:
            op = "and" if isinstance(node.op, ast.And) else "or"
            result = self.apply(op, [result, value], self.position(node))
        return result

    def comparison(self, node: ast.Compare) -> Value:
        if isinstance(node.ops[0], ast.Is | ast.IsNot):
            return self.presence(node)
        values = [self.value(node.left)]
        values += [
            self.shared(self.value(c)) if len(node.ops) > 1 else self.value(c) for c in node.comparators
        ]
        result: Value | None = None
        for op, a, b in zip(node.ops, values, values[1:], strict=False):
            name = _COMPARE.get(type(op))
            if name is None:
                self.refuse(node, "this comparison isn't allowed", "Use < <= > >= == !=.")
            at = self.position(node)
            texts = "text" in (a.kind, b.kind)
            part = self.compare_texts(name, a, b, at) if texts else self.apply(name, [a, b], at)
            result = part if result is None else self.apply("and", [result, part], at)
        assert result is not None
        return result

    def presence(self, node: ast.Compare) -> Value:
        """`bias is None` of an optional input."""
        thing = self.thing(node.left)
        nothing = len(node.ops) == 1 and self.thing(node.comparators[0]) is NOTHING
        optional = isinstance(thing, Value) and isinstance(thing.node, Input) and thing.node.name
        if not nothing or optional not in self.names.optional:
            self.refuse(node, "`is` only asks whether an input with the default None is given")
        given = self.build(Given(str(optional)), "bool", self.position(node))
        absent = isinstance(node.ops[0], ast.Is)
        return self.apply("not", [given], given.at) if absent else given

    def condition(self, node: ast.expr) -> Value:
        """A condition of `if`. One of tensors, an error in PyTorch, is read for each element."""
        value = self.truth(self.value(node))
        tensors = any(isinstance(n, ast.Name) and self.is_tensor(n.id) for n in ast.walk(node))
        if tensors and not _asks_presence(node):
            line = getattr(node, "lineno", 1)
            self.warnings.append(
                f"line {line}: a condition of tensors is read for each element, as torch.where"
            )
        return value

    def is_tensor(self, name: str) -> bool:
        thing: Any = self.scope.get(name)
        return isinstance(thing, Value) and not isinstance(thing.node, AttributeRef | Constant)

    def inlined(self, helper: Helper, call: ast.Call) -> Thing:
        """The value of a call of another function of the text."""
        function = helper.function
        if function.name in self.active:
            path = " → ".join([*self.active[self.active.index(function.name) :], function.name])
            self.refuse(
                call,
                f"{function.name} calls itself ({path}), which never ends",
                "Write it without recursion.",
            )
        listed = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        given = self.bind(call, [a.arg for a in listed], None)
        arguments = {name: self.thing(node) for name, node in given.items() if isinstance(node, ast.expr)}
        positional = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        defaults = dict(zip(reversed(positional), reversed(function.args.defaults), strict=False))
        keywords = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
        defaults |= {a.arg: d for a, d in keywords if d is not None}
        for argument in listed:
            if argument.arg not in arguments:
                if argument.arg not in defaults:
                    self.refuse(call, f"{function.name} needs {argument.arg}")
                arguments[argument.arg] = self.thing(defaults[argument.arg])
        outer, self.scope = self.scope, Scope({**helper.scope, **arguments})
        self.active.append(function.name)
        returned = self.nested(lambda: self.block(function.body), call)
        self.active.pop()
        self.scope = outer
        if returned is None:
            self.refuse(call, f"{function.name} returns nothing")
        return returned[0][1] if len(returned) == 1 else tuple(t for _, t in returned)


def _kind(parameter: Parameter) -> Kind:
    kinds: dict[str, Kind] = {"bool": "bool", "string": "text"}
    return kinds.get(parameter.type or "", "number")


def _size(literal: float | bool | str) -> float:
    return literal if isinstance(literal, int) else 0


def _asks_presence(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot)
