"""Strangers' models under torch.compile(backend="ascend"), beside eager PyTorch and inductor.

Takes the Python with ascend-ep, torch and, for the families named, torchvision, transformers or timm. Weights
are random, models small. Of each model: the largest difference from eager in inference, of the largest
magnitude; graphs compiled for three batch sizes, and where they are more than two, how many PyTorch itself
makes; what stays with PyTorch; with --train the largest of the differences of the losses of 20 steps, and of
the first step's slopes, of the largest slope; with --speed the processor time beside inductor's, as a ratio
of interleaved calls. drawn-torchvision and the like draw models by --seed. Where eager PyTorch
itself is further off from float64, three times its error is allowed.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
from case_process import TooLong, forked

from compiled_models import comparison
from compiled_models.drawn import PassedOver, of_timm, of_torchvision, of_transformers
from compiled_models.model import Family, Model
from compiled_models.picked import PICKED
from compiled_models.written import written

DRAWN = {"drawn-torchvision": of_torchvision, "drawn-timm": of_timm, "drawn-transformers": of_transformers}
FAMILIES = (*PICKED, "written", *DRAWN)
#: Seconds of processor time for one model.
LIMIT = 240


def family(name: str, seed: int) -> Family:
    if name in DRAWN:
        return DRAWN[name](seed)
    return written() if name == "written" else PICKED[name]()


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/torch_models", description=__doc__)
    parser.add_argument("families", nargs="*", default=["layers"], help=", ".join(FAMILIES))
    parser.add_argument("--only", default="", help="models whose name holds this")
    parser.add_argument("--train", action="store_true", help="with --speed: training steps' time, too")
    parser.add_argument("--steps", type=int, default=comparison.STEPS)
    parser.add_argument("--autocast", action="store_true", help="in bfloat16 too")
    parser.add_argument("--breaks", action="store_true", help="with a graph break in the middle too")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--seed", type=int, default=0, help="of the families that are drawn")
    parser.add_argument("--count", type=int, default=10, help="how many of each family that is drawn")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.backends.mha.set_fastpath_enabled(False)  # one operator in inference, which would stay with PyTorch
    wrong, count, ratios = 0, 0, {"": [], " in training": []}
    for name in given.families:
        left = given.count if name in DRAWN else -1
        for model, make in family(name, given.seed):
            if given.only not in f"{name}/{model}" or not left:
                continue
            found = _forked(make, given)
            if found.get("passed over"):
                print(f"{name}/{model:36} passed over: {found['passed over']}", flush=True)
                continue
            left, count, wrong = left - 1, count + 1, wrong + bool(found["wrong"])
            for way, ratio in found.get("ratios", {}).items():
                ratios[way].append(ratio)
            print(_line(f"{name}/{model}", found), flush=True)
    print(
        f"{count} models, {wrong} wrong"
        + "".join(_mean(way, found) for way, found in ratios.items() if found)
    )
    return 1 if wrong else 0


def _mean(way: str, ratios: list[float]) -> str:
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f", inductor {mean:.2f} times ours{way} ({sum(r < 1 for r in ratios)} of {len(ratios)} below 1)"


def _line(name: str, found: dict[str, Any]) -> str:
    parts = [
        f"{way} {worst:.1e} {graphs} graphs" + (f" (Dynamo's own: {captured})" if captured else "")
        for way, (worst, graphs, captured) in found["ways"].items()
    ]
    parts += [f"inductor {ratio:.2f} times ours{way}" for way, ratio in found.get("ratios", {}).items()]
    if found["left"]:
        parts.append("PyTorch runs " + ", ".join(f"{n} ({r[:80]})" for n, r in sorted(found["left"].items())))
    return f"{name:44} " + "; ".join(parts + [f"WRONG {w}" for w in found["wrong"]])


def _forked(make: Callable[[], Model], given: argparse.Namespace) -> dict[str, Any]:
    aloud = bool(os.environ.get("ASCEND_EP_TRIED_ALOUD"))
    found = forked(lambda: _tried(make, given), LIMIT, aloud)
    return {"ways": {}, "left": {}, "wrong": [found]} if isinstance(found, str) else found


def _tried(make: Callable[[], Model], given: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {"ways": {}, "left": {}, "wrong": [], "ratios": {}}
    way = "made"
    try:
        torch.manual_seed(0)
        model = make()
        ways: dict[str, Callable[[], comparison.Found]] = {"eval": lambda: comparison.infers(model)}
        if given.breaks:
            ways["broken"] = lambda: comparison.breaks(model)
        if given.autocast:
            ways["autocast"] = lambda: comparison.infers(model, narrow=True)
        if given.train and model.trains:
            ways["train"] = lambda: comparison.trains(model, given.steps)
        for way, run in ways.items():
            try:
                made = run()
            except Exception as error:  # a way that fails is a finding; the others are wanted
                found["wrong"].append(f"{way}: {type(error).__name__}: {str(error).strip()[:300]!r}")
                continue
            worst = max(made.errors.values(), default=0.0)
            found["ways"][way] = worst, made.graphs, made.captured
            found["left"] |= made.left
            found["wrong"] += [f"{way}: {w}" for w in made.wrong]
        if given.speed:
            found["ratios"][""] = comparison.ratio(model)
            if given.train and model.trains:
                found["ratios"][" in training"] = comparison.ratio(model, training=True)
    except PassedOver as reason:
        return {"passed over": str(reason)[:160]}
    except TooLong:
        found["wrong"].append(f"{way}: over {LIMIT} s")
    except Exception as error:
        found["wrong"].append(f"{type(error).__name__}: {str(error).strip()[:300]!r}")
    return found


if __name__ == "__main__":
    sys.exit(main())
