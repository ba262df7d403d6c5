"""Looking for a benchmark in a corpus, beside the plain way: a set of the benchmark's runs and a look-up of each run.

    python performance/matching.py [--quick]

Items and documents are generated; some documents contain an item. See README.md for what the numbers mean.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator

import numpy as np

from benchbuilder.evaluation.audit.matching.matches import RUN, BenchmarkText, Document, Matcher
from benchbuilder.evaluation.audit.matching.units import unit_text

ITEMS, ITEM_LENGTH, DOCUMENT_LENGTH = 10_000, 60, 1_000
CHARACTERS, QUICK = 100_000_000, 1_000_000
PLAIN_CHARACTERS = 2_000_000
"""So many characters are looked up in the plain way; the rest is extrapolated."""
SECONDS, MEGABYTES = 60.0, 200.0
COPIES = 100
"""One document of so many contains an item."""


def written(random: np.random.Generator, length: int) -> str:
    """A text of letters that occur about as unevenly as real ones."""
    ranks = np.minimum(random.zipf(1.3, length), 3_000)
    return (0x4E00 + 5 * ranks).astype("<u4").tobytes().decode("utf-32-le")


def documents(total: int, items: list[str]) -> Iterator[Document]:
    """Documents of `total` characters; a stock of them is made once and read again with other starts."""
    random = np.random.default_rng(1)
    stock = written(random, 2_000_000)
    for number in range(total // DOCUMENT_LENGTH):
        start = int(random.integers(len(stock) - DOCUMENT_LENGTH))
        text = stock[start : start + DOCUMENT_LENGTH]
        if number % COPIES == 0:
            text = text[:100] + items[number // COPIES % len(items)] + text[100 + ITEM_LENGTH :]
        yield Document(str(number), text)


def plain_seconds(items: list[str], total: int) -> float:
    """Processor seconds of the plain way for `total` characters."""
    known = {text[at : at + RUN] for text in items for at in range(len(text) - RUN + 1)}
    size = min(total, PLAIN_CHARACTERS)
    began, found = time.process_time(), 0
    for document in documents(size, items):
        text = unit_text(document.text, "characters").compared()
        found += sum(text[at : at + RUN] in known for at in range(len(text) - RUN + 1))
    return (time.process_time() - began) * total / size


def resident_megabytes() -> float:
    """The most memory that this process has had."""
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def main() -> int:
    """Measure; 1 if a target is missed (never with ``--quick``)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small corpus")
    given = parser.parse_args()
    random = np.random.default_rng(0)
    items = [written(random, ITEM_LENGTH) for _ in range(ITEMS)]
    texts = [BenchmarkText(number, str(number), "question", text, "") for number, text in enumerate(items)]
    total = QUICK if given.quick else CHARACTERS
    began = time.process_time()
    matcher = Matcher(texts, "characters")
    indexed = time.process_time() - began
    found = {match.text.id for match in matcher.find(documents(total, items)) if match.finding == "copied"}
    seconds = time.process_time() - began
    memory = resident_megabytes()
    wanted = {str(number % ITEMS) for number in range(total // DOCUMENT_LENGTH // COPIES)}
    plain = plain_seconds(items, total)
    print("characters    index     all  target  memory  target  found        plain set  times faster")
    print(
        f"{total:10}  {indexed:5.1f} s  {seconds:4.1f} s  {SECONDS:4g} s  {memory:3.0f} MB  {MEGABYTES:3g} MB  "
        f"{len(found & wanted)}/{len(wanted)}  {plain:8.0f} s  {plain / seconds:12.1f}"
    )
    return int((seconds > SECONDS or memory > MEGABYTES or not wanted <= found) and not given.quick)


if __name__ == "__main__":
    sys.exit(main())
