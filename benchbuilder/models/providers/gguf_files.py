"""Finds the GGUF file that a model's path means."""

from __future__ import annotations

from pathlib import Path

from benchbuilder.core import DataError

SUFFIX = ".gguf"


def find_gguf(path: Path, name: str | None = None) -> tuple[Path, str | None]:
    """The folder of a model and the GGUF file in it, ``None`` for safetensors.

    Args:
        path: A GGUF file, or a folder.
        name: The file in the folder, if it is named.

    Raises:
        DataError: The file is no GGUF file or is missing, or several are in the folder and none is named.
    """
    if path.is_file():
        if path.suffix.lower() != SUFFIX:
            next = "name a folder with config.json, tokenizer and safetensors, or a file that ends in .gguf"
            raise DataError("this is no model", where=str(path), why="it is a file, and no GGUF file", next=next)
        return path.parent, path.name
    if name is not None:
        if not (path / name).is_file():
            known = ", ".join(sorted(file.name for file in path.glob(f"*{SUFFIX}"))) or "none"
            raise DataError(f"{path} has no file {name}", why=f"GGUF files there: {known}", next="set model.gguf_file")
        return path, name
    if any(path.glob("*.safetensors")):
        return path, None
    files = sorted(file.name for file in path.glob(f"*{SUFFIX}"))
    if len(files) > 1:
        why = f"they are {', '.join(files)}"
        raise DataError(f"{path} has several GGUF files", why=why, next="name one of them: model.gguf_file=NAME")
    return path, files[0] if files else None
