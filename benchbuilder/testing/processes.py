"""Other processes, in which a kind must give the same results: another hash seed, nothing opened or cached."""

from __future__ import annotations

import atexit
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


@cache
def _pool() -> ProcessPoolExecutor:
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    atexit.register(pool.shutdown)
    return pool


def in_worker_process(function: Callable[..., T], *args: Any) -> T:
    """Run a function in a worker process, which is used again; the function and its arguments must be picklable."""
    try:
        return _pool().submit(function, *args).result()
    except BrokenProcessPool:
        _pool.cache_clear()
        raise


def in_new_process(function: Callable[..., T], *args: Any) -> T:
    """Run a function in a new process; the function and its arguments must be picklable."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *args).result()
