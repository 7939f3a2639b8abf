"""Python pseudo-code: `def swish(x): return x * torch.sigmoid(x)`, read through `ast` and a whitelist.

The last function is the operator, functions before it (or inside it) are inlined. Parameters are inputs; one
with a default (a number, truth value or text) or annotated float, int, bool or str is an attribute; one with
the default None is an optional input. The body: assignments to names, `if`, `for` over range(...) or a tuple
(unrolled), `return` of one value or several;
expressions with the operators of Python, and the functions of pseudo_code_calls with PyTorch's meaning: a
reduction drops its axis unless keepdim=True. Conversions to float32, float64 or to an input's own type change
nothing, as all arithmetic is in the compute type; others round. Everything else is refused with its line.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

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
from ascend_ep.frontends.pseudo_code_expressions import NUMBERS, Expressions
from ascend_ep.frontends.pseudo_code_things import (
    Helper,
    Ranked,
    Scope,
    Thing,
)
from ascend_ep.opdef.definition import AttributeType
from ascend_ep.opdef.expression import AttributeRef, Input, Kind
from ascend_ep.opdef.formula_nodes import Value

_IMPORTS = ("torch", "torch.nn", "torch.nn.functional", "numpy", "math", "typing", "__future__")
_ANNOTATIONS: dict[str, AttributeType] = {"float": "float", "int": "int", "bool": "bool", "str": "string"}
_STATEMENTS = "allowed: name = value, if, for over range(...), return"
#: How many rounds the loops of a text may have together.
MAX_ROUNDS = 1000


def describe_pseudo_code(
    text: str, op_type: str | None = None, attributes: Defaults | None = None, where: str = ""
) -> Described:
    """The operator that the last function of the text is. Raises AscendError E42001 to E42004, E42101."""
    return _PseudoCode(text, where).read(op_type, attributes or {})


class _PseudoCode(Expressions):
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
            self.refuse(function, f"{(op or function.name)[:80]} can't be a name: use letters, digits and _")
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
            known = NUMBERS.get(default.attr) if isinstance(default, ast.Attribute) else None
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
        left = list(reversed(statements))
        while left:
            statement = left.pop()
            if isinstance(statement, ast.Return):
                return self.returned(statement)
            if not isinstance(statement, ast.If):
                self.statement(statement)
                continue
            condition = self.condition(statement.test)
            decided = self.known(condition)
            if decided is not None:
                left += reversed(statement.body if decided else statement.orelse)
                continue
            returned = self.branches(statement, condition, left[::-1])
            if returned is not None:
                return returned
        return None

    def returned(self, statement: ast.Return) -> list[tuple[str, Thing]]:
        value = statement.value
        if value is None:
            self.refuse(statement, "return needs a value")
        if isinstance(value, ast.Tuple | ast.List):
            return [(n.id if isinstance(n, ast.Name) else "", self.thing(n)) for n in value.elts]
        thing = self.thing(value)
        if isinstance(thing, Ranked):
            return list(zip(("values", "indices"), thing, strict=True))
        return [("", t) for t in thing] if isinstance(thing, tuple) else [("", thing)]

    def branches(
        self, statement: ast.If, condition: Value, rest: Sequence[ast.stmt]
    ) -> list[tuple[str, Thing]] | None:
        """Reads both branches; of names that both assign, and of results, the values are chosen between."""
        condition = self.shared(condition)
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
                self.scope[name] = self.kept(self.choose(condition, then, other_value, statement), name)
        for name in [n for n in self.scope if n not in after_then]:
            del self.scope[name]
        return None

    def replace_scope(self, names: dict[str, Thing]) -> None:
        self.scope.clear()
        self.scope.update(names)

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
        elif isinstance(statement, ast.For):
            self.loop(statement)
        else:
            words = type(statement).__name__.lower()
            self.refuse(statement, f"{words} isn't allowed in an operator", _STATEMENTS.capitalize() + ".")

    def loop(self, statement: ast.For) -> None:
        """Each round of a loop, one after the other: how many there are is known."""
        leaving = (ast.Return, ast.Break, ast.Continue)
        for node in ast.walk(statement):
            if isinstance(node, leaving):
                self.refuse(node, f"{type(node).__name__.lower()} isn't allowed in a loop")
        if statement.orelse:
            self.refuse(statement.orelse[0], "a loop has no else")
        for thing in self.rounds(statement.iter):
            self.rounds_done += 1
            if self.rounds_done > MAX_ROUNDS:
                at = self.position(statement)
                self.fail("E42004", "pseudo-code", f"its loops have more than {MAX_ROUNDS} rounds", at=at)
            self.assign(statement.target, thing)
            self.nested(lambda: self.block(statement.body), statement)

    def rounds(self, node: ast.expr) -> Sequence[Thing]:
        """What the variable of a loop is in each round."""
        called = node.func if isinstance(node, ast.Call) else None
        if not isinstance(called, ast.Name) or called.id not in ("range", "enumerate", "zip"):
            things = self.thing(node)
            if not isinstance(things, tuple):
                self.refuse(node, "a loop goes over range(...) or a tuple", "Write for i in range(5).")
            return things
        assert isinstance(node, ast.Call)
        if node.keywords or not node.args:
            self.refuse(node, f"{called.id} takes values only")
        at = self.position(node)
        if called.id == "range":
            limits = [self.round_number(a) for a in node.args]
            if len(limits) > 3 or (len(limits) == 3 and not limits[2]):
                self.refuse(node, "range takes a start, an end and a step")
            return [self.constant(float(i), at) for i in range(*limits)[: MAX_ROUNDS + 1]]
        parts = [self.rounds(a) for a in node.args]
        if called.id == "enumerate":
            return [(self.constant(float(i), at), thing) for i, thing in enumerate(parts[0])]
        return list(zip(*parts, strict=False))

    def round_number(self, node: ast.expr) -> int:
        """A limit of range(): it decides how often the loop is written out, so it must be known."""
        known = self.known(self.value(node))
        if not isinstance(known, float) or not known.is_integer() or abs(known) > 1e6:
            fix = "Write a number: the loop is unrolled before any shape is known."
            self.refuse(node, "how often the loop goes round isn't known here", fix)
        return int(known)

    def assign(self, target: ast.expr, thing: Thing) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            if not isinstance(thing, tuple) or len(thing) != len(target.elts):
                self.refuse(target, f"this takes {len(target.elts)} values")
            for part, value in zip(target.elts, thing, strict=True):
                self.assign(part, value)
        elif not isinstance(target, ast.Name):
            self.refuse(target, "only names can be assigned to", "Write name = value.")
        else:
            self.scope[target.id] = self.kept(thing, target.id)

    def kept(self, thing: Thing, name: str) -> Thing:
        """What a name stands for from now on: computed once, however often the name is used."""
        if isinstance(thing, tuple):
            return type(thing)(self.kept(t, "") for t in thing)
        if not isinstance(thing, Value):
            return thing
        wanted = identifier(name)
        return self.shared(thing, "" if wanted in RESERVED else wanted)

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
        arguments = {n: self.kept(self.thing(a), n) for n, a in given.items() if isinstance(a, ast.expr)}
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
