"""Releases in the midst of traffic: new files, then the repository's load."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from .connection import Connection, Gone, post
from .models import replace
from .tally import Tally


async def can_reload(port: int) -> bool:
    """Whether the server has the repository extension."""
    async with Connection(port) as connection:
        await connection.send(post("/v2/repository/index", b"{}"))
        return (await connection.answer()).status == 200


async def reload_models(port: int, root: Path, choice: random.Random, every: float, tally: Tally) -> None:
    """Until it is cancelled."""
    models = sorted(path.name for path in root.iterdir())
    while True:
        await asyncio.sleep(every * (0.5 + choice.random()))
        model = choice.choice(models)
        replace(root, model)
        try:
            async with Connection(port) as connection:
                await connection.send(post(f"/v2/repository/models/{model}/load", b"{}"))
                answer = await connection.answer()
        except (Gone, TimeoutError) as error:
            tally.late(f"load of {model}: {error!r}")
            continue
        tally.counts[f"load: {answer.status}"] += 1
        if answer.status != 200:
            tally.wrong(f"load of {model}: {answer.status} {answer.body[:200]!r}")
