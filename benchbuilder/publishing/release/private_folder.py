"""The folder that never leaves: the secret, what each question was used for, and the labels of each version."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from benchbuilder.config import display_path
from benchbuilder.core import DataError, read_sealed_json, seal_json, write_atomically

PRIVATE_FOLDER = "private"
"""The name of the folder, beside the folders of the versions."""
Use = Literal["test", "dev", "private"]
_STATE = "state.json"


@dataclass(frozen=True)
class PrivateFolder:
    """The private folder of a benchmark.

    `uses` says what each question was used for in the last release, by its secret name. The names and hashes that are
    published are made with `secret`: without it, nobody can compute them from a guess.
    """

    folder: Path
    secret: bytes
    uses: dict[str, Use] = field(default_factory=dict[str, Use])

    def digest(self, purpose: str, *parts: str) -> str:
        """A hash of `parts` for one purpose that only the holder of the secret can compute (HMAC-SHA256)."""
        text = json.dumps([purpose, *parts], ensure_ascii=False, separators=(",", ":"))
        return hmac.new(self.secret, text.encode(), hashlib.sha256).hexdigest()

    def version_folder(self, version: str) -> Path:
        """Where the private items of a version are."""
        return self.folder / version

    def save(self, uses: dict[str, Use]) -> None:
        """Record what the questions are used for now; those of earlier versions that are gone stay recorded."""
        state = {"secret": self.secret.hex(), "uses": {**self.uses, **uses}}
        make_private(self.folder)
        write_atomically(self.folder / _STATE, seal_json(state))
        (self.folder / _STATE).chmod(0o600)


def make_private(folder: Path) -> None:
    """Make a folder that only its owner may read, and that git does not track."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    write_atomically(folder / ".gitignore", "*\n")


def open_private_folder(releases: Path, *, released_before: bool) -> PrivateFolder:
    """The private folder beside the releases of a benchmark, with a new secret for the first release.

    Raises:
        DataError: It is damaged, or earlier releases are there and it is not: the secret cannot be made again.
    """
    folder = releases / PRIVATE_FOLDER
    try:
        state = read_sealed_json(folder / _STATE)
        return PrivateFolder(folder, bytes.fromhex(state["secret"]), dict(state["uses"]))
    except (FileNotFoundError, NotADirectoryError) as error:
        if not released_before:
            return PrivateFolder(folder, secrets.token_bytes(32))
        why = "it is missing"
        cause = error
    except (ValueError, LookupError, TypeError) as error:
        why, cause = "it is damaged", error
    raise DataError(
        f"{display_path(folder / _STATE)} cannot be used: it holds the secret of all earlier releases",
        where=display_path(folder),
        why=why,
        next="bring it back from a copy; without it, private questions would get other names and labels could leak",
    ) from cause
