"""Writes the C source of the aclnn functions, and the headers that declare them, from operators.def.

A row of the table is one operator, aclnn<Name>:

    Name(kind argument, ...) = formula      of the arguments (expression.h), into the first that is written
    Name(kind argument, ...) : function     asc_op_<function>(run), or with what stands in parentheses
    Name~(...)                              the same, and Inplace<Name>, which writes its first tensor
    Name@(...)                              the same, declared in its own header only: programs that do
                                            without that declare the functions themselves
    Name@^(...)                             the same, and aclnn<Name>GetMaxWorkspaceSize, its first phase for
                                            all lengths of sequences

Kinds are those of asc_operator.h, a '?' behind them where NULL may be given; and y int8_t, n int32_t,
f float.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

C_TYPES = {
    "T": "const aclTensor *",
    "O": "aclTensor *",
    "R": "aclTensor *",
    "L": "const aclTensorList *",
    "M": "aclTensorList *",
    "Q": "aclTensorList *",
    "S": "const aclScalar *",
    "Z": "const aclScalarList *",
    "I": "const aclIntArray *",
    "F": "const aclFloatArray *",
    "B": "const aclBoolArray *",
    "i": "int64_t ",
    "y": "int8_t ",
    "n": "int32_t ",
    "d": "double ",
    "f": "float ",
    "b": "bool ",
    "t": "aclDataType ",
    "c": "const char *",
}
# Headers whose names don't follow from those of the operators that they declare.
OTHER_HEADERS = (
    "argmax",
    "argmin",
    "avgpool2d",
    "avgpool2d_backward",
    "avgpool3d",
    "avgpool3d_backward",
    "batch_matmul",
    "geglu",
    "geglu_backward",
    "isclose",
    "isfinite",
    "isin_tensor_scalar",
    "isneginf",
    "isposinf",
    "lerp_tensor",
    "logaddexp",
    "logaddexp2",
    "logsigmoid",
    "logsigmoid_backward",
    "logsoftmax",
    "logsoftmax_backward",
    "logsumexp",
    "maxn",
    "minn",
    "normal_out",
    "ones",
    "pad2d_backward",
    "pow",
    "remainder",
    "searchsorted",
    "upsample_nearest_2d",
)
KEPT_AS = {"y": "i", "n": "i", "f": "d"}
MEMBER = {"i": "i", "b": "i", "t": "i", "d": "d"}

_ROW = re.compile(
    r"(?P<name>\w+)(?P<inplace>~?)(?P<alone>@?)(?P<most>\^?)\((?P<arguments>[^)]*)\)\s*(?P<how>[=:])\s*(?P<recipe>.+)"
)


class Argument(NamedTuple):
    kind: str
    optional: str
    name: str

    def declared(self) -> str:
        return f"{C_TYPES[self.kind]}{self.name}"

    def given(self) -> str:
        return f"{{.{MEMBER.get(KEPT_AS.get(self.kind, self.kind), 'handle')} = {self.name}}}"


class Operator(NamedTuple):
    name: str
    arguments: list[Argument]
    formula: str | None
    function: str | None
    alone: bool
    most: bool = False

    def first_phase(self, size: str) -> str:
        declared = ", ".join(a.declared() for a in self.arguments)
        behind = "uint64_t *workspaceSize, aclOpExecutor **executor)"
        return f"aclnnStatus aclnn{self.name}Get{size}({declared}, {behind}"

    def first_phases(self) -> list[str]:
        return [self.first_phase(size) for size in ["WorkspaceSize", "MaxWorkspaceSize"][: 1 + self.most]]

    def prototypes(self) -> list[str]:
        second = f"aclnnStatus aclnn{self.name}(void *workspace, uint64_t workspaceSize, "
        return [*self.first_phases(), second + "aclOpExecutor *executor, aclrtStream stream)"]

    def recipe(self) -> list[str]:
        """What the row computes, as C."""
        declared = f"static const asc_recipe recipe_{self.name} = "
        if self.formula is not None:
            return [declared + f'{{.formula = "{self.formula}"}};']
        function, parentheses, extra = (self.function or "").partition("(")
        if not parentheses:
            return [f"void asc_op_{function}(asc_run *);", declared + f"{{.compute = asc_op_{function}}};"]
        numbers = ", int" * (extra.count(",") + 1)
        return [
            f"void asc_op_{function}(asc_run *{numbers});",
            f"static void compute_{self.name}(asc_run *run) {{ asc_op_{function}(run, {extra}; }}",
            declared + f"{{.compute = compute_{self.name}}};",
        ]

    def source(self) -> str:
        kinds = "".join(KEPT_AS.get(a.kind, a.kind) + a.optional for a in self.arguments)
        names = ", ".join(f'"{a.name}"' for a in self.arguments)
        given = ", ".join(a.given() for a in self.arguments)
        *first, launch = self.prototypes()
        caller = "__builtin_return_address(0)"
        lines = [
            *self.recipe(),
            f"static const char *const names_{self.name}[] = {{{names}}};",
            f"static const asc_operator row_{self.name} = {{",
            f'    .name = "aclnn{self.name}", .kinds = "{kinds}", .names = names_{self.name},',
            f"    .check = asc_recipe_check, .run = asc_recipe_run, .own = &recipe_{self.name}}};",
        ]
        prepared = f"asc_operator_prepare(&row_{self.name}, given, workspaceSize, executor, {caller})"
        for prepare in first:
            lines += [
                f"ACL_FUNC_VISIBILITY {prepare} {{",
                f"    const asc_given given[] = {{{given}}};",
                f"    return {prepared};",
                "}",
            ]
        lines += [
            f"ACL_FUNC_VISIBILITY {launch} {{",
            "    (void)workspace, (void)workspaceSize;",
            f"    return asc_operator_launch(&row_{self.name}, executor, stream, {caller});",
            "}",
        ]
        return "\n".join(lines)


def arguments_of(text: str) -> list[Argument]:
    found = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        kind, name = part.split()
        found.append(Argument(kind[0], kind[1:], name))
    return found


def inplace(operator: Operator) -> Operator:
    """The same in its first tensor, without the output."""
    first = next(i for i, a in enumerate(operator.arguments) if a.kind == "T")
    kept = [
        a._replace(kind="R") if i == first else a for i, a in enumerate(operator.arguments) if a.kind != "O"
    ]
    return operator._replace(name="Inplace" + operator.name, arguments=kept)


def read(text: str) -> list[Operator]:
    text = re.sub(r"^#.*\n", "", text, flags=re.M)
    rows: list[Operator] = []
    for line in filter(str.strip, re.sub(r"\n[ \t]+", " ", text).splitlines()):
        found = _ROW.fullmatch(line.strip())
        if not found:
            raise SystemExit(f"operators.def: no row: {line}")
        is_formula = found["how"] == "="
        made = Operator(
            found["name"],
            arguments_of(found["arguments"]),
            found["recipe"].strip() if is_formula else None,
            None if is_formula else found["recipe"].strip(),
            bool(found["alone"]),
            bool(found["most"]),
        )
        rows.append(made)
        if found["inplace"]:
            rows.append(inplace(made))
    return rows


def header(guard: str, includes: list[str], rows: list[Operator]) -> str:
    """One header that declares all of them."""
    declared = [f"ACL_FUNC_VISIBILITY {p};" for r in rows for p in r.prototypes()]
    return "\n".join(
        [
            "/* Operators of two phases. Generated from operators.def by generate.py. */",
            f"#ifndef ASCEND_EP_ACLNN_{guard}_H",
            f"#define ASCEND_EP_ACLNN_{guard}_H",
            *(f"#include {i}" for i in includes),
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            *declared,
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "#endif",
        ]
    )


def functions(runtime_header: str) -> str:
    """The operations of tile programs on operands, as the runtime lists them: functions of formulas."""
    found = [(n.lower(), int(v)) for n, v in re.findall(r"#define ASC_EW_([A-Z0-9]+) (\d+)", runtime_header)]
    first = dict(found)["add"]
    rows = [f'    {{"{n}", {v}}},' for n, v in found if v >= first and n != "count"]
    head = ["const asc_function asc_functions[] = {", *rows, "};"]
    return "\n".join([*head, f"const int asc_n_functions = {len(rows)};"])


def header_name(operator: Operator) -> str:
    """aclnn_gt_scalar.h of GtScalar and InplaceGtScalar."""
    name = operator.name if operator.alone else operator.name.removeprefix("Inplace")
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return f"aclnn_{words.lower()}.h"


def main() -> None:
    table, runtime, target, headers = map(Path, sys.argv[1:])
    rows = read(table.read_text())
    head = '/* Generated by generate.py. */\n#include <stdbool.h>\n\n#include "expression.h"\n'
    made = [head, functions(runtime.read_text()), *(r.source() for r in rows)]
    target.write_text("\n\n".join(made) + "\n")
    (headers / "level2").mkdir(parents=True, exist_ok=True)
    common = ["<stdbool.h>", '"acl/acl_rt.h"', '"aclnn/acl_meta.h"', '"aclnn/asc_matmul_weight.h"']
    together = [r for r in rows if not r.alone]
    (headers / "operators.h").write_text(header("OPERATORS", common, together) + "\n")
    for name in {header_name(r) for r in rows} | {f"aclnn_{n}.h" for n in OTHER_HEADERS}:
        own = [r for r in rows if r.alone and header_name(r) == name]
        text = header(name[6:-2].upper(), ['"operators.h"'], own) if own else '#include "operators.h"'
        (headers / name).write_text(text + "\n")
        (headers / "level2" / name).write_text(f'#include "../{name}"\n')


if __name__ == "__main__":
    main()
