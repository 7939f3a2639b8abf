"""SIGTERM in the midst of requests: those that are on their way are answered."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

from .connection import Connection, Gone
from .models import Asked
from .server import Server
from .tally import Tally
from .valid import check, encoded


@dataclass
class _Client:
    """sent: whether a whole request is with the server; owed: whether it was when SIGTERM came."""

    sent: bool = False
    owed: bool = False

    async def run(self, port: int, questions: list[Asked], choice: random.Random, tally: Tally) -> None:
        """Asks on one connection until that is closed."""
        try:
            async with Connection(port) as connection:
                while True:
                    asked = choice.choice(questions)
                    form, data = encoded(asked, choice)
                    await connection.send(data)
                    self.sent = True
                    answer = await connection.answer()
                    self.sent = self.owed = False
                    check(asked, form, answer, tally)
                    if answer.closes:
                        return
        except (Gone, TimeoutError) as error:
            if self.owed:
                tally.wrong(f"a request that was sent before SIGTERM isn't answered: {error!r}")


async def end_under_load(
    server: Server, questions: list[Asked], clients: int, choice: random.Random, tally: Tally
) -> float:
    """Ends the server and returns the seconds it took."""
    small = [asked for asked in questions if asked.x.nbytes < 4096]
    running = [_Client() for _ in range(clients)]
    tasks = [asyncio.create_task(c.run(server.ports["HTTP"], small, choice, tally)) for c in running]
    await asyncio.sleep(0.5)
    for client in running:
        client.owed = client.sent
    server.terminate()
    status, seconds = await asyncio.to_thread(server.wait)
    await asyncio.gather(*tasks)
    if status != 0:
        tally.wrong(f"after SIGTERM the exit status is {status}: {server.tail()}")
    return seconds
