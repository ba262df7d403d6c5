"""A model that brings code of its own, in a process of its own.

The code of such a model can do whatever Python can. The process has no key and no token in its environment, and what it
says is read as JSON, never unpickled. It is no sandbox: it may read and write the user's files, and use the network.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any

from benchbuilder.core import BenchbuilderError, InstallationError, ServiceError
from benchbuilder.models.base import LocalModel, RefusedRequestError, Request

_SECRET = re.compile(r"key|token|secret|password|passwd|credential|auth", re.IGNORECASE)
INSIDE = "BENCHBUILDER_REMOTE_CODE"
"""The environment variable that such a process has, and no other."""
_SIZE = 8
"""Bytes of the length before each message."""
_ERRORS: Mapping[str, type[BenchbuilderError]] = {
    kind.__name__: kind for kind in (ServiceError, InstallationError)
}  # fmt: skip


class RemoteCodeProcess:
    """The process of a model. It ends with this one, or when the model is forgotten."""

    def __init__(self, model: LocalModel) -> None:
        environment = {name: value for name, value in os.environ.items() if not _SECRET.search(name)} | {INSIDE: "1"}
        words = [sys.executable, "-c", f"from {__name__} import serve; serve()"]
        self._process = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._model = model
        self._begun = False

    def generate(self, requests: Sequence[Request]) -> list[str]:
        """One body per request, in order; what the process raises, and ServiceError if it ends."""
        said, heard = self._process.stdin, self._process.stdout
        if said is None or heard is None:
            raise TypeError("a process without pipes")
        try:
            if not self._begun:
                _send(said, pickle.dumps((type(self._model), self._model.spec)))
                self._begun = True
            _send(said, pickle.dumps(tuple(requests)))
            answer: Any = json.loads(_receive(heard))
        except (OSError, EOFError, ValueError) as error:
            raise ServiceError(
                f"the process of {self._model.label} ended",
                why=f"its code ended it, or there was not enough memory (exit code {self._process.poll()})",
                next="look at what it printed; or choose a model without code of its own",
            ) from error
        if isinstance(answer, list) and len(answer) == len(requests) and all(isinstance(body, str) for body in answer):  # pyright: ignore[reportUnknownVariableType]
            return answer  # pyright: ignore[reportUnknownVariableType]
        raise _error(answer, self._model.label)

    def __del__(self) -> None:
        with contextlib.suppress(OSError):
            self._process.kill()
            self._process.communicate()


def _error(answer: Any, label: str) -> Exception:
    told: dict[str, Any] = answer if isinstance(answer, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    texts = {name: str(told.get(name, "")) for name in ("what", "where", "why", "next")}
    if told.get("kind") == "RefusedRequestError":
        return RefusedRequestError(texts["what"])
    return _ERRORS.get(str(told.get("kind")), ServiceError)(
        texts.pop("what") or f"the process of {label} gave no replies", **texts
    )


def serve() -> None:
    """Answer requests from standard input on what was standard output. What the model's code prints goes elsewhere."""
    said, heard = os.fdopen(os.dup(1), "wb"), sys.stdin.buffer
    os.dup2(2, 1)
    kind, spec = pickle.loads(_receive(heard))
    model: LocalModel = kind(spec)
    while True:
        try:
            requests = pickle.loads(_receive(heard))
        except EOFError:
            return
        _send(said, json.dumps(_answer(model, requests), ensure_ascii=False).encode())


def _answer(model: LocalModel, requests: Sequence[Request]) -> list[str] | dict[str, str]:
    """The bodies, or what was raised."""
    try:
        return model.generate(requests)
    except RefusedRequestError as error:
        return {"kind": type(error).__name__, "what": str(error)}
    except BenchbuilderError as error:
        return {
            "kind": type(error).__name__,
            **{name: getattr(error, name) for name in ("what", "where", "why", "next")},
        }
    except Exception as error:  # noqa: BLE001 - the code of the model may raise anything
        return {"kind": "", "what": "the model's own code failed", "why": f"{type(error).__name__}: {error}"[:500]}


def _send(stream: IO[bytes], message: bytes) -> None:
    stream.write(len(message).to_bytes(_SIZE, "big") + message)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes:
    """The next message; EOFError if there is none, or only a part of one."""
    size = stream.read(_SIZE)
    message = stream.read(int.from_bytes(size, "big")) if len(size) == _SIZE else b""
    if len(size) < _SIZE or len(message) < int.from_bytes(size, "big"):
        raise EOFError
    return message
