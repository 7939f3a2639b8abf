"""The list of passes: complete, and named as what it runs."""

from __future__ import annotations

import ast
from pathlib import Path

from ascend_ep.compiler import rewrites
from ascend_ep.compiler.pipeline import PARTITION, PIPELINE, PLAN, LoweredPartition, WorkPass, run_stage
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.graph.passes.known_facts import KnownFacts
from ascend_ep.graph.passes.pipeline import MODEL_STAGES, Setting
from ascend_ep.graph.passes.stage import Stage
from ascend_ep.graph.setbacks import persevere
from ascend_ep.plan.plan import NativePartition


def test_model_passes_have_the_names_of_their_classes() -> None:
    setting = Setting(KnownFacts(None))
    for stage in MODEL_STAGES:
        for each in stage.passes:
            assert type(each.make(setting)).__name__ == each.name


def test_rewrites_call_what_their_names_say() -> None:
    for stage in PIPELINE[len(MODEL_STAGES) :]:
        for each in stage.passes:
            assert isinstance(each, WorkPass)
            called = each.run.__code__.co_names  # type: ignore[attr-defined]
            assert any(each.name in name for name in called), (each.name, called)


def test_names_are_unique_within_what_they_work_on() -> None:
    for subject in ("model", "native partition", "whole plan"):
        names = [p.name for s in PIPELINE if s.works_on == subject for p in s.passes]
        names = [n for n in names if n != "RemoveUnusedNodesPass"]  # behind simplification and fusion
        assert len(set(names)) == len(names)


def is_pass(function: ast.FunctionDef) -> bool:
    """Whether it changes a plan or a partition, with nothing else that it has to be given but a ledger."""
    first, *others = [*function.args.args, ast.arg("")]
    required = others[: len(others) - 1 - len(function.args.defaults)]
    subject = first.annotation.id if isinstance(first.annotation, ast.Name) else ""
    return (
        not function.name.startswith("_")
        and subject in ("Plan", "NativePartition")
        and all(a.arg == "ledger" for a in required)
        and ast.unparse(function.returns or ast.Constant("")) in ("int", "None")
    )


def test_every_rewrite_is_in_the_list() -> None:
    listed = {p.name for s in (PARTITION, PLAN) for p in s.passes}
    inside_others = {"narrow_convolutions", "narrow_images", "flatten_copies"}
    found = {
        function.name
        for path in Path(rewrites.__path__[0]).glob("*.py")
        for function in ast.parse(path.read_text()).body
        if isinstance(function, ast.FunctionDef) and is_pass(function)
    }
    assert found - inside_others == listed - {"fuse_elementwise"}


def test_a_pass_that_raises_is_left_out() -> None:
    def stumble(work: LoweredPartition) -> None:
        raise KeyError("planted")

    seen: list[str] = []
    stage = Stage[WorkPass[LoweredPartition]](
        "t",
        "native partition",
        (
            WorkPass("stumble", "", "", run=stumble),
            WorkPass("behind", "", "", run=lambda w: seen.append(w.part.name)),
        ),
    )
    work = LoweredPartition(NativePartition("p0"), Ledger())
    _, left_out = persevere(lambda: run_stage(stage, work))
    assert list(left_out) == ["pass stumble"]
    assert seen == ["p0"]
