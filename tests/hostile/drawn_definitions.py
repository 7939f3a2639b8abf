"""Definitions, formulas and prompts of operators as an attacker would write them, drawn by seed."""

from __future__ import annotations

import json
import random
from typing import Any

from drawn_values import FLOATS, NAMES, WHOLE

#: An operator as its JSON says it, with a formula and a rule of shapes.
DEFINITION: dict[str, Any] = {
    "op": "Drawn",
    "domain": "own",
    "types": {"T": ["float32"]},
    "inputs": [{"name": "x", "type": "T"}],
    "outputs": [{"name": "y", "type": "T"}],
    "attributes": [{"name": "a", "type": "float", "default": 0.5}],
    "shape": "x",
    "formula": "y = a*x/(1 + exp(-x))",
}
FORMULAS = (
    "y = {}*x",
    "y = x**{}",
    "y = ({})",
    "y = sum(x, axis={})",
    "y = x if x > {} else a",
    "y = {}(x)",
    "{} = x",
    "y = x + {}",
    "y = x[{}]",
    "y = topk(x, {}, axis=0)",
    "y = x.with_dim({}, 1)",
    "for i in range({}): y = x",
)
PARTS = (
    "9" * 400,
    "1e999",
    "2**" * 60 + "2",
    "(" * 900 + "x" + ")" * 900,
    "-" * 3000 + "x",
    "x*" * 3000 + "x",
    "\x00",
    "__import__('os').abort()",
    "open('/etc/passwd')",
    "().__class__.__bases__",
    "lambda: x",
    "exec",
    "x;x",
    "'",
    '"""',
    "\u202ex",
    "exp(" * 200 + "x" + ")" * 200,
    "nan",
    "1/0",
    "x y",
    "\\" * 99,
    "{x}",
    "%s",
    "max(x, " * 80 + "x" + ")" * 80,
)
PROMPTS = (
    "Op(x) = {}",
    "{}",
    "an operator {} that doubles x",
    "$y = {}$",
    "def f(x):\n    return {}",
    "y_i = {} for all i",
    "\\frac{{{}}}{{x}}",
    "Given x, compute {} of it.",
    "f(x, {}) = x",
    "y = x\n{}\ny = x",
)


def formula(seed: int) -> str:
    chance = random.Random(seed)
    return chance.choice(FORMULAS).format(chance.choice(PARTS))


def prompt(seed: int) -> str:
    chance = random.Random(seed)
    return chance.choice(PROMPTS).format(chance.choice([*PARTS, *NAMES]))


def definition(seed: int) -> str:
    """The text of a definition."""
    chance = random.Random(seed)
    made: dict[str, Any] = json.loads(json.dumps(DEFINITION))
    for _ in range(chance.choice([1, 1, 2])):
        key = chance.choice([*made, chance.choice(NAMES)])
        values: list[Any] = [
            *WHOLE,
            *FLOATS,
            *NAMES,
            None,
            True,
            [],
            {},
            [made.get(key)] * 3000,
            formula(seed),
            {"y": formula(seed)},
        ]
        made[key] = chance.choice(values)
        place = chance.choice(["inputs", "outputs", "attributes"])
        if isinstance(made.get(place), list) and made[place] and isinstance(made[place][0], dict):
            made[place][0][chance.choice(["name", "type", "default", "allowed", "format"])] = chance.choice(
                values
            )
    text = json.dumps(made)
    match chance.randrange(6):
        case 0:
            return text[: chance.randrange(len(text))]
        case 1:
            return "[" * chance.choice([3, 30_000]) + text
        case 2:
            return text.replace('"x"', chance.choice(['"x", "x"', "1e99999", "NaN", '"\\ud800"', "/* */"]), 1)
    return text
