"""A language model beside the advice: it may propose changes, which are tried, and word the report.

It decides nothing. What it proposes is flags of ascend-atc of a short list, so that no answer names a file;
what it writes stands behind the measured report, with its name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ascend_ep.frontends.language_model import Endpoint, ask
from ascend_ep.profiling.advice.tries import Change

#: Flags that may be proposed: how exact operators are, and what is fused.
FLAGS = ("precision_mode", "precision_mode_v2", "op_select_implmode", "oo_level")
#: Proposals that are tried, and characters of an answer that are shown.
MOST_PROPOSALS, MOST_WORDS = 4, 4000
_PROPOSAL = re.compile(rf"--(?:{'|'.join(FLAGS)})=\w+")
_PROPOSE = f"""\
You are given what bounds the calls of a neural network on a CPU, and the changes that will be tried to
make it faster. Propose at most {MOST_PROPOSALS} others that are worth measuring, each one flag of the
Ascend tool atc, of {", ".join(f"--{name}" for name in FLAGS)}.
Answer with a JSON array of strings and nothing else, [] for none."""
_WORD = """\
You are given a report on changes that were measured to make a neural network faster. Explain it in at most
ten short sentences to the engineer who owns the model: what to do first, what it gains and costs, what
isn't worth doing and why. Use only numbers that stand in the report."""


def proposals(
    endpoint: Endpoint, bound: Sequence[dict[str, Any]], known: Sequence[Change]
) -> Iterator[Change]:
    """What the model would try besides, as far as it may be. Raises AscendError E42104 without an answer."""
    facts = {"what bounds it": bound, "will be tried": [[c.name, c.weakness, *c.flags] for c in known]}
    answer = ask(endpoint, [_message("system", _PROPOSE), _message("user", json.dumps(facts))])
    given = {flag for change in known for flag in change.flags}
    for flag in list(dict.fromkeys(_PROPOSAL.findall(answer)))[:MOST_PROPOSALS]:
        if flag not in given:
            yield Change(flag.lstrip("-"), f"proposed by {endpoint.model}", flags=(flag,))


def words(endpoint: Endpoint, report: str) -> str:
    """The report as the model words it. Raises AscendError E42104 without an answer."""
    answer = ask(endpoint, [_message("system", _WORD), _message("user", report)])
    return "".join(c for c in answer[:MOST_WORDS] if c.isprintable() or c == "\n").strip()


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}
