"""The model that a neural judge starts from: where it is, and whether it is still the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.core import DataError, ServiceError
from benchbuilder.evaluation.judges.neural.spec import LearningSpec

PARTS = (".json", ".safetensors", ".model", ".txt", ".jinja", ".tiktoken")
"""Endings of the files of a model folder that shape what it does: configuration, tokenizer, weights."""
EXPECTED_FILES = "config.json, tokenizer and weights as safetensors; weights in other formats are never read"


@dataclass(frozen=True)
class BaseModelSource:
    """A model on the hub or in a folder: its `label`, and the `place` that the library is given."""

    label: str
    place: str
    revision: str | None
    folder: Path | None

    @property
    def load_advice(self) -> str:
        """What to do if it cannot be loaded."""
        if self.folder is not None:
            return f"check path and device; the folder needs {EXPECTED_FILES}"
        return (
            f"check name, revision and the connection, or fetch it where there is one (hf download {self.label}) and "
            f"set path to its folder, with {EXPECTED_FILES}"
        )

    def require_folder(self) -> None:
        """DataError if the model is in a folder and that is not there."""
        if self.folder is not None and not self.folder.is_dir():
            raise DataError(
                f"the folder of the model to start from {'is a file' if self.folder.exists() else 'does not exist'}",
                where=str(self.folder),
                next="set evaluation.judges.NAME.path in a recipe of your own (recipes/local/default.yaml; relative to "
                f"that file) to a folder with {EXPECTED_FILES}",
            )

    def arguments(self) -> dict[str, Any]:
        """What every loading call is given: no code of the model's own, and the revision."""
        return {"trust_remote_code": False, **({"revision": self.revision} if self.revision else {})}

    def identity(self, config: Any) -> dict[str, str]:
        """What says that it is the same model: digest of the folder, or commit on the hub."""
        if self.folder is not None:
            return {"name": self.label, "sha256": base_model_sha256(self.folder)}
        return {"name": self.label, "commit": str(getattr(config, "_commit_hash", None) or self.revision or "")}


def resolve_base_model(spec: LearningSpec, trained_identity: Mapping[str, str] | None = None) -> BaseModelSource:
    """The model that `spec` names; with the `trained_identity` of a trained judge, exactly the same commit."""
    if spec.path is not None:
        return BaseModelSource(
            Path(spec.path.path).name or spec.path.file.name, str(spec.path.file), None, spec.path.file
        )
    name = str(spec.name)
    if Path(name).exists():
        raise ServiceError(
            f"name is {name}, which is also a folder here",
            next=f"write path: {name} if you mean the folder; else run the command in another one",
        )
    return BaseModelSource(name, name, spec.revision or (trained_identity or {}).get("commit") or None, None)


def require_same_base_model(base: BaseModelSource, trained_identity: Mapping[str, str], config: Any) -> None:
    """DataError if the judge was trained on another model than `base`."""
    now = base.identity(config)
    changed = [
        key for key in ("sha256", "commit") if trained_identity.get(key) and now.get(key) != trained_identity[key]
    ]
    if changed or ("sha256" in trained_identity) != ("sha256" in now):
        raise DataError(
            f"the judge was trained on another model than {base.label}",
            where=base.place,
            why=f"then: {_identity_text(trained_identity)}; now: {_identity_text(now)}",
            next="put the model back, or train the judge again",
        )


def _identity_text(identity: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {value[:12] if key != 'name' else value}" for key, value in identity.items() if value)


def base_model_sha256(folder: Path) -> str:
    """Hex digest of the names and contents of the files that make the model in `folder`; DataError without any."""
    digest = hashlib.sha256()
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix in PARTS and path.is_file())
        for path in files:
            with path.open("rb") as stream:
                inner = hashlib.file_digest(stream, "sha256").hexdigest()
            digest.update(f"{path.name}\0{inner}\n".encode())
    except OSError as error:
        files = []
        why = error.strerror or str(error)
    else:
        why = "the folder holds none of its files"
    if not files:
        raise DataError(
            f"cannot read the model folder {folder}", why=why, next=f"set path to a folder with {EXPECTED_FILES}"
        )
    return digest.hexdigest()
