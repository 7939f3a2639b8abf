"""What a stage holds in the unified buffer."""

from __future__ import annotations

from .selections import MASKS, TILES
from .stage_text import Integers, Uses
from .stages import Stage


def stage_bytes(stage: Stage, integers: Integers) -> int:
    """Bytes of an element of a tile, without the queues: float32 tiles, masks, work, scratch."""
    if stage.kind == "topk":
        return 4 * (1 + TILES) + -(-MASKS // 8) + 1 + integers.bytes
    plan = stage.plan
    uses = Uses.of(plan)
    tiles = len(stage.operands) + plan.floats + (stage.kind == "fold")
    return 4 * tiles + -(-plan.masks // 8) + uses.work + 32 * uses.scratch + integers.bytes


def held_bytes(stage: Stage) -> int:
    """Bytes that don't grow with the tile, generously rounded."""
    if stage.kind == "topk":
        return 4096
    plan = stage.plan
    return 2048 + 256 * plan.row_floats + 32 * plan.row_masks + 512 * len(stage.outputs)


def tile_tensors(stage: Stage) -> list[str]:
    """The tensors of the queues that hold tiles, once per queue."""
    tensors = [o.tensor for o in stage.operands if o.tensor]
    rows = dict(stage.plan.row_outputs) if stage.kind == "rows" else {}
    return tensors + [t for t in stage.outputs if t and t not in rows]
