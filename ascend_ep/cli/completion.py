"""`ascend-ep completion bash|zsh`: a script that makes the shell complete commands, flags and their values.

eval "$(ascend-ep completion bash)"
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

SHELLS = ("bash", "zsh")

_SCRIPT = """_ascend_ep_complete() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[0]##*/}}" words="" key
    [[ ${{COMP_WORDS[COMP_CWORD - 1]}} == = ]] && return  # bash takes --flag=value apart; the value is a file
    key="$command"
    [[ $COMP_CWORD -gt 1 && ${{COMP_WORDS[1]}} != -* ]] && key="$command ${{COMP_WORDS[1]}}"
    case "$key" in
{cases}
    esac
    [[ $COMP_CWORD -eq 1 || $word == -* ]] && COMPREPLY=($(compgen -W "$words" -- "$word"))
    [[ ${{#COMPREPLY[@]}} -eq 1 && ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace
    return 0
}}
complete -o default -F _ascend_ep_complete {commands}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS)


def run(given: argparse.Namespace, own: argparse.ArgumentParser) -> int:
    """Prints the script; zsh reads bash's through bashcompinit. `own`: the parser of ascend-ep."""
    if given.shell == "zsh":
        print("autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit")
    words = dict(_words(own))
    cases = "\n".join(
        f"    {shlex.quote(key)}) words={shlex.quote(' '.join(w))} ;;" for key, w in words.items()
    )
    commands = " ".join(dict.fromkeys(key.split()[0] for key in words))
    print(_SCRIPT.format(cases=cases, commands=commands), end="")
    return 0


def _words(own: argparse.ArgumentParser) -> Iterator[tuple[str, list[str]]]:
    """Each command, and each of its own commands, with the words that may come next."""
    from ascend_ep.cli import om, op, prof
    from ascend_ep.cli.atc_flags import FLAGS as ATC
    from ascend_ep.cli.serve_flags import FLAGS as SERVE
    from ascend_ep.cli.serve_load import command_parser as load_parser

    switches = ("switch", "bool", "optional")
    yield "ascend-atc", [f"--{f.name}" if f.kind in switches else f"--{f.name}=" for f in ATC] + ["--version"]
    yield (
        "ascend-serve",
        [f"--{f.name}" if f.kind == "switch" else f"--{f.name}=" for f in SERVE] + ["--version"],
    )
    yield "ascend-serve-load", [flag for a in load_parser()._actions for flag in a.option_strings]
    parsers = {"om": om.command_parser(), "op": op.command_parser(), "prof": prof.command_parser(), "ep": own}
    for name, parser in parsers.items():
        actions = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        yield f"ascend-{name}", [*actions[0].choices, "--help", "--version"]
        for inner, below in actions[0].choices.items():
            yield f"ascend-{name} {inner}", [flag for a in below._actions for flag in a.option_strings]
