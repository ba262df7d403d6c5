"""The libraries of neural judges: imported when needed, quiet, and with their errors in our words."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchbuilder.core import InstallationError, ServiceError

EXTRA, TRAINER = "judge-hf", "accelerate"
"""What to install, and what transformers needs besides torch to train."""


def require_libraries(libraries: Sequence[str], kind: str) -> None:
    """InstallationError if one of `libraries` is not installed; none is imported."""
    if lacking := [name for name in libraries if find_spec(name) is None]:
        raise InstallationError(
            f"judges of the kind '{kind}' need libraries that are not installed",
            why=f"not installed: {', '.join(lacking)}",
            next=f"pip install 'benchbuilder[{EXTRA}]'",
        )


def library_versions(libraries: Sequence[str]) -> dict[str, str]:
    """The versions of those of `libraries` that are installed."""
    found: dict[str, str] = {}
    for name in libraries:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def torch_and_transformers() -> tuple[Any, Any]:
    """Both libraries; InstallationError if one cannot be imported."""
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


def resolve_device(torch: Any, name: str) -> Any:
    """The device that is meant; ServiceError if there is none of this name."""
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
    own = os.environ.get("LOCAL_RANK")  # of several processes that train together
    return torch.device("cuda", int(own)) if own is not None and device.type == "cuda" else device


def resolve_dtype(torch: Any, name: str, device: Any) -> Any:
    """What is computed in: for ``auto`` bfloat16 on a GPU that has it, else float32."""
    if name == "auto":
        name = "bfloat16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "float32"
    return getattr(torch, name)


@contextmanager
def silence_transformers(transformers: Any) -> Generator[None]:
    """The library's notices and progress bars do not reach the terminal."""
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
    """Without warnings of what later versions of the libraries will call otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


@contextmanager
def deterministic(torch: Any, seed: int, device: Any) -> Generator[None]:
    """Random numbers from `seed` and deterministic algorithms where there are some; both as before afterwards."""
    numbers = random.getstate(), np.random.get_state()  # Trainer sets their seeds, too
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
            random.setstate(numbers[0])
            np.random.set_state(numbers[1])


@contextmanager
def explain_out_of_memory(torch: Any, activity: str) -> Generator[None]:
    """ServiceError that says what to set where memory does not suffice."""
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
    """Errors of loading as ServiceError, or InstallationError where a library is missing."""
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
    """What an error says, in one line."""
    return str(error).strip().partition("\n")[0]
