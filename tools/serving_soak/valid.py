"""Traffic that is right: each answer has the bits of the model's own run."""

from __future__ import annotations

import random

import numpy as np
from serving_bench.forms import answer as read
from serving_bench.forms import request

from .connection import Answer, Connection, Gone, post
from .models import Asked
from .tally import Tally

FORMS = ("v2 json", "v2 binary")
#: JSON of 150,000 numbers is an exception, not the rule.
LONG_JSON = 0.02


def encoded(asked: Asked, choice: random.Random) -> tuple[str, bytes]:
    """A form, and the bytes of a request in it."""
    json_share = 0.5 if asked.x.nbytes < 4096 else LONG_JSON
    form = "v2 json" if choice.random() < json_share else "v2 binary"
    return form, encoded_as(form, asked)


def encoded_as(form: str, asked: Asked) -> bytes:
    made = request(form, asked.model, asked.x)
    path = made.path.replace("/infer", f"/versions/{asked.version}/infer")
    return post(path, made.body, *(f"{name}: {value}" for name, value in made.headers.items()))


def check(asked: Asked, form: str, answer: Answer, tally: Tally) -> None:
    tally.counts[f"{asked.model}, {form}: {answer.status}"] += 1
    if answer.status != 200:
        if answer.status != 503 or "retry-after" not in answer.headers:
            tally.late(f"{asked.model}, {form}: {answer.status} {answer.body[:200]!r}")
        return
    got = read(form, answer.headers, answer.body)
    if got.shape != asked.y.shape or got.tobytes() != asked.y.tobytes():
        tally.wrong(f"{asked.model} {asked.version}, {form}: {np.abs(got - asked.y).max()} off")


async def converse(port: int, questions: list[Asked], choice: random.Random, tally: Tally) -> None:
    """A connection that is kept for some requests, now and then with several on their way at once."""
    async with Connection(port) as connection:
        for _ in range(choice.randrange(1, 40)):
            several = [choice.choice(questions) for _ in range(choice.choice([1, 1, 1, 1, 4]))]
            sent = [encoded(asked, choice) for asked in several]
            await connection.send(b"".join(data for _, data in sent))
            for asked, (form, _) in zip(several, sent, strict=True):
                try:
                    answer = await connection.answer()
                except (Gone, TimeoutError) as gone:
                    tally.late(f"a valid request to {asked.model} isn't answered: {gone!r}")
                    return
                check(asked, form, answer, tally)
                if answer.closes:
                    return
