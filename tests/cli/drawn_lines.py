"""Command lines as strangers mistype them, drawn for every command and every flag.

A line begins as one that a command takes. Then a word of it becomes a value of BAD, or a flag of the command
is added with one, or given twice, or left without a value. `draw` gives the same lines for the same seed.
`of_special_files` gives every flag, and every word that names a file, what isn't a file with content.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator

from ascend_ep.cann.older_tools.benchmark import OPTIONS as BENCHMARK
from ascend_ep.cann.older_tools.msame import OPTIONS as MSAME
from ascend_ep.cli import om, op, prof, serve_load
from ascend_ep.cli.atc_flags import FLAGS as ATC
from ascend_ep.cli.ep import command_parser as ep_parser
from ascend_ep.cli.serve_flags import FLAGS as SERVE

#: Lines that a command takes, in the folder of test_drawn_mistakes.py, or that end at once where they would
#: take long.
GOOD: tuple[tuple[str, ...], ...] = (
    ("atc", "--model=m.onnx", "--framework=5", "--output=o", "--soc_version=Ascend910B3"),
    ("atc", "--model=unknown.onnx", "--framework=5", "--output=o", "--soc_version=Ascend910B3"),
    ("atc", "--singleop=good.json", "--output=singles", "--soc_version=Ascend910B3"),
    ("atc", "--model=m.onnx", "--framework=5", "--mode=1", "--json=o.json"),
    ("om", "inspect", "m.om"),
    ("om", "verify", "m.om"),
    ("om", "run", "m.om", "--input", "x.npy", "--output", "y.npz"),
    ("om", "run", "m.om", "--dim", "N=2"),
    ("om", "bench", "m.om", "--rounds", "1", "--seconds", "0.01", "--warm-up", "0"),
    ("om", "diff", "m.onnx", "m.om", "--input", "x.npy"),
    ("om", "quantize", "m.onnx", "--data", "x.npy", "--output", "q.onnx"),
    ("om", "reduce", "s.onnx", "--check", "false", "--output", "r.onnx", "--timeout", "5"),
    ("om", "trust", "m.om"),
    ("op", "list"),
    ("op", "explain", "Swish"),
    ("op", "gen", "-i", "good.json", "-f", "onnx", "-c", "ai_core-Ascend910B3", "-lan", "cpp", "-out", "p"),
    ("op", "verify", "nosuch"),
    ("op", "build", "--prompt", "F(x) = 2 * x", "--input_shape", "[4,33]", "--output", "text.onnx/o"),
    ("op", "build", "bad.txt", "--input_shape", "[4,33]", "--output", "o"),
    ("op", "run", "kernel.cpp", "--input", "x.npy", "--golden", "x.npy"),
    ("op", "run", "kernel.cpp", "--input_shape", "[2,4]", "--dtype", "float16", "--tiling", "8"),
    ("op", "debug", "kernel.cpp", "--input", "x.npy", "--batch"),
    ("prof", "report", "profile"),
    ("prof", "analyze", "profile"),
    ("prof", "export", "profile"),
    ("prof", "run", "--output", "profiles", "true"),
    ("prof", "advise", "s.onnx", "--seconds", "0.01"),
    ("prof", "msprof", "--export=on", "--output=profile"),
    ("prof", "msadvisor", "-d", "profile", "--output", "rules"),
    ("prof", "gate", "m.om", "--baseline", "baseline.json", "--seconds", "0.01"),
    ("ep", "doctor"),
    ("ep", "config", "--libs"),
    ("ep", "toolkit", "text.onnx/kit"),
    ("ep", "completion", "bash"),
    ("ep", "npu-smi", "info"),
    ("ep", "cannlog"),
    ("ep", "run", "program.py"),
    ("ep", "msame", "--model", "m.om", "--input", "x.npy", "--output", "results"),
    ("ep", "benchmark", "-om_path=m.om", "-batch_size=2", "-input_text_path=list.txt"),
    ("serve", "--model-repository=folder", "--check"),
    ("serve_load", "-m", "layer", "-u", "localhost:9", "-p", "100", "-r", "1"),
)

_WORDS = """nope.onnx folder empty.onnx text.onnx bad.json list.json noise.bin flipped.om short.om m.om m.onnx
    bad.npy x64.npy x5.npy objects.npy bad.npz baseline.json missing/deep/o text.onnx/o null full . .. /proc
    /proc/nope - -- = ; , : ~ * x: x:0,4 x:-1,4 x:1,4;x:2,4 x:a x:99999999999,4 y:1,4 x=x.npy N=0 N=-1 N=x =3
    N 0 -1 1.5 1e999 nan 99999999999999999999 true None {} [] [[[[[[[[ é %s%n $(id) http:// sha256:zz
    pipe"""
#: What is given in place of what belongs there; the files are those of the folder.
BAD: tuple[str, ...] = (
    *_WORDS.split(),
    *("", " ", "\t", "a\nb", "[1, 2", '{"x": 1}', "модель 模型.onnx", "a b/m.onnx", "\udcff.onnx"),
    *("x" * 300, "/".join(["d" * 200] * 25), "9" * 5000),
)

#: What a path may lead to, of the folder of test_drawn_mistakes.py. Nothing comes out of the pipe; reading
#: `failing` is an I/O error; `locked` is for its owner alone.
SPECIAL = ("pipe", "folder", "null", "full", "socket", "failing", "locked", "empty.onnx", "dangling")


def flags_of(words: tuple[str, ...]) -> list[str]:
    """Those of a line's command."""
    name = words[0]
    if name in ("atc", "serve"):
        rows = ATC if name == "atc" else SERVE
        return [f"--{row.name}" for row in rows]
    if words[:2] in (("ep", "msame"), ("ep", "benchmark")):
        return [f"--{name}" for name in MSAME] if words[1] == "msame" else [f"-{name}" for name in BENCHMARK]
    if words[:2] in (("prof", "msprof"), ("prof", "msadvisor")):  # parsers of their own
        return [word.partition("=")[0] for word in words[2:] if word.startswith("-")]
    made = {"om": om, "op": op, "prof": prof, "serve_load": serve_load}
    parser = ep_parser() if name == "ep" else made[name].command_parser()
    below = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    own = below[0].choices[words[1]] if below else parser
    return [flag for action in own._actions for flag in action.option_strings if flag.startswith("--")]


def draw(count: int, seed: int) -> Iterator[list[str]]:
    """Lines, each with the command's module first; those of all commands in turn."""
    rng = random.Random(seed)
    flags = {words: [f for f in flags_of(words) if f not in ("--help", "--llm-url")] for words in GOOD}
    for number in range(count):
        words = GOOD[number % len(GOOD)]
        line = list(words)
        for _ in range(rng.choice((1, 1, 2))):
            _spoil(line, flags[words], rng)
        if line[0] == "serve" and "--check" not in line:
            line.append("--check")  # else it serves
        yield line


def of_special_files() -> Iterator[list[str]]:
    """Lines: by SPECIAL, each word of GOOD that may name a file, and each flag of each command once."""
    seen = set()
    for words in GOOD:
        first = 1 if words[0] in ("atc", "serve", "serve_load") else 2
        for kind in SPECIAL:
            for place in range(first, len(words)):
                flag, equals, value = words[place].rpartition("=")
                if "." in value and " " not in value:
                    yield [*words[:place], f"{flag}{equals}{kind}", *words[place + 1 :]]
        for flag in flags_of(words):
            if (*words[:first], flag) not in seen and flag != "--help":
                seen.add((*words[:first], flag))
                for kind in SPECIAL:
                    line = [*words, f"{flag}={kind}"]
                    yield [*line, "--check"] if words[0] == "serve" and flag != "--check" else line


def _spoil(line: list[str], flags: list[str], rng: random.Random) -> None:
    first = 1 if line[0] in ("atc", "serve", "serve_load") else 2
    kind = rng.choice(("word", "word", "flag", "flag", "bare", "twice", "less", "typo"))
    places = range(first, len(line))
    bad = rng.choice(BAD)
    if (kind == "flag" and flags) or not places:
        flag = rng.choice(flags) if flags else "--nope"
        line += rng.choice(([f"{flag}={bad}"], [flag, bad]))
    elif kind == "bare" and flags:
        line.insert(rng.randrange(first, len(line) + 1), rng.choice(flags))
    elif kind == "twice":
        line.append(line[rng.choice(places)])
    elif kind == "less":
        del line[rng.choice(places)]
    else:
        place = rng.choice(places)
        flag, equals, _ = line[place].partition("=")
        if kind == "typo":
            letters = list(line[place])
            letters.insert(rng.randrange(len(letters) + 1), rng.choice("abé-= "))
            line[place] = "".join(letters)
        else:
            line[place] = f"{flag}={bad}" if equals and flag.startswith("-") else bad
