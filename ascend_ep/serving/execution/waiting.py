"""What waits to be run: jobs by shape, so that those which fit into one batch lie together."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator

from ascend_ep.errors import AscendError

from .job import Job

#: The sizes behind the first of every input, where a request chooses them.
Key = tuple[tuple[int, ...], ...]


class Group:
    """Jobs of one key, first come first served within a level; level 0 goes first.

    rows: of all its jobs, cancelled ones included. due: when it must be run, on the clock of time.monotonic,
    however few they are.
    """

    __slots__ = ("due", "key", "levels", "rows")

    def __init__(self, key: Key, levels: int) -> None:
        self.key = key
        self.levels: tuple[deque[Job], ...] = tuple(deque() for _ in range(levels))
        self.rows = 0
        self.due = float("inf")

    def jobs(self) -> Iterator[Job]:
        for level in self.levels:
            yield from level

    def first(self) -> tuple[int, int]:
        """The level and the arrival of the job that is next."""
        for number, level in enumerate(self.levels):
            if level:
                return number, level[0].arrived
        raise IndexError("the group is empty")


class WaitingJobs:
    """Bounded by the number of jobs and by the bytes of their inputs."""

    def __init__(self, max_jobs: int, max_bytes: int, levels: int = 1) -> None:
        self._max_jobs = max_jobs
        self._max_bytes = max_bytes
        self._levels = levels
        self._groups: dict[Key, Group] = {}
        self.count = 0
        self.bytes = 0

    def another(self) -> WaitingJobs:
        """An empty one with the same bounds."""
        return WaitingJobs(self._max_jobs, self._max_bytes, self._levels)

    def add(self, job: Job, key: Key) -> Group:
        """Raises AscendError E50006 when there is no room."""
        if self.count >= self._max_jobs or self.bytes + job.size > self._max_bytes:
            self._forget_finished()
            if self.count >= self._max_jobs:
                raise AscendError("E50006", f"{self.count} requests")
            if self.count and self.bytes + job.size > self._max_bytes:
                raise AscendError("E50006", f"{self.bytes} bytes of tensors")
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(key, self._levels)
        group.levels[job.level].append(job)
        group.rows += job.rows
        self.count += 1
        self.bytes += job.size
        return group

    def groups(self) -> list[Group]:
        """Those that have jobs, the one whose turn it is first."""
        if len(self._groups) < 2:
            return list(self._groups.values())
        return sorted(self._groups.values(), key=Group.first)

    def take(self, group: Group, rows: int) -> tuple[list[Job], list[Job]]:
        """The next jobs of the group, of so many rows in all (one job may have more), and those on the way
        to them whose deadline has passed. What was cancelled is dropped."""
        taken: list[Job] = []
        late: list[Job] = []
        room, now = rows, time.monotonic()
        for level in group.levels:
            while level:
                job = level[0]
                live = not job.finished
                in_time = live and not job.is_late_to_start(now)
                if in_time and taken and job.rows > room:
                    break
                level.popleft()
                self._count_out(group, job)
                if in_time:
                    taken.append(job)
                    room -= job.rows
                elif live:
                    late.append(job)
            if taken and (room <= 0 or level):
                break
        if not any(group.levels):
            del self._groups[group.key]
        return taken, late

    def _count_out(self, group: Group, job: Job) -> None:
        group.rows -= job.rows
        self.count -= 1
        self.bytes -= job.size

    def _forget_finished(self) -> None:
        """Jobs that nobody waits for any more give their room back."""
        for group in list(self._groups.values()):
            for level in group.levels:
                for job in [job for job in level if job.finished]:
                    level.remove(job)
                    self._count_out(group, job)
            if not any(group.levels):
                del self._groups[group.key]
