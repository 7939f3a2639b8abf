"""Where the output goes to: closed, a full device, a terminal without the characters. Every command ends with
a code where it can't print, and prints what it can.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

#: A line of each command, and a --help of each parser, which argparse would let fail in silence.
LINES = (
    *("atc --version", "atc --help", "atc --mode=6 --om=nope.om"),
    *("op list", "op list --json", "op explain Swish", "op gen --help"),
    *("om --help", "om inspect --version", "om --version"),
    *("ep doctor", "ep config --libs", "ep npu-smi info", "ep completion bash", "ep msame", "ep run -h"),
    *("prof --help", "prof msprof --help", "prof msadvisor --help", "serve --help", "serve_load --help"),
    *("opc --help", "amct --help", "compile_tool --help"),
)
#: Output as the shell gives it, and the system's reason.
BROKEN = {">&-": "Bad file descriptor", ">/dev/full": "No space left on device"}


def ended(line: str, place: str = "", **environment: str) -> subprocess.CompletedProcess[bytes]:
    words = f"'{sys.executable}' -m ascend_ep.cli.{line} {place}"
    made = os.environ | environment
    return subprocess.run(["sh", "-c", words], capture_output=True, env=made, timeout=60, check=False)


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("line", ["op list", "om --help"])
@pytest.mark.parametrize("place", BROKEN)
def test_output_without_a_place(line: str, place: str, unbuffered: str) -> None:
    done = ended(line, place, PYTHONUNBUFFERED=unbuffered)
    said = f"E40002: can't write to standard output: {BROKEN[place]}\n   fix: "
    assert (done.returncode, done.stderr.decode()[: len(said)]) == (1, said)


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("place", BROKEN)
def test_every_command_without_a_place(line: str, place: str) -> None:
    done = ended(line, place)
    assert done.returncode != 0
    assert b"standard output" in done.stderr or b"E40021" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_file_of_the_command_isnt_its_output(tmp_path: Path) -> None:
    """A closed number would be that of the first file which the command opens."""
    program = "from ascend_ep.cli.streams import standard_streams as s\n"
    program += f"with s():\n file = open({str(tmp_path / 'file')!r}, 'w')\n assert file.fileno() > 2"
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        words = ["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, program]
        done = subprocess.run(words, check=False)
        assert done.returncode == 0, closed


def test_an_error_is_no_output_when_its_place_is_closed() -> None:
    done = ended("op explain nope", "2>&-")
    assert (done.returncode, done.stdout) == (1, b"")


TELLING = """
import sys
from ascend_ep.cli.command import command
@command("ascend-x")
def main(arguments):
    print({text})
    return 0
sys.exit(main([]))
"""


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "latin-1"},
        {},
    ],
    ids=str,
)
def test_characters_that_the_terminal_lacks(environment: dict[str, str]) -> None:
    """They are shown by number, as JSON writes them; so are bytes of names that are no text."""
    text = "m\udce8 модель 😀"
    program = TELLING.format(text=f"__import__('json').dumps({text!a}, ensure_ascii=False)")
    made: dict[str, Any] = dict(os.environ) | environment
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=made, check=False, timeout=60
    )
    assert done.stderr == b""
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    assert json.loads(done.stdout.decode(encoding)) == text


def test_what_the_user_asks_for_instead() -> None:
    made = os.environ | {"PYTHONIOENCODING": "ascii:replace"}
    done = subprocess.run(
        [sys.executable, "-c", TELLING.format(text="'\\xe9'")], capture_output=True, env=made, check=True
    )
    assert done.stdout == b"?\n"
