"""Kernels whose template arguments are their tiling key: ASCENDC_TPL_ARGS_DECL and ASCENDC_TPL_SEL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_ep.opbuild.ascendc.call_request import GE_NUMBERS
from ascend_ep.opbuild.ascendc.cpp import sources_of
from ascend_ep.opbuild.ascendc.declarations import without_comments

from .signature import KernelFunction, separated

_DECLARES = re.compile(r"\bASCENDC_TPL_ARGS_DECL\s*\(")
_PARAMETER = re.compile(r"(?P<type>.*?)\s*\b[A-Za-z_]\w*\Z", re.DOTALL)


@dataclass(frozen=True)
class TemplateKeys:
    """What a unit needs to run the instance that a key means. kinds: of the template's parameters,
    "typename" or the type of a number. arguments: types of the kernel's parameters. n_in: how many tensors of
    a column are inputs."""

    kinds: tuple[str, ...]
    arguments: tuple[str, ...]
    n_in: int

    def lines(self, symbol: str, called: str, types: Sequence[int | None]) -> list[str]:
        """Text that defines `symbol`_by_key, which calls an instance of the template `called`."""
        numbers = [-1 if t is None else GE_NUMBERS[t] for t in types]
        names = [f"a{i}" for i in range(len(self.arguments))]
        typed = ", ".join(f"{t} {n}" for t, n in zip(self.arguments, names, strict=True))
        chosen = ", ".join(
            f"typename ::asc_tpl::ElementType<made.values[{i}]>::type"
            if kind in ("typename", "class")
            else f"static_cast<{kind}>(made.values[{i}])"
            for i, kind in enumerate(self.kinds)
        )
        return [
            '#include "cpu/template_dispatch.h"',
            f"struct {symbol}_instances {{",
            "    static constexpr const auto &declared() { return asc_tpl_declared; }",
            "    static constexpr const auto &selected() { return asc_tpl_selected; }",
            f"    static_assert(::asc_tpl::arguments_of(asc_tpl_declared) == {len(self.kinds)},"
            f' "ASCENDC_TPL_ARGS_DECL declares other parameters than the kernel\'s template has");',
            *_types("INPUTS", numbers[: self.n_in]),
            *_types("OUTPUTS", numbers[self.n_in :]),
            "    template <size_t i, typename... A>",
            "    static void call(A... a) {",
            "        constexpr auto made = ::asc_tpl::instance(asc_tpl_declared, asc_tpl_selected, i);",
            f"        {called}<{chosen}>(a...);",
            "    }",
            "};",
            f"static void {symbol}_by_key({typed}) {{",
            f"    ::asc_tpl::run_instance<{symbol}_instances>({', '.join(names)});",
            "}",
        ]


def _types(name: str, numbers: Sequence[int]) -> list[str]:
    values = ", ".join(map(str, [*numbers, -1]))
    return [
        f"    static constexpr size_t N_{name} = {len(numbers)};",
        f"    static constexpr int {name}[] = {{{values}}};",
    ]


def template_keys(kernel: KernelFunction, folders: Sequence[Path], n_in: int) -> TemplateKeys | None:
    """Of a kernel that is a template whose file, or a file that it includes, declares its arguments."""
    if not kernel.template:
        return None
    files = [kernel.file, *sources_of(f'#include "{kernel.file}"', (kernel.file.parent, *folders))]
    texts = (without_comments(p.read_text(encoding="utf-8", errors="replace")) for p in files)
    if not any(_DECLARES.search(text) for text in texts):
        return None
    kinds = tuple(_kind(p) for p in separated(kernel.template))
    return TemplateKeys(kinds, tuple(p.type for p in kernel.parameters), n_in)


def _kind(parameter: str) -> str:
    plain = parameter.partition("=")[0].strip()
    match = _PARAMETER.fullmatch(plain)
    return match["type"].strip() if match and match["type"].strip() else plain
