"""torch.distributed with the backend "hccl" on simulated devices: operations, and training.

usage: torch_npu_distributed.py RANKS; a line of JSON of each rank: what is wrong, and how far the weights
that it trained with the others are from those of one process on the CPU.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.multiprocessing import spawn
from torch.nn.parallel import DistributedDataParallel

STEPS = 10
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int32, torch.int64, torch.uint8)


def mine(rank: int, count: int = 5, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.arange(count) % 3 + rank + 1).to(dtype)


def all_reduces(rank: int, ranks: int) -> list[str]:
    wrong = []
    ops = {"SUM": torch.sum, "MAX": torch.amax, "MIN": torch.amin, "PRODUCT": torch.prod}
    for dtype in DTYPES:
        for name, of in ops.items():
            wide = torch.float64 if dtype.is_floating_point else torch.int64
            parts = torch.stack([mine(r, dtype=dtype) for r in range(ranks)]).to(wide)
            x = mine(rank, dtype=dtype).npu()
            try:
                dist.all_reduce(x, op=getattr(dist.ReduceOp, name))
            except (RuntimeError, TypeError) as error:
                wrong.append(f"all_reduce {name} {dtype}: {str(error).splitlines()[0]}")
                continue
            if not torch.equal(x.cpu(), of(parts, dim=0).to(dtype)):
                wrong.append(f"all_reduce {name} {dtype}")
    return wrong


def broadcasts(rank: int, ranks: int) -> torch.Tensor:
    x = mine(rank).npu()
    dist.broadcast(x, src=ranks - 1)
    return x.cpu() - mine(ranks - 1)


def gathers(rank: int, ranks: int) -> torch.Tensor:
    parts = [torch.zeros(5).npu() for _ in range(ranks)]
    dist.all_gather(parts, mine(rank).npu())
    whole = torch.zeros(5 * ranks).npu()
    dist.all_gather_into_tensor(whole, mine(rank).npu())
    wanted = torch.cat([mine(r) for r in range(ranks)])
    return torch.stack([torch.cat(parts).cpu() - wanted, whole.cpu() - wanted])


def uneven_gathers(rank: int, ranks: int) -> torch.Tensor:
    parts = [torch.zeros(r + 1).npu() for r in range(ranks)]
    dist.all_gather(parts, mine(rank, rank + 1).npu())
    return torch.cat(parts).cpu() - torch.cat([mine(r, r + 1) for r in range(ranks)])


def reduces(rank: int, ranks: int) -> torch.Tensor:
    x = mine(rank).npu()
    dist.reduce(x, dst=0)
    return x.cpu() - sum(mine(r) for r in range(ranks)) if rank == 0 else torch.zeros(1)


def reduce_scatters(rank: int, ranks: int) -> torch.Tensor:
    out = torch.zeros(3).npu()
    dist.reduce_scatter_tensor(out, mine(rank, 3 * ranks).npu())
    pieces = [piece.npu() for piece in mine(rank, 3 * ranks).chunk(ranks)]
    listed = torch.zeros(3).npu()
    dist.reduce_scatter(listed, pieces)
    wanted = sum(mine(r, 3 * ranks) for r in range(ranks))[3 * rank : 3 * rank + 3]
    return torch.stack([out.cpu() - wanted, listed.cpu() - wanted])


def all_to_alls(rank: int, ranks: int) -> torch.Tensor:
    out = torch.zeros(2 * ranks).npu()
    dist.all_to_all_single(out, mine(rank, 2 * ranks).npu())
    wanted = torch.cat([mine(r, 2 * ranks)[2 * rank : 2 * rank + 2] for r in range(ranks)])
    sizes = [r + 1 for r in range(ranks)]
    uneven = torch.zeros(ranks * (rank + 1)).npu()
    dist.all_to_all_single(uneven, mine(rank, sum(sizes)).npu(), [rank + 1] * ranks, sizes)
    at = sum(sizes[:rank])
    uneven_wanted = torch.cat([mine(r, sum(sizes))[at : at + rank + 1] for r in range(ranks)])
    listed = [torch.zeros(2).npu() for _ in range(ranks)]
    dist.all_to_all(listed, list(mine(rank, 2 * ranks).npu().chunk(ranks)))
    return torch.cat([out.cpu() - wanted, uneven.cpu() - uneven_wanted, torch.cat(listed).cpu() - wanted])


def scatters(rank: int, ranks: int) -> torch.Tensor:
    out = torch.zeros(5).npu()
    dist.scatter(out, [mine(r).npu() for r in range(ranks)] if rank == 0 else None, src=0)
    return out.cpu() - mine(rank)


def sends(rank: int, ranks: int) -> torch.Tensor:
    """Around the ring, rank 0 first."""
    out, after, before = torch.zeros(5).npu(), (rank + 1) % ranks, (rank - 1) % ranks
    if rank == 0:
        dist.send(mine(rank).npu(), after)
        dist.recv(out, before)
    else:
        dist.recv(out, before)
        dist.send(mine(rank).npu(), after)
    return out.cpu() - mine(before)


def batches(rank: int, ranks: int) -> torch.Tensor:
    out, after, before = torch.zeros(5).npu(), (rank + 1) % ranks, (rank - 1) % ranks
    ops = [dist.P2POp(dist.isend, mine(rank).npu(), after), dist.P2POp(dist.irecv, out, before)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return out.cpu() - mine(before)


def objects(rank: int, ranks: int) -> torch.Tensor:
    got: list[object] = [None] * ranks
    dist.all_gather_object(got, {"rank": rank})
    return torch.tensor([got[r] != {"rank": r} for r in range(ranks)])


def groups(rank: int, ranks: int) -> torch.Tensor:
    """The first two ranks by themselves."""
    group = dist.new_group([0, 1])
    if rank > 1:
        return torch.zeros(1)
    x = mine(rank).npu()
    dist.all_reduce(x, group=group)
    return x.cpu() - mine(0) - mine(1)


CASES: tuple[Callable[[int, int], torch.Tensor], ...] = (
    broadcasts,
    gathers,
    uneven_gathers,
    reduces,
    reduce_scatters,
    all_to_alls,
    scatters,
    sends,
    batches,
    objects,
    groups,
)


def model() -> torch.nn.Module:
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


def batch(ranks: int, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(100 + step)
    x = torch.randn(4 * ranks, 6)
    return x, x[:, :1] * x[:, 1:2]


def train(
    net: torch.nn.Module, device: str, ranks: int, rows: slice
) -> tuple[list[float], list[torch.Tensor]]:
    """Losses over these rows of each batch, and the weights at the end."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for step in range(STEPS):
        x, y = batch(ranks, step)
        loss = torch.nn.functional.mse_loss(net(x[rows].to(device)), y[rows].to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [whole(p).detach().cpu() for p in net.parameters()]


def whole(parameter: torch.Tensor) -> torch.Tensor:
    return parameter.full_tensor() if isinstance(parameter, DTensor) else parameter


def sharded(net: torch.nn.Sequential) -> torch.nn.Sequential:
    """Each layer gathers its weights by itself, beside the gradients of others that are scattered."""
    for layer in net:
        if list(layer.parameters()):
            fully_shard(layer)
    return fully_shard(net)


def main(rank: int, ranks: int, store: str) -> None:
    torch.npu.set_device(rank)
    dist.init_process_group("hccl", init_method=f"file://{store}", rank=rank, world_size=ranks)
    wrong = all_reduces(rank, ranks)
    for case in CASES:
        try:
            difference = case(rank, ranks)
            if difference.abs().max() if difference.dtype != torch.bool else difference.any():
                wrong.append(case.__name__)
        except (RuntimeError, TypeError, ValueError) as error:
            wrong.append(f"{case.__name__}: {str(error).splitlines()[0]}")
    dist.barrier()
    _, alone = train(model(), "cpu", ranks, slice(None))
    apart = 0.0
    for net in (DistributedDataParallel(model().npu(), device_ids=[rank]), sharded(model().npu())):
        _, together = train(net, "npu", ranks, slice(4 * rank, 4 * rank + 4))
        apart = max(apart, *(float((a - b).abs().max()) for a, b in zip(alone, together, strict=True)))
    print(json.dumps({"rank": rank, "wrong": wrong, "apart": apart}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    count = int(sys.argv[1])
    os.environ.setdefault("ASCEND_EP_DEVICES", str(count))
    with tempfile.TemporaryDirectory() as folder:
        spawn(main, args=(count, f"{folder}/store"), nprocs=count)
