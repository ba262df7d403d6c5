"""The libraries of neural judges: imported when needed, silent, deterministic, and with errors in our words."""

from __future__ import annotations

import errno
import os
import random
import re
import warnings
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchbuilder.core import InstallationError, ServiceError, imports_of, name_file_in_errors
from benchbuilder.models import explain_out_of_memory, first_error_line, quiet_transformers

TRAINER = "accelerate"
"""The library that transformers needs besides torch to train."""
_LESS_MEMORY = (
    "a lower device_batch_size (results stay the same), gradient_checkpointing: true, a lower max_length, or a "
    "smaller model"
)


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


def torch_and_transformers() -> tuple[Any, Any]:
    """The modules `torch` and `transformers`; InstallationError if one cannot be imported."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it cuBLAS is not deterministic
    with imports_of("judge-hf", "a neural judge"):
        import torch
        import transformers
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
    memory = explain_out_of_memory(torch, activity, _LESS_MEMORY)
    with quiet_transformers(transformers), memory, _deterministic(torch, seed, place):
        yield ComputePlace(torch, place, getattr(torch, dtype))


def _device(torch: Any, name: str) -> Any:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ServiceError(
            f"there is no device {name} here", why=first_error_line(error), next="set device: auto, cuda, cuda:1 or cpu"
        ) from error
    own = os.environ.get("LOCAL_RANK")  # set if several processes train together
    return torch.device("cuda", int(own)) if own is not None and device.type == "cuda" else device


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
def explain_load_errors(subject: str, location: str, advice: str) -> Generator[None]:
    """Turn the libraries' errors of loading into InstallationError (a library is missing) and ServiceError.

    `subject` says what fails, `location` where the files are, and `advice` what to do.
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


@contextmanager
def name_folder_in_write_errors(folder: Path) -> Generator[None]:
    """Turn errors of the libraries that cannot write into `folder` into an OSError that names it."""
    from safetensors import SafetensorError

    try:
        with name_file_in_errors(folder):
            yield
    except (SafetensorError, RuntimeError) as error:
        code = re.search(r"os error (\d+)", str(error))
        if code is None and "inline_container" not in str(error):  # the writer of torch, which gives no reason
            raise
        number = errno.EIO if code is None else int(code[1])
        raise OSError(number, first_error_line(error), str(folder)) from error
