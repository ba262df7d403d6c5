"""The libraries that extras install, and the one error for a library that is not there."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from importlib.util import find_spec

from benchbuilder.core.errors import InstallationError

_LOCAL_MODELS = ("torch", "transformers", "safetensors", "tokenizers")
_LEARNING = ("scipy", "sklearn", "threadpoolctl")
_PAGES = ("anyio", "fastapi", "h11", "starlette", "uvicorn")
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "openai": ("aiohttp", "openai"),
    "hf": _LOCAL_MODELS,
    "gguf": (*_LOCAL_MODELS, "gguf"),
    "dense": (*_LOCAL_MODELS, "sentence_transformers"),
    "judge": _LEARNING,
    "judge-hf": (*_LOCAL_MODELS, *_LEARNING, "accelerate", "peft"),
    "audit": _LEARNING,
    "fast": ("numba",),
    "view": _PAGES,
    "sql": ("sqlalchemy",),
    "review": (*_PAGES, "alembic", "sqlalchemy"),
    "postgres": (*_PAGES, "alembic", "sqlalchemy", "pg8000"),
    "xlsx": ("lxml", "openpyxl"),
    "epub": ("lxml",),
    "docx": ("mammoth",),
    "pdf": ("pypdf",),
    "rdf": ("pyoxigraph",),
    "wikipedia": ("mwparserfromhell",),
    "publish": ("huggingface_hub",),
    "datasets": ("datasets", "huggingface_hub"),
    "jieba": ("jieba",),
}
"""The modules of each extra that benchbuilder imports. Of two extras with a module, the first is the one to advise."""


def is_installed(library: str) -> bool:
    """Whether the module `library` is there; it is not imported."""
    return find_spec(library) is not None


def extra_advice(*extras: str) -> str:
    """The command that installs `extras`."""
    return f"pip install 'benchbuilder[{','.join(extras)}]'"


@contextmanager
def imports_of(extra: str, user: str, *, where: str = "", instead: str = "") -> Generator[None]:
    """Turn an ImportError in the context into InstallationError, which names the extra to install.

    Args:
        extra: The extra that installs what is imported.
        user: Who needs it, for the message: ``the review app``.
        where: The file or the key that needs it.
        instead: What to do without it.
    """
    try:
        yield
    except ImportError as error:
        if _library(error) == "benchbuilder":
            raise
        raise _cannot_import(error, user, extra, where, instead) from error


def require_extra(extra: str, user: str, libraries: Iterable[str] = (), *, where: str = "", instead: str = "") -> None:
    """Raise the error of `imports_of` if one of `libraries` is not installed, by default of all that `extra` has."""
    if missing := [name for name in libraries or EXTRAS[extra] if not is_installed(name)]:
        raise _not_installed(missing, user, extra, where, instead)


def explain_import_error(error: Exception, user: str) -> InstallationError | None:
    """The error of `imports_of` if a library of an extra is missing; ``None`` if it is something else."""
    extra = _extra_of(_library(error), "") if isinstance(error, ImportError) else ""
    return _cannot_import(error, user, extra) if isinstance(error, ImportError) and extra else None


def _library(error: ImportError) -> str:
    return (error.name or "").partition(".")[0]


def _cannot_import(error: ImportError, user: str, extra: str, where: str = "", instead: str = "") -> InstallationError:
    library = _library(error)
    if isinstance(error, ModuleNotFoundError) and library and not is_installed(library):
        return _not_installed([library], user, extra, where, instead)
    return InstallationError(
        f"{user} needs {library or 'a library'}, which cannot be imported", where=where,
        why=next(iter(str(error).strip().splitlines()), ""), next=_next(extra_advice(extra), instead),
    )  # fmt: skip


def _not_installed(libraries: list[str], user: str, extra: str, where: str, instead: str) -> InstallationError:
    names = " and ".join(filter(None, [", ".join(libraries[:-1]), libraries[-1]]))
    found = dict.fromkeys(_extra_of(name, extra) or extra for name in libraries)
    enough = [name for name in found if not any({*EXTRAS[name]} < {*EXTRAS[other]} for other in found)]
    return InstallationError(
        f"{user} needs {names}, which {'is' if len(libraries) == 1 else 'are'} not installed",
        where=where,
        next=_next(extra_advice(*enough), instead),
    )


def _extra_of(library: str, wanted: str) -> str:
    """The extra that installs `library`: `wanted` if that does, else the first, if any."""
    return next((name for name in (wanted, *EXTRAS) if library in EXTRAS.get(name, ())), "")


def _next(advice: str, instead: str) -> str:
    return f"{advice}, or {instead}" if instead else advice
