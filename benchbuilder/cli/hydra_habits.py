"""Answers words that users of Hydra know: what means the same works, what does not names the word to use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_HELP = "benchbuild help all lists the commands"


def translate_habits(arguments: Sequence[str]) -> list[str]:
    """The arguments in the words of this program; others stay as they are.

    ``-m`` becomes the command ``sweep``, ``--cfg job`` the command ``show --plain``, with ``--package`` of a part,
    ``--info`` the command ``show``, and ``-cn NAME`` the override ``recipe=NAME``.

    >>> translate_habits(["-m", "recipe=care_mi", "seed=1,2"])
    ['sweep', 'recipe=care_mi', 'seed=1,2']
    >>> translate_habits(["--cfg", "job", "-cn", "care_mi"])
    ['show', '--plain', 'recipe=care_mi']

    Raises:
        RecipeError: An argument has no counterpart; the message names what to use.
    """
    words, command = list[str](), list[str]()
    rest = iter(arguments)
    before = ""
    for argument in rest:
        flag, sign, value = argument.partition("=")
        match flag:
            case "-m" | "--multirun" if not sign:
                command = ["sweep"]
            case "-cn" | "--config-name":
                words.append(f"recipe={value or _value(rest, flag, 'a recipe, for instance recipe=care_mi')}")
            case "--cfg" | "-c":
                _require(value or _value(rest, flag, "`benchbuild show`"), "job", flag)
                command = ["show", "--plain"]
            case "--info" if not sign:
                command = ["show"]
            case "-cd" | "--config-dir" | "-cp" | "--config-path":
                words += ["--recipes", value or _value(rest, flag, "--recipes FOLDER")]
            case "--resolve" if command == ["show", "--plain"]:
                pass  # shown recipes are resolved
            case "--package" | "-p" if command == ["show", "--plain"]:
                words.append(value or _value(rest, flag, "a part of the recipe, for instance steps"))
            case "--run" | "-r" | "--resolve" | "--package" | "-p" | "--shell-completion" | "-sc" | "--hydra-help":
                raise _refusal(f"{flag} is an argument of Hydra", argument, _COUNTERPARTS.get(flag, _HELP))
            case _ if before == "--info" and argument in _INFO:  # what it is to show may be left out
                if _INFO[argument]:
                    raise _refusal(f"--info {argument} shows nothing here", f"--info {argument}", _INFO[argument])
            case _:
                words.append(argument)
        before = argument
    return [*command, *words]


_INFO = {
    "all": "", "config": "", "defaults": "", "defaults-tree": "", "plugins": "benchbuild ls --kinds",
    "searchpath": "--recipes FOLDER names further folders; benchbuild show says which file each setting comes from",
}  # fmt: skip
"""What Hydra shows with ``--info``, and what to use instead; empty if ``show`` has it."""
_COUNTERPARTS = {
    "--run": "leave it out: benchbuild recipe=NAME builds",
    "-r": "leave it out: benchbuild recipe=NAME builds",
    "--resolve": "benchbuild show --plain recipe=NAME is resolved",
    "--shell-completion": "benchbuild completion bash (or zsh, or fish)",
    "-sc": "benchbuild completion bash (or zsh, or fish)",
}


def _value(rest: Iterator[str], flag: str, instead: str) -> str:
    value = next(rest, None)
    if value is None:
        raise _refusal(f"{flag} needs a value", flag, f"write {instead}")
    return value


def _require(value: str, wanted: str, flag: str) -> None:
    if value != wanted:
        hint = f"{flag} {wanted} shows the recipe; a Hydra configuration of its own does not exist here"
        raise _refusal(f"{flag} {value} shows nothing here", f"{flag} {value}", hint)


def _refusal(message: str, argument: str, hint: str) -> Exception:
    from benchbuilder.core import Problem, RecipeError  # here, because the help needs no other room

    return RecipeError([Problem(message, where=f"command line: {argument}", hint=hint)])
