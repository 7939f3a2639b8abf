"""Five packages, used as their documents say: `python -m model_zoo.programs NAME plain|ascend` prints JSON.

The answer holds what the program found, and of each session how many nodes AscendEP took. Pictures and sound
are made here, the same in every run.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model_zoo.inputs import audio

Array = NDArray[Any]
RATE = 16000


def ocr() -> Any:
    """Lines of a page: where they are, what they say."""
    reader = importlib.import_module("rapidocr_onnxruntime").RapidOCR()
    lines = ["Ascend 910 offline model", "Total: 1234.56 EUR", "ONNX Runtime 2026"]
    found, _ = reader(_page(lines))
    return [[np.asarray(box).tolist(), text, float(score)] for box, text, score in found]


def voice_activity() -> Any:
    """Where somebody speaks, from samples to samples; and the probabilities of all blocks."""
    torch = importlib.import_module("torch")
    silero = importlib.import_module("silero_vad")
    model = silero.load_silero_vad(onnx=True)
    sound = torch.from_numpy(_speech(10))
    spoken = silero.get_speech_timestamps(sound, model)
    return {"spoken": spoken, "blocks": model.audio_forward(sound, RATE).numpy().tolist()}


def file_type() -> Any:
    """What kinds of files these are."""
    magika = importlib.import_module("magika").Magika()
    files = {
        "python": b"import sys\n\ndef main() -> int:\n    return len(sys.argv)\n",
        "html": b"<!doctype html><html><head><title>t</title></head><body><p>hello</p></body></html>",
        "json": json.dumps({"model": "m", "inputs": [{"name": "x", "shape": [1, 3]}]}).encode(),
        "c": b'#include <stdio.h>\nint main(void) { printf("%d", 3); return 0; }\n',
        "markdown": b"# Title\n\nSome *text* with a [link](x.html).\n\n- one\n- two\n",
        "noise": np.random.default_rng(0).integers(0, 256, 4000, np.uint8).tobytes(),
    }
    found = {name: magika.identify_bytes(content) for name, content in files.items()}
    return {name: [result.output.label, float(result.score)] for name, result in found.items()}


def layout() -> Any:
    """The blocks of a page: boxes, classes, scores."""
    layout = importlib.import_module("rapid_layout").RapidLayout(conf_thresh=0.3)
    found = layout(_page(["Annual report"], paragraphs=14))
    return {
        "boxes": np.asarray(found.boxes).tolist(),
        "classes": list(found.class_names),
        "scores": [float(s) for s in found.scores],
    }


def speech_quality() -> Any:
    """Opinion scores of a recording: noise, echo, lost packets. plcmos draws its raters from numpy's global
    generator without a seed, so that two runs of it differ on any runtime; it is seeded here."""
    mos = {name: importlib.import_module(f"speechmos.{name}") for name in ("dnsmos", "aecmos", "plcmos")}
    sound = _speech(10)
    echo = {"lpb": np.roll(sound, 800), "mic": sound, "enh": 0.8 * sound}
    np.random.seed(0)
    return {
        "dnsmos": _numbers(mos["dnsmos"].run(sound, RATE)),
        "aecmos": _numbers(mos["aecmos"].run(echo, RATE)),
        "plcmos": _numbers(mos["plcmos"].run(sound, RATE)),
    }


PROGRAMS: dict[str, Callable[[], Any]] = {
    f.__name__: f for f in (ocr, voice_activity, file_type, layout, speech_quality)
}


def _numbers(found: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in found.items() if isinstance(value, float | np.floating)}


def _speech(seconds: int) -> NDArray[np.float32]:
    """Two stretches of voice with silence around them."""
    sound = np.random.default_rng(1).normal(0, 1e-3, seconds * RATE)
    for start, end in ((1, 4), (6, 9)):
        made = audio(0.5)(np.random.default_rng(start), (1, (end - start) * RATE), {})
        sound[start * RATE : end * RATE] += made[0]
    return np.clip(sound, -1, 1).astype(np.float32)


def _page(lines: list[str], paragraphs: int = 0) -> Array:
    """Black on white: a line each, then lines of small print."""
    cv2 = importlib.import_module("cv2")
    page = np.full((240 + 60 * len(lines) + 40 * paragraphs, 640, 3), 255, np.uint8)
    for i, line in enumerate(lines):
        cv2.putText(page, line, (40, 80 + 60 * i), cv2.FONT_HERSHEY_SIMPLEX, 1.1, (0, 0, 0), 2, cv2.LINE_AA)
    for i in range(paragraphs):
        place = (40, 120 + 60 * len(lines) + 40 * i)
        text = "The quick brown fox jumps over the lazy dog and rests."
        cv2.putText(page, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.6, (0, 0, 0), 1, cv2.LINE_AA)
    return page


def main() -> None:
    """What libraries print goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    name, how = sys.argv[1:3]
    taken: Callable[[], list[tuple[int, int]]] = list
    if how == "ascend":
        from model_zoo.put_in import put_in

        taken = put_in()
    found = PROGRAMS[name]()
    json.dump({"found": found, "taken": taken()}, answers)
    answers.flush()


if __name__ == "__main__":
    main()
