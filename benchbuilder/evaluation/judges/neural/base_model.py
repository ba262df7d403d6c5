"""The model that a neural judge starts from: where it is, and whether it is still the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.core import DataError, ServiceError, open_given_file
from benchbuilder.evaluation.judges.neural.spec import LearningSpec

PARTS = (".json", ".safetensors", ".model", ".txt", ".jinja", ".tiktoken")
"""Endings of the files that decide what a model does: configuration, tokenizer, weights."""
EXPECTED_FILES = "config.json, tokenizer and weights as safetensors; weights in other formats are never read"


@dataclass(frozen=True)
class BaseModelSource:
    """A model on the hub or in a folder: its `label`, and the `place` that the library loads."""

    label: str
    place: str
    revision: str | None
    folder: Path | None

    @property
    def load_advice(self) -> str:
        """What to do if the model cannot be loaded."""
        if self.folder is not None:
            return f"check path and device; the folder needs {EXPECTED_FILES}"
        return (
            f"check name, revision and the connection; or download it elsewhere (hf download {self.label}) and "
            f"set path to its folder, with {EXPECTED_FILES}"
        )

    def require_folder(self) -> None:
        """DataError if the model is in a folder that does not exist."""
        if self.folder is not None and not self.folder.is_dir():
            raise DataError(
                f"the folder of the model to start from {'is a file' if self.folder.exists() else 'does not exist'}",
                where=str(self.folder),
                next="set evaluation.judges.NAME.path in a recipe of your own (recipes/local/default.yaml; relative to "
                f"that file) to a folder with {EXPECTED_FILES}",
            )

    def arguments(self) -> dict[str, Any]:
        """The arguments of every loading call: the revision, and that no code of the model runs."""
        return {"trust_remote_code": False, **({"revision": self.revision} if self.revision else {})}

    def identity(self, config: Any) -> dict[str, str]:
        """Name and digest of the folder, or name and commit on the hub (from the model's `config`)."""
        if self.folder is not None:
            return {"name": self.label, "sha256": base_model_sha256(self.folder)}
        return {"name": self.label, "commit": str(getattr(config, "_commit_hash", None) or self.revision or "")}

    def require_weights(self, loading_info: Mapping[str, Any], part: str = "") -> None:
        """ServiceError unless the library found all weights in the files, in their shape, and invented none.

        `loading_info` is the library's report (`output_loading_info`). If `part` is set, only weights of this part of
        the model count, without its pooler.
        """
        names = [*map(str, loading_info["missing_keys"]), *(str(key[0]) for key in loading_info["mismatched_keys"])]
        if part:
            names = [name for name in names if name.startswith(f"{part}.") and ".pooler." not in name]
        if names:
            raise ServiceError(
                f"the files of {self.label} lack weights, or have them in another shape", where=self.place,
                why=f"{len(names)}, for instance {names[0]}", next="use files that contain the whole model",
            )  # fmt: skip

    def token_limit(self, requested: int | None, maximum: int | None, usual: int | None = None) -> int:
        """The most tokens that a row may have: `requested` by the settings, else as many as possible.

        `maximum` is what the model accepts, and `usual` what its tokenizer suggests, if they are known.

        Raises:
            DataError: If the model accepts fewer tokens than requested, or nothing is known.
        """
        if requested is not None:
            if maximum is not None and requested > maximum:
                raise DataError(
                    f"max_length is {requested}, and {self.label} takes {maximum} tokens",
                    next="set a lower one, or null",
                )
            return requested
        known = [limit for limit in (maximum, usual) if limit is not None]
        if not known:
            raise DataError(f"{self.label} does not say how many tokens it takes", next="set max_length")
        return min(known)


def resolve_base_model(spec: LearningSpec, trained_identity: Mapping[str, str] | None = None) -> BaseModelSource:
    """The model that `spec` names; on the hub, the commit that `trained_identity` (from the training) names.

    Raises:
        ServiceError: If `name` is also a folder here.
    """
    if spec.path is not None:
        label = Path(spec.path.path).name or spec.path.file.name
        return BaseModelSource(label, str(spec.path.file), None, spec.path.file)
    name = str(spec.name)
    if Path(name).exists():
        raise ServiceError(
            f"name is {name}, which is also a folder here",
            next=f"write path: {name} if you mean the folder; else run the command in another one",
        )
    return BaseModelSource(name, name, spec.revision or (trained_identity or {}).get("commit") or None, None)


def require_same_base_model(base: BaseModelSource, trained_identity: Mapping[str, str], config: Any) -> None:
    """DataError unless `base` is the model that the judge was trained on."""
    now = base.identity(config)
    same = all(not trained_identity.get(key) or now.get(key) == trained_identity[key] for key in ("sha256", "commit"))
    if not same or ("sha256" in trained_identity) != ("sha256" in now):
        raise DataError(
            f"the judge was trained on another model than {base.label}",
            where=base.place,
            why=f"then: {_identity_text(trained_identity)}; now: {_identity_text(now)}",
            next="put the model back, or train the judge again",
        )


def _identity_text(identity: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {value[:12] if key != 'name' else value}" for key, value in identity.items() if value)


def base_model_sha256(folder: Path) -> str:
    """The SHA-256 of names and contents of a model's files in `folder`; DataError if they cannot be read."""
    digest, why = hashlib.sha256(), "the folder contains none of its files"
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix in PARTS and path.is_file())
        for path in files:
            with open_given_file(path, most_bytes=None) as stream:
                inner = hashlib.file_digest(stream, "sha256").hexdigest()
            digest.update(f"{path.name}\0{inner}\n".encode())
    except OSError as error:
        files, why = [], error.strerror or str(error)
    if not files:
        raise DataError(
            f"cannot read the model folder {folder}", why=why, next=f"set path to a folder with {EXPECTED_FILES}"
        )
    return digest.hexdigest()
