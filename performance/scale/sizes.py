"""How large things are, in full and with --quick, and what has to be reached."""

from __future__ import annotations

from dataclasses import dataclass

TARGETS = {
    "query": 1_000.0,
    "retrieval": 150.0,
    "topic": 15.0,
    "tokens": 3.5,
    "real_broad": 150.0,
}
"""Times faster than the plain way in the same run."""
PEAK_MB, EXPONENT, AGAIN, START = 1_500.0, 1.05, 0.02, 3.0
"""Of the largest build: memory of the whole process tree, growth of the time, a second build's share of the time. Of
``--help``: times the start of bare Python with argparse and hydra."""
NIGHT_H = 10.0
"""Hours that a build of ten times the largest size may take, by the law of the measured sizes."""


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    paragraphs: tuple[int, ...]
    plain_paragraphs: tuple[int, ...]
    queries: tuple[int, ...]
    triples: tuple[int, ...]
    index_queries: int
    plain_queries: int
    tokens: int
    topic: int
    questions: int
    real_paragraphs: int
    starts: int

    @property
    def compared(self) -> int:
        """The number of paragraphs at which ours and the plain way are set against each other."""
        return max(self.plain_paragraphs)


FULL = Sizes(
    paragraphs=(1_000, 10_000, 100_000, 1_000_000), plain_paragraphs=(1_000, 10_000, 100_000),
    queries=(100, 1_000, 10_000, 100_000), triples=(10_000, 100_000, 1_000_000, 10_000_000), index_queries=2_000,
    plain_queries=20, tokens=20_000, topic=5_000_000, questions=136_000, real_paragraphs=100_000, starts=15,
)  # fmt: skip
QUICK = Sizes(
    paragraphs=(50, 200), plain_paragraphs=(50, 200), queries=(10, 50), triples=(1_000, 3_000), index_queries=20,
    plain_queries=5, tokens=200, topic=2_000, questions=500, real_paragraphs=200, starts=1,
)  # fmt: skip
EACH_PARAGRAPH = 100
"""Triples a paragraph of the knowledge base in the builds of triples."""
BIOS_SHARE = 0.62
"""Share of the triples in the shape of BIOS, the rest in that of CPubMed: as 7.3 million to 4.4."""
