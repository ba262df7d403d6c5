"""The libraries of neural judges: imported when needed, silent, deterministic, and with errors in our words."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchbuilder.core import InstallationError, ServiceError

EXTRA = "judge-hf"
"""The extra of this package that installs the libraries."""
TRAINER = "accelerate"
"""The library that transformers needs besides torch to train."""


@dataclass(frozen=True)
class ComputePlace:
    """The torch module, the device, and the type that products are computed in."""

    torch: Any
    device: Any
    dtype: Any

    def mixed_precision(self) -> Any:
        """A context in which products are computed in `dtype`, while weights stay as they are."""
        if self.dtype == self.torch.float32:
            return nullcontext()
        return self.torch.autocast(self.device.type, dtype=self.dtype)


def require_libraries(libraries: Sequence[str], kind: str) -> None:
    """Check that `libraries` are installed, without an import.

    Raises:
        InstallationError: If one is missing, with the extra to install for judges of this `kind`.
    """
    if missing := [name for name in libraries if find_spec(name) is None]:
        raise InstallationError(
            f"judges of the kind '{kind}' need libraries that are not installed",
            why=f"not installed: {', '.join(missing)}",
            next=f"pip install 'benchbuilder[{EXTRA}]'",
        )


def library_versions(libraries: Sequence[str]) -> dict[str, str]:
    """The version of each of `libraries` that is installed."""
    versions: dict[str, str] = {}
    for name in libraries:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def torch_and_transformers() -> tuple[Any, Any]:
    """The modules `torch` and `transformers`.

    Raises:
        InstallationError: If one cannot be imported.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it cuBLAS is not deterministic
    try:
        import torch
        import transformers
    except ImportError as error:
        raise InstallationError(
            "the libraries of neural judges cannot be imported",
            why=first_error_line(error),
            next=f"pip install 'benchbuilder[{EXTRA}]'",
        ) from error
    return torch, transformers


@contextmanager
def computing(activity: str, device: str, dtype: str, seed: int = 0) -> Generator[ComputePlace]:
    """The place to compute at: with silent libraries, random numbers from `seed`, and clear errors.

    Args:
        activity: What is done, for the error: ``train``.
        device: ``auto``, ``cuda``, ``cuda:1``, ``cpu``. ``auto`` is a GPU if there is one.
        dtype: ``auto``, ``float32``, ``bfloat16``. ``auto`` is bfloat16 on a GPU that has it, else float32.
        seed: Seed of everything random. The generators are restored afterwards.

    Raises:
        InstallationError: If a library is missing.
        ServiceError: If there is no such device, or too little memory.
    """
    torch, transformers = torch_and_transformers()
    place = _device(torch, device)
    if dtype == "auto":
        dtype = "bfloat16" if place.type == "cuda" and torch.cuda.is_bf16_supported() else "float32"
    with _silent(transformers), _clear_memory_error(torch, activity), _deterministic(torch, seed, place):
        yield ComputePlace(torch, place, getattr(torch, dtype))


def _device(torch: Any, name: str) -> Any:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ServiceError(
            f"there is no device {name} here",
            why=first_error_line(error),
            next="set device: auto, cuda, cuda:1 or cpu",
        ) from error
    own = os.environ.get("LOCAL_RANK")  # set if several processes train together
    return torch.device("cuda", int(own)) if own is not None and device.type == "cuda" else device


@contextmanager
def _silent(transformers: Any) -> Generator[None]:
    """Keep notices and progress bars of the library from the terminal."""
    logging: Any = transformers.utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    if bars:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def ignore_future_warnings() -> Generator[None]:
    """Ignore warnings about names that later versions of the libraries change."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


@contextmanager
def _deterministic(torch: Any, seed: int, device: Any) -> Generator[None]:
    """Seed torch, and use deterministic algorithms as far as there are any; then restore everything."""
    states = random.getstate(), np.random.get_state()  # Trainer seeds these, too
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    filling = torch.utils.deterministic.fill_uninitialized_memory
    with warnings.catch_warnings(), torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.utils.deterministic.fill_uninitialized_memory = False
        warnings.filterwarnings("ignore", message=".*deterministic")
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before[0], warn_only=before[1])
            torch.utils.deterministic.fill_uninitialized_memory = filling
            random.setstate(states[0])
            np.random.set_state(states[1])


@contextmanager
def _clear_memory_error(torch: Any, activity: str) -> Generator[None]:
    """Raise ServiceError with the settings to change if memory does not suffice."""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if type(error) is RuntimeError and "allocate memory" not in str(error):
            raise
        raise ServiceError(
            f"there is not enough memory to {activity}",
            why=first_error_line(error),
            next="set a lower device_batch_size (results stay the same), gradient_checkpointing: true, a lower "
            "max_length, or a smaller model",
        ) from error


@contextmanager
def explain_load_errors(subject: str, location: str, advice: str) -> Generator[None]:
    """Turn the libraries' errors of loading into errors of this package.

    Args:
        subject: What fails, as a sentence.
        location: Where the files are.
        advice: What to do.

    Raises:
        InstallationError: If a library is missing.
        ServiceError: If the files cannot be loaded.
    """
    from safetensors import SafetensorError

    try:
        yield
    except ImportError as error:
        raise InstallationError(
            subject, why=first_error_line(error), next="install the library that is named"
        ) from error
    except (OSError, ValueError, KeyError, RuntimeError, MemoryError, SafetensorError) as error:
        why = f"{type(error).__name__}: {first_error_line(error)}"
        raise ServiceError(subject, where=location, why=why, next=advice) from error


def first_error_line(error: BaseException) -> str:
    """The first line of an error's message."""
    return str(error).strip().partition("\n")[0]
