"""What checksums cost: builds of generated triples with and without them, in turns, in one process with one worker.

    python performance/checksums.py
    python performance/checksums.py --triples 300000 --pairs 3

Compared are seconds of the processor: those of other programs on the machine do not count. A build with checksums may
take at most 3 % more. A second build, with nothing changed, reads all files of the store; its seconds are printed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import statistics
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq
from profile_build import generated_words
from scale import builds

from benchbuilder.pipeline import outputs
from benchbuilder.pipeline.shards import files
from benchbuilder.pipeline.store import folder as store_folder

TARGET = 0.03


@contextlib.contextmanager
def without_checksums() -> Generator[None]:
    """No checksum of a file or page is made or compared."""
    write = pq.write_table

    def plain(*given: Any, **options: Any) -> None:
        write(*given, **{**options, "write_page_checksum": False})

    def opened(path: Path, **options: Any) -> pq.ParquetFile:
        return pq.ParquetFile(path, memory_map=True, **options)

    def nothing(_: Path) -> str:
        return ""

    with contextlib.ExitStack() as stack:
        for module in (files, outputs, store_folder):
            stack.enter_context(patch.object(module, "file_checksum", nothing))
        stack.enter_context(patch.object(pq, "write_table", plain))
        stack.enter_context(patch.object(files, "_open", opened))
        yield


def seconds_of_build(words: Sequence[str], folder: Path) -> float:
    """Seconds of the processor for a build into `folder`."""
    from benchbuilder.cli.dispatch import main as benchbuild

    begin = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        code = benchbuild([*words, "run.workers=1", f"run.dir={folder}"])
    if code:
        raise RuntimeError(f"the build ended with {code}")
    return time.process_time() - begin


def main() -> int:
    """Print the figures; exit code 1 if the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triples", type=int, default=1_000_000, metavar="N", help="default 1000000")
    parser.add_argument("--pairs", type=int, default=3, metavar="N", help="default 3")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        data = Path(place)
        words, folder = generated_words(given.triples, data), data / "build"
        seconds_of_build(words, builds.fresh(folder))  # what is loaded once is loaded now
        ours, plain, again = list[float](), list[float](), list[float]()
        for pair in range(given.pairs):
            for with_them in (pair % 2 == 0, pair % 2 == 1):  # the second build of a pair may find memory as it likes
                with contextlib.nullcontext() if with_them else without_checksums():
                    (ours if with_them else plain).append(seconds_of_build(words, builds.fresh(folder)))
                if with_them:
                    again.append(seconds_of_build(words, folder))
        stored = sum(file.stat().st_size for file in (folder / "store").rglob("*") if file.is_file())
    cost = statistics.median(a / b for a, b in zip(ours, plain, strict=True)) - 1
    print(f"{given.triples:,} triples, {stored / 1e6:,.0f} MB in the store, medians of {given.pairs} pairs")
    print(f"without checksums {statistics.median(plain):.2f} s, with {statistics.median(ours):.2f} s: {cost:+.1%}")
    print(f"again with nothing changed: {statistics.median(again):.2f} s")
    return int(cost > TARGET)


if __name__ == "__main__":
    sys.exit(main())
