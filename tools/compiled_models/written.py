"""Models as people write them by hand: graphs of nodes, diffusion, experts, scans, spectra, memories."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from compiled_models.model import Family, Model

Tensor = torch.Tensor


class Block(nn.Module):
    """Of a diffusion model's U-Net: told of the time, with attention at the bottom."""

    def __init__(self, inner: int, outer: int, attends: bool) -> None:
        super().__init__()
        self.first, self.second = nn.GroupNorm(4, inner), nn.GroupNorm(4, outer)
        self.a, self.b = nn.Conv2d(inner, outer, 3, padding=1), nn.Conv2d(outer, outer, 3, padding=1)
        self.time, self.skip = nn.Linear(32, 2 * outer), nn.Conv2d(inner, outer, 1)
        self.attention = nn.MultiheadAttention(outer, 4, batch_first=True) if attends else None

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        scale, shift = self.time(functional.silu(time))[:, :, None, None].chunk(2, 1)
        h = self.second(self.a(functional.silu(self.first(x)))) * (1 + scale) + shift
        h = self.b(functional.silu(h)) + self.skip(x)
        if self.attention is None:
            return h
        flat = h.flatten(2).transpose(1, 2)
        seen = self.attention(flat, flat, flat, need_weights=False)[0]
        return h + seen.transpose(1, 2).reshape(h.shape)


class Diffusion(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.head = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 3, 3, padding=1)
        self.down, self.bottom, self.up = Block(16, 32, False), Block(32, 32, True), Block(48, 16, False)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        angles = t[:, None] * torch.exp(torch.arange(16, device=x.device) * (-math.log(1e4) / 16))
        time = torch.cat([angles.sin(), angles.cos()], -1)
        skip = self.stem(x)
        h = self.down(functional.avg_pool2d(skip, 2), time)
        h = functional.interpolate(self.bottom(h, time), scale_factor=2, mode="nearest")
        return self.head(self.up(torch.cat([h, skip], 1), time))


class GraphConvolution(nn.Module):
    """Sums of neighbours by index, scaled by degrees, then the mean of every graph."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 16), nn.Linear(16, 16)])

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges
        degree = torch.zeros(x.shape[0]).index_add_(0, target, torch.ones(target.shape[0])).clamp(min=1)
        for layer in self.layers:
            messages = layer(x)[source] * (degree[source] * degree[target]).rsqrt()[:, None]
            x = torch.relu(torch.zeros(x.shape[0], 16).index_add(0, target, messages))
        return x


class GraphAttention(nn.Module):
    """A softmax over the edges that end in a node."""

    def __init__(self) -> None:
        super().__init__()
        self.line, self.left, self.right = nn.Linear(8, 12), nn.Linear(12, 1), nn.Linear(12, 1)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges
        h = self.line(x)
        score = functional.leaky_relu(self.left(h)[source] + self.right(h)[target], 0.2).squeeze(-1)
        most = torch.full((x.shape[0],), -1e9).scatter_reduce(0, target, score.detach(), "amax")
        weight = (score - most[target]).exp()
        total = torch.zeros(x.shape[0]).scatter_add(0, target, weight)
        share = weight / (total[target] + 1e-9)
        where = target[:, None].expand(-1, 12)
        return torch.zeros(x.shape[0], 12).scatter_add(0, where, share[:, None] * h[source])


class Experts(nn.Module):
    """The two best of four, each on all tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(16, 4)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)) for _ in range(4)
        )

    def forward(self, x: Tensor) -> Tensor:
        best, which = self.gate(x).topk(2, -1)
        share = torch.zeros(*x.shape[:-1], 4).scatter(-1, which, best.softmax(-1))
        return (torch.stack([e(x) for e in self.experts], -2) * share[..., None]).sum(-2)


class Scan(nn.Module):
    """A state space that a loop steps through, written into a result in place."""

    def __init__(self) -> None:
        super().__init__()
        self.into, self.delta, self.out = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 8)
        self.rate, self.norm = nn.Parameter(torch.rand(16)), nn.RMSNorm(8)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(x)
        state, result = torch.zeros(x.shape[0], 16), torch.empty(x.shape[0], x.shape[1], 16)
        for k in range(x.shape[1]):
            step = functional.softplus(self.delta(x[:, k]))
            state = state * torch.exp(-step * self.rate) + step * self.into(x[:, k])
            result[:, k] = state
        return x + self.out(result)


class Spectral(nn.Module):
    """A Fourier operator: products of some frequencies."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4, 6, dtype=torch.cfloat) * 0.2)
        self.line = nn.Conv1d(4, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        found = torch.fft.rfft(x)
        low = torch.einsum("bik,iok->bok", found[..., :6], self.weight)
        full = functional.pad(low, (0, found.shape[-1] - 6))
        return functional.gelu(torch.fft.irfft(full, n=x.shape[-1]) + self.line(x))


class Recurrent(nn.Module):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 12, padding_idx=0)
        self.inner, self.head = kind(12, 16, 2, batch_first=True, bidirectional=True), nn.Linear(32, 50)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.inner(self.words(tokens))[0]).log_softmax(-1)


class Points(nn.Module):
    """A point cloud: distances, nearest neighbours, the largest of each."""

    def __init__(self) -> None:
        super().__init__()
        self.line, self.norm, self.head = nn.Conv2d(6, 16, 1), nn.BatchNorm2d(16), nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        near = torch.cdist(x, x).topk(4, largest=False).indices
        around = torch.gather(
            x[:, None].expand(-1, x.shape[1], -1, -1), 2, near[..., None].expand(-1, -1, -1, 3)
        )
        pairs = torch.cat([around - x[:, :, None], x[:, :, None].expand_as(around)], -1)
        h = functional.leaky_relu(self.norm(self.line(pairs.permute(0, 3, 1, 2))), 0.2)
        return self.head(h.amax(-1).mean(-1))


class Windows(nn.Module):
    """Shifted windows with relative places, by unfold, roll and fold."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
        self.table = nn.Parameter(torch.randn(49, 2) * 0.1)
        at = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")).flatten(1)
        between = at[:, :, None] - at[:, None] + 3
        self.register_buffer("place", between[0] * 7 + between[1])

    def forward(self, x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        cut = torch.roll(x, (-2, -2), (2, 3)).unfold(2, 4, 4).unfold(3, 4, 4)
        flat = cut.permute(0, 2, 3, 4, 5, 1).reshape(-1, 16, c)
        q, k, v = self.qkv(flat).view(-1, 16, 3, 2, 4).permute(2, 0, 3, 1, 4)
        bias = self.table[self.place].permute(2, 0, 1)
        seen = (q @ k.mT / 2 + bias).softmax(-1) @ v
        made = self.out(seen.transpose(1, 2).reshape(-1, 16, c))
        made = made.view(n, h // 4, w // 4, 4, 4, c).permute(0, 5, 1, 3, 2, 4).reshape(x.shape)
        return x + torch.roll(made, (2, 2), (2, 3))


class Splines(nn.Module):
    """Edges with functions of their own: Gaussians on a grid, masks, cumulative sums."""

    def __init__(self) -> None:
        super().__init__()
        self.grid = nn.Parameter(torch.linspace(-2, 2, 7))
        self.weight = nn.Parameter(torch.randn(5, 6, 7) * 0.3)

    def forward(self, x: Tensor) -> Tensor:
        bumps = torch.exp(-((x[..., None] - self.grid) ** 2))
        y = torch.einsum("nig,oig->no", bumps, self.weight)
        y = torch.where(y > 0, y.cumsum(-1), y.logcumsumexp(-1))
        return y.masked_fill(y.abs() > 50, 0.0).nan_to_num()


class Volume(nn.Module):
    """Three-dimensional, transposed, with instance norms and trilinear sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv3d(1, 6, 3, 2, 1), nn.InstanceNorm3d(6, affine=True), nn.PReLU(6))
        self.up = nn.Sequential(nn.ConvTranspose3d(6, 4, 2, 2), nn.ELU(), nn.AvgPool3d(3, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        y = self.up(functional.max_pool3d(self.down(x), 2))
        return functional.interpolate(y, size=x.shape[2:], mode="trilinear", align_corners=False)


class Flow(nn.Module):
    """Coupling layers with a determinant, and a weight that is normalised."""

    def __init__(self) -> None:
        super().__init__()
        parts = [nn.utils.parametrizations.weight_norm(nn.Linear(3, 6)) for _ in range(3)]
        self.parts = nn.ModuleList(parts)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        total = x.new_zeros(x.shape[0])
        for part in self.parts:
            left, right = x.chunk(2, -1)
            scale, shift = part(left).tanh().chunk(2, -1)
            x = torch.cat([right * scale.exp() + shift, left], -1)
            total = total + scale.sum(-1)
        return x, total - 0.5 * (x * x).sum(-1)


class Aligned(nn.Module):
    """Pictures moved by a grid that the model itself finds."""

    def __init__(self) -> None:
        super().__init__()
        self.find = nn.Sequential(nn.Conv2d(2, 4, 5, 2), nn.ReLU(), nn.Flatten(), nn.LazyLinear(6))

    def forward(self, x: Tensor) -> Tensor:
        still = torch.tensor([1.0, 0, 0, 0, 1, 0])
        theta = (0.1 * self.find(x) + still).view(-1, 2, 3)
        grid = functional.affine_grid(theta, list(x.shape), align_corners=False)
        return functional.grid_sample(x, grid, align_corners=False, padding_mode="border")


class Bags(nn.Module):
    """A recommender: bags of categories, crossed by pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(40, 8, mode="mean") for _ in range(3))
        self.dense, self.head = nn.Linear(5, 8), nn.Linear(14, 1)

    def forward(self, x: Tensor, which: Tensor) -> Tensor:
        h = [self.dense(x), *(bag(which[:, k]) for k, bag in enumerate(self.bags))]
        stacked = torch.stack(h, 1)
        pairs = torch.bmm(stacked, stacked.mT)
        row, column = torch.tril_indices(4, 4, -1)
        return torch.sigmoid(self.head(torch.cat([h[0], pairs[:, row, column]], 1)))


def _edges(nodes: int) -> Tensor:
    return torch.randint(0, nodes, (2, 5 * nodes))


def _translator() -> Model:
    module = nn.Transformer(16, 4, 1, 1, 32, dropout=0.0, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    return Model(
        module, lambda n: {"src": torch.randn(n, 7, 16), "tgt": torch.randn(n, 5, 16), "tgt_mask": mask}
    )


def _aligned() -> Model:
    module = Aligned()
    module(torch.randn(1, 2, 12, 12))
    return _one(module, "x", 2, 12, 12)


def _one(module: nn.Module, name: str, *shape: int) -> Model:
    return Model(module, lambda n: {name: torch.randn(n, *shape)})


def _of_nodes(module: nn.Module) -> Model:
    return Model(module, lambda n: {"x": torch.randn(4 * n, 8), "edges": _edges(4 * n)})


WRITTEN = {
    "diffusion": lambda: Model(
        Diffusion(), lambda n: {"x": torch.randn(n, 3, 16, 16), "t": torch.rand(n) * 99}
    ),
    "graph_convolution": lambda: _of_nodes(GraphConvolution()),
    "graph_attention": lambda: _of_nodes(GraphAttention()),
    "experts": lambda: _one(Experts(), "x", 9, 16),
    "scan": lambda: _one(Scan(), "x", 6, 8),
    "spectral": lambda: _one(Spectral(), "x", 4, 20),
    "lstm": lambda: Model(Recurrent(nn.LSTM), lambda n: {"tokens": torch.randint(0, 50, (n, 7))}),
    "gru": lambda: Model(Recurrent(nn.GRU), lambda n: {"tokens": torch.randint(0, 50, (n, 7))}),
    "points": lambda: _one(Points(), "x", 20, 3),
    "windows": lambda: _one(Windows(), "x", 8, 8, 8),
    "splines": lambda: _one(Splines(), "x", 6),
    "volume": lambda: _one(Volume(), "x", 1, 8, 12, 8),
    "flow": lambda: _one(Flow(), "x", 6),
    "aligned": _aligned,
    "bags": lambda: Model(
        Bags(), lambda n: {"x": torch.randn(n, 5), "which": torch.randint(0, 40, (n, 3, 4))}
    ),
    "translator": _translator,
}  # fmt: skip


def written() -> Family:
    yield from WRITTEN.items()
