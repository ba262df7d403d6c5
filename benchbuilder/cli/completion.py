"""``benchbuild completion``: completes commands, recipes, groups, options and keys in bash, zsh and fish."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from benchbuilder import __version__

_SCRIPTS = {
    "bash": r"""_benchbuild() {
  local line="${COMP_LINE:0:COMP_POINT}" words found current
  read -r -a words <<< "$line"
  [[ "$line" == *" " ]] && words+=("")
  current="${words[${#words[@]}-1]}"
  mapfile -t found < <(benchbuild completion --words "${words[@]:1}" 2>/dev/null)
  if [[ "$current" == *=* && "$COMP_WORDBREAKS" == *=* ]]; then
    found=("${found[@]#"${current%"${current##*=}"}"}")
  fi
  COMPREPLY=("${found[@]}")
}
complete -o nospace -o default -F _benchbuild benchbuild
""",
    "zsh": r"""#compdef benchbuild
_benchbuild() {
  local -a found
  found=("${(@f)$(benchbuild completion --words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "${found[1]}" ]] && compadd -Q -S '' -- "${found[@]}" || _files
}
if [[ "$funcstack[1]" = _benchbuild ]]; then _benchbuild "$@"; else compdef _benchbuild benchbuild; fi
""",
    "fish": r"""complete -c benchbuild -f -a '(benchbuild completion --words \
(commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
""",
}
_HINTS = {
    "bash": "benchbuild completion bash > ~/.local/share/bash-completion/completions/benchbuild",
    "zsh": "benchbuild completion zsh > a folder of $fpath, as _benchbuild",
    "fish": "benchbuild completion fish > ~/.config/fish/completions/benchbuild.fish",
}


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    places = "; ".join(_HINTS.values())
    parser.add_argument("shell", choices=_SCRIPTS, help=f"the shell, for instance: {places}")


def run(args: argparse.Namespace, console: Console) -> int:  # noqa: ARG001
    """Print the script."""
    sys.stdout.write(_SCRIPTS[args.shell])
    return 0


def complete_words(words: Sequence[str], commands: Iterable[str]) -> list[str]:
    """What may stand in place of the last of `words`, which is unfinished; each begins with it.

    Args:
        words: The words after ``benchbuild``.
        commands: The names of the commands.
    """
    *before, current = words or [""]
    group, sign, start = current.partition("=")
    if sign:
        found = [f"{group}={name}" for name in _options(group, before) if name.startswith(start)]
    elif current.startswith("-"):
        found = [flag for flag in ("--help", "--recipes", "--trust") if flag.startswith(current)]
    else:
        names = [f"{name}=" for name in _groups()] + _keys(before)
        found = [name for name in dict.fromkeys(names) if name.startswith(current)]
        if not before:
            found = [name for name in commands if name.startswith(current)] + found
    return found


def _recipe(words: Sequence[str]) -> str:
    return next((word.partition("=")[2] for word in reversed(words) if word.startswith("recipe=")), "")


def _roots() -> list[Path]:
    from benchbuilder.config import bundled_folder

    own = [Path.cwd() / "recipes"]
    return [folder for folder in dict.fromkeys([*own, bundled_folder("recipes")]) if folder.is_dir()]


def _groups() -> list[str]:
    return sorted({path.name for root in _roots() for path in root.iterdir() if any(path.glob("*.yaml"))} | {"variant"})


def _options(group: str, before: Sequence[str]) -> list[str]:
    folder = f"variant/{_recipe(before)}" if group == "variant" else group
    return sorted({path.stem for root in _roots() for path in (root / folder).glob("*.yaml")})


def _keys(before: Sequence[str]) -> list[str]:
    """The keys of the recipe that `before` names, from a cache that is as old as the newest file of recipes."""
    if not (name := _recipe(before)):
        return []
    stamps = [(str(path), path.stat().st_mtime_ns) for root in _roots() for path in root.rglob("*.yaml")]
    digest = hashlib.sha256(repr((__version__, name, sorted(stamps))).encode()).hexdigest()[:20]
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    file = Path(base) / "benchbuilder" / "completion" / f"{digest}.json"
    with suppress(OSError, ValueError):
        return list(json.loads(file.read_text("utf-8")))
    keys = _composed_keys(name)
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(keys), encoding="utf-8")
    return keys


def _composed_keys(name: str) -> list[str]:
    from benchbuilder.config import load_recipe
    from benchbuilder.core import BenchbuilderError, parse_plain_yaml

    keys = list[str]()

    def walk(value: object, prefix: str) -> None:
        if isinstance(value, dict) and value:
            for key, below in value.items():
                walk(below, f"{prefix}.{key}" if prefix else str(key))
        else:
            keys.append(f"{prefix}=")

    with suppress(BenchbuilderError):
        walk(parse_plain_yaml(load_recipe([f"recipe={name}"]).yaml), "")
    return keys
