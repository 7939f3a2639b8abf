"""Pictures and numbers for a program: under the names that its page downloads and its sources open."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from acl_programs.bundles import Bundle
from acl_programs.programs import Program, code_of, pages

_NAMED = re.compile(r"([\w.-]+\.(?:jpe?g|png|bmp|yuv|JPEG|rgb))\b")
_SIZE = re.compile(r"(\d{2,4})[_xX*](\d{2,4})")
#: Folders of pictures that a program lists.
_FOLDER = re.compile(r"[\"'](?:\./)?((?:data/|test_?)?(?:images?|imgs?|pics?|pictures?))/?[\"']")
USUAL = (1024, 683)


def make(program: Program, environment: dict[str, str]) -> None:
    """Writes the files that aren't there, and runs the folder's own scripts that make more of them."""
    folder = program.root / "data"
    for place in (folder, program.root / "out" / "output", program.root / "output", program.root / "model"):
        place.mkdir(parents=True, exist_ok=True)
    text = pages(program.root).replace("\\_", "_").replace(".png", "")  # those of a page are its figures
    text += code_of(program)
    text += "".join(f.read_text(errors="replace") for f in program.root.rglob("*.sh"))
    for name in sorted(set(_NAMED.findall(text))):
        if not re.search(r"^out(put)?[_.\d]|result|ascend|\.\.", name.lower()):
            write_picture(folder / name)
    if not any(f.suffix.lower() in (".jpg", ".jpeg", ".png") for f in folder.iterdir()):
        write_picture(folder / "dog1_1024_683.jpg")
    for name in sorted(set(_FOLDER.findall(code_of(program)))):
        if not (program.root / name).exists():
            (program.root / name).mkdir(parents=True)
            write_picture(program.root / name / "dog1_1024_683.jpg")
    scripts = [
        *program.root.glob("script*/transferPic.py"),
        *program.root.rglob("script*/tools_generate_data.py"),
    ]
    for script in scripts:
        if script.name == "transferPic.py":
            _run([str(script)], folder, environment)
    for script, words in _named_generators(program, text):
        _run([str(script), *words], folder, environment)
    for script in [*program.root.rglob("generate_data*.py"), *program.root.rglob("generate_conv2d.py")]:
        _run([str(script)], script.parent, environment)


def _named_generators(program: Program, text: str) -> list[tuple[Path, list[str]]]:
    """Scripts that the page runs with arguments: `tools_generate_data.py input -s [1,3,416,416] ...`."""
    found = []
    for name, words in re.findall(r"python3[\d.]*\s+\S*?(\w*generate\w*\.py)([^\n`*]*)", text):
        script = next(program.root.rglob(name), None)
        if script and words.split():
            found.append((script, words.split()))
    return found


def make_numbers(program: Program, bundles: list[Bundle]) -> None:
    """The .bin files that it downloads or opens: each of one image of the first input of its first bundle,
    or of the inputs in order where they are as many as the files."""
    text = pages(program.root).replace("\\_", "_") + code_of(program)
    text += "".join(f.read_text(errors="replace") for f in program.root.rglob("*.sh"))
    names = sorted(set(re.findall(r"data/([\w.-]+\.bin)\b", text)))
    if not bundles:
        return
    inputs = list(bundles[0].dims.values())
    for i, name in enumerate(names):
        dims = inputs[i if len(inputs) == len(names) else 0]
        count = math.prod(abs(d) for d in dims[1:]) if len(dims) > 1 else dims[0]
        file = program.root / "data" / name
        random = np.random.default_rng(sum(name.encode()))
        if file.exists():
            continue
        if bundles[0].preprocessing:
            shape = (dims[2], dims[3]) if dims[1] in (1, 3, 4) else (dims[1], dims[2])
            yuv = "YUV420SP" in bundles[0].preprocessing
            image = np.asarray(picture(shape[1], shape[0], sum(name.encode())))
            file.write_bytes(as_nv12(image) if yuv else image.tobytes())
        else:
            file.write_bytes(random.random(count, np.float32).tobytes())


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, timeout=60, check=False
    )


def write_picture(path: Path) -> None:
    """A picture with edges, colours and shades, of the size that its name says."""
    if path.exists():
        return
    found = _SIZE.search(path.name)
    width, height = (int(found.group(1)), int(found.group(2))) if found else USUAL
    width, height = min(width, 4096), min(height, 4096)
    if path.suffix.lower() == ".yuv" and not found:
        height = (height + 15) // 16 * 16  # as a decoder of DVPP leaves it
    image = picture(width, height, sum(path.name.encode()))
    kind = path.suffix.lower()
    if kind == ".yuv":
        path.write_bytes(as_nv12(np.asarray(image)))
    elif kind == ".rgb":
        path.write_bytes(np.asarray(image).tobytes())
    else:
        image.save(path, **({"quality": 92} if kind in (".jpg", ".jpeg") else {}))


def picture(width: int, height: int, seed: int) -> Image.Image:
    random = np.random.default_rng(seed)
    rows, columns = np.mgrid[0:height, 0:width]
    shades = np.stack([columns * 255 // width, rows * 255 // height, (rows + columns) % 256], -1)
    image = Image.fromarray(shades.astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for _ in range(12):
        x, y = int(random.integers(width)), int(random.integers(height))
        size, colour = (
            int(random.integers(8, max(9, height // 3))),
            tuple(map(int, random.integers(0, 256, 3))),
        )
        draw.ellipse((x, y, x + size, y + size), fill=colour)
    return image


def as_nv12(image: NDArray[np.uint8]) -> bytes:
    height, width = image.shape[0] // 2 * 2, image.shape[1] // 2 * 2
    r, g, b = (image[:height, :width, i].astype(np.float64) for i in range(3))
    luma = 0.299 * r + 0.587 * g + 0.114 * b
    u, v = 128 + 0.564 * (b - luma), 128 + 0.713 * (r - luma)
    halves = [p.reshape(height // 2, 2, width // 2, 2).mean((1, 3)) for p in (u, v)]
    colour = np.stack(halves, -1).reshape(height // 2, width)
    return np.clip(np.concatenate([luma, colour]), 0, 255).astype(np.uint8).tobytes()
