"""The folders whose recipes the user trusts: said on the command line, or in a file of the user's own configuration.

Nothing that a folder brings makes it trusted.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from benchbuilder.core import Problem, RecipeError, read_given_text

CACHE_ENV = "BENCHBUILDER_CACHE"
"""The variable that names another folder for what the user may delete."""
TRUST_FILE = "trusted_folders.txt"
"""The file of the user's configuration that names trusted folders: one a line, ``#`` begins a comment."""

_of_this_command: ContextVar[tuple[Path, ...]] = ContextVar("trusted_folders", default=())


def user_folder(env: Mapping[str, str]) -> Path:
    """The folder of the user's own configuration (``~/.config/benchbuilder``), to which links may lead."""
    return user_path(env).resolve()


def user_path(env: Mapping[str, str]) -> Path:
    """Where the user's own configuration is looked for."""
    base = env.get("XDG_CONFIG_HOME") or str(Path(env.get("HOME") or "~").expanduser() / ".config")
    return Path(base) / "benchbuilder"


def user_cache_folder(env: Mapping[str, str]) -> Path:
    """The folder of what the user may delete at any time: ``$BENCHBUILDER_CACHE``, else ``~/.cache/benchbuilder``."""
    if own := env.get(CACHE_ENV):
        return Path(own).resolve()
    base = env.get("XDG_CACHE_HOME") or str(Path(env.get("HOME") or "~").expanduser() / ".cache")
    return Path(base) / "benchbuilder"


@contextmanager
def trusting(folders: Sequence[str]) -> Generator[None]:
    """Trust `folders` (``--trust``) for as long as the context lasts; RecipeError if one does not exist."""
    token = _of_this_command.set(tuple(found for text in folders for found in _existing(text)))
    try:
        yield
    finally:
        _of_this_command.reset(token)


def trusted_folders(env: Mapping[str, str]) -> tuple[Path, ...]:
    """The folders of ``--trust``, then those of the user's configuration.

    Raises:
        RecipeError: The file of trusted folders cannot be read, or a line is not an absolute path.
    """
    return (*_of_this_command.get(), *(path for line in _lines(env) for path in _both_names(line)))


def trust_always(text: str, env: Mapping[str, str]) -> Path:
    """Add a folder to the user's configuration, unless it is there; the file that names it.

    Raises:
        RecipeError: There is no such folder, or its name has a line break.
    """
    (folder, *_), file = _existing(text), user_folder(env) / TRUST_FILE
    if "\n" in str(folder) or "\r" in str(folder):
        raise RecipeError([Problem("the name of a trusted folder has no line break", where="trust", actual=repr(text))])
    if folder not in _lines(env):
        file.parent.mkdir(parents=True, exist_ok=True)
        before = read_given_text(file) if file.is_file() else ""
        with file.open("a", encoding="utf-8", newline="\n") as lines:
            lines.write(f"{'' if before.endswith(chr(10)) or not before else chr(10)}{folder}\n")
    return file


def _existing(text: str) -> tuple[Path, ...]:
    path = Path.cwd() / Path(text).expanduser()
    if not text or not path.is_dir():
        raise RecipeError(
            [Problem("this folder to trust does not exist", where="trust", actual=str(path), hint="check the path")]
        )
    return _both_names(path)


def _both_names(path: Path) -> tuple[Path, ...]:
    """A folder without links in its path, and under its own name if it is a link itself."""
    return tuple(dict.fromkeys((path.resolve(), path.parent.resolve() / path.name)))


def _lines(env: Mapping[str, str]) -> list[Path]:
    file = user_folder(env) / TRUST_FILE
    try:
        lines = read_given_text(file).splitlines() if file.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        problem = Problem("the trusted folders cannot be read", where=str(file), actual=str(error))
        raise RecipeError([problem]) from error
    named = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip() and line.strip()[0] != "#"]
    paths = [(number, line, Path(line).expanduser()) for number, line in named]
    if wrong := [Problem("a trusted folder is an absolute path", where=f"{file}:{number}", actual=line)
                 for number, line, path in paths if not path.is_absolute()]:  # fmt: skip
        raise RecipeError(wrong)
    return [path for _, _, path in paths]
