"""Files of the size and shape of the real sources, made up: triples in two shapes, paragraphs, queries, questions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scale.words import dictionary, relations, topic_words, vocabulary

SHARE = 0.001
"""Share of triples both ends of which stand in the word list."""
NEAR = 0.02
"""Share of triples of which one end does."""
Numbers = NDArray[Any]
CHUNK = 500_000
PARTS = 3_001
"""So many first and second halves of names there are: enough for nine million names."""
CONCEPTS = 0.56
"""Concepts a relation, as in BIOS."""
TOKENS = 40
"""Content words of a paragraph, on average."""
TYPES = ("疾病", "药物", "检查", "症状", "部位", "手术", "微生物", "社会学")


@dataclass(frozen=True)
class Edges:
    """Head, relation and tail of many triples, by number."""

    head: Numbers
    relation: Numbers
    tail: Numbers


def edges(count: int, kinds: int, entities: int, *, seed: int, share: float) -> Iterator[Edges]:
    """`count` triples, half a million at a time; the first entities are the words of the word list."""
    words = len(topic_words())
    for chunk, start in enumerate(range(0, count, CHUNK)):
        chance, size = np.random.default_rng([seed, 2, chunk]), min(CHUNK, count - start)
        draw = chance.random(size)
        head = chance.integers(words, entities, size)
        tail = chance.integers(words, entities, size)
        both, near = draw < share, (draw >= share) & (draw < share + NEAR)
        head[both | near] = chance.integers(0, words, int((both | near).sum()))
        tail[both] = chance.integers(0, words, int(both.sum()))
        tail[head == tail] = words + (tail[head == tail] + 1) % (entities - words)
        yield Edges(head, chance.integers(0, kinds, size), tail)


@cache
def _halves(seed: int) -> tuple[Any, Any]:
    order = np.random.default_rng([seed, 3]).permutation(60_000)[: 2 * PARTS].tolist()
    halves = [dictionary()[place] for place in order]
    return pa.array(halves[:PARTS]), pa.array(halves[PARTS:])


def names(numbers: Numbers, seed: int) -> Any:
    """The names of entities by number: words of the list, then pairs of dictionary words that are none of them."""
    words = pa.array(topic_words())
    made = np.maximum(numbers - len(words), 0)
    first, second = _halves(seed)
    pairs = _join(_taken(first, made % PARTS), _taken(second, made // PARTS % PARTS))
    pairs = pc.if_else(pc.is_in(pairs, words), _join(pairs, "综合征"), pairs)
    listed = numbers < len(words)
    return pc.if_else(pa.array(listed), _taken(words, np.where(listed, numbers, 0)), pairs)


def write_cpubmed(path: Path, count: int, *, seed: int = 1, share: float = SHARE, typed: bool = True) -> Path:
    """A table with a header: head, relation, tail; with `typed` the ends are written name@@type."""
    known = relations("relations_cpubmed.tsv")
    entities = len(topic_words()) + max(1_000, round(count * 0.4))
    with path.open("wb") as file:
        file.write(b"head\trelation\ttail\n")
        for some in edges(count, len(known), entities, seed=seed, share=share):
            ends = [_typed(end, seed) if typed else names(end, seed) for end in (some.head, some.tail)]
            _write(file, ends[0], "\t", _taken(pa.array(known), some.relation), "\t", ends[1])
    return path


def _typed(numbers: Numbers, seed: int) -> Any:
    return _join(names(numbers, seed), "@@", _taken(pa.array(TYPES), numbers * 7 // 3 % len(TYPES)))


def write_bios(folder: Path, count: int, *, seed: int = 2, share: float = SHARE) -> Path:
    """Five tables without header, columns separated by ``|``: terms, relations, their names, types, their names."""
    folder.mkdir(parents=True, exist_ok=True)
    known = relations("relations_bios.tsv")
    named = [f"R{n:03}|CHS|{name}\nR{n:03}|ENG|relation {n}\n" for n, name in enumerate(known)]
    (folder / "relation_names.txt").write_text("".join(named), encoding="utf-8")
    types = [f"T{n:03}|CHS|{name}\nT{n:03}|ENG|type {n}\n" for n, name in enumerate(TYPES)]
    (folder / "semantic_network.txt").write_text("".join(types), encoding="utf-8")
    concepts = len(topic_words()) + max(1_000, round(count * CONCEPTS))
    with (folder / "concept_terms.txt").open("wb") as terms, (folder / "semantic_types.txt").open("wb") as typed:
        for start in range(0, concepts, CHUNK):
            numbers = np.arange(start, min(concepts, start + CHUNK))
            _write_terms(terms, numbers, seed)
            _write(typed, _id("C", numbers), "|", _id("T", numbers * 7 // 3 % len(TYPES), 3))
    with (folder / "relations.txt").open("wb") as file:
        for chunk, some in enumerate(edges(count, len(known), concepts, seed=seed, share=share)):
            own = _id("L", np.arange(len(some.head)) + chunk * CHUNK)
            head, tail, relation = _id("C", some.head), _id("C", some.tail), _id("R", some.relation, 3)
            _write(file, own, "|", head, "|", tail, "|", relation)
    return folder


def _write_terms(file: Any, numbers: Numbers, seed: int) -> None:
    """The displayed term of each concept; of every third a synonym, of every second an English one."""
    shown = names(numbers, seed)
    for every, middle, code in ((1, "", "CHS"), (3, "症", "CHS"), (2, "", "ENG")):
        some = numbers[numbers % every == 0]
        place = pa.array(some - numbers[0])
        text = shown.take(place) if code == "CHS" else pa.array(some).cast(pa.string())
        own = _id("S", some * 3 + (0 if every == 1 else every - 1))
        _write(file, _id("C", some), "|", own, "|", _join(text, middle), f"|{code}")


def paragraphs(count: int, *, seed: int = 3) -> Iterator[Any]:
    """Paragraphs of about forty content words, stop words and marks between them, a hundred thousand at a time."""
    for chunk, start in enumerate(range(0, count, 100_000)):
        size = min(100_000, count - start)
        lengths, words = _content(seed, chunk, size)
        yield _texts(lengths, words, np.random.default_rng([seed, 5, chunk]), seed)


def _content(seed: int, chunk: int, size: int) -> tuple[Numbers, Numbers]:
    """How many content words each paragraph of a chunk has, and which; the first ones are those of a smaller chunk."""
    lengths = np.maximum(np.random.default_rng([seed, 4, chunk]).poisson(TOKENS, size), 8)
    total, known = int(lengths.sum()), vocabulary(seed)
    draw = np.random.default_rng([seed, 6, chunk]).random(total)
    return lengths, np.minimum(np.searchsorted(np.cumsum(known.chances), draw), len(known.content) - 1)


def _texts(lengths: Numbers, words: Numbers, chance: np.random.Generator, seed: int) -> Any:
    known = vocabulary(seed)
    stop, marks = pa.array(["", *known.stop[:150]]), pa.array(["", "，", "。", "、"])
    ranks = np.minimum(chance.zipf(1.6, len(words)), 150)
    before = _taken(stop, np.where(chance.random(len(words)) < 0.45, ranks, 0))
    after = _taken(marks, np.where(chance.random(len(words)) < 0.16, chance.integers(1, 4, len(words)), 0))
    pieces = _join(before, _taken(pa.array(known.content), words), after)
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return _join(pc.binary_join(pa.ListArray.from_arrays(ends, pieces), ""), "。")


def write_paragraphs(path: Path, count: int, *, seed: int = 3) -> Path:
    """JSON Lines with document, title and text, a paragraph a line."""
    with path.open("wb") as file:
        done = 0
        for texts in paragraphs(count, seed=seed):
            document = _id("D", np.arange(len(texts)) + done)
            _write(file, '{"document":"', document, '","title":"', document, '","text":"', texts, '"}')
            done += len(texts)
    return path


def queries(count: int, *, seed: int = 3, among: int = 1_000) -> list[str]:
    """Questions and true statements in one: words of one of the first `among` paragraphs, and some of any."""
    chance = np.random.default_rng([seed, 7])
    lengths, words = _content(seed, 0, among)
    starts, known = np.concatenate([[0], np.cumsum(lengths)]), vocabulary(seed)
    stop = known.stop[:100]
    made: list[str] = []
    for at in chance.integers(0, among, count).tolist():
        own = words[starts[at] : starts[at + 1]]
        picked = [known.content[n] for n in chance.choice(own, 7).tolist()]
        picked += [known.content[n] for n in chance.integers(0, 5_000, 3).tolist()]
        joined = "".join(word + stop[n] for word, n in zip(picked, chance.integers(0, 100, 10).tolist(), strict=True))
        made.append(f"{joined}。")
    return made


def questions(count: int, *, seed: int = 4) -> Any:
    """Stems of examination questions: short texts of the same words."""
    made: list[Any] = []
    for chunk, start in enumerate(range(0, count, 100_000)):
        size = min(100_000, count - start)
        lengths, words = _content(seed, chunk, size)
        short = np.minimum(lengths, 12)
        keep = np.arange(len(words)) - np.repeat(np.cumsum(lengths) - lengths, lengths) < 12
        made.append(_texts(short, words[keep], np.random.default_rng([seed, 8, chunk]), seed))
    return pa.concat_arrays(made)


def _id(letter: str, numbers: Numbers, digits: int = 8) -> Any:
    return _join(letter, pc.utf8_lpad(pa.array(numbers).cast(pa.string()), digits, "0"))


def _taken(texts: Any, numbers: Any) -> Any:
    return texts.take(pa.array(numbers))


def _join(*parts: Any) -> Any:
    return pc.binary_join_element_wise(*parts, "")


def _write(file: Any, *parts: Any) -> None:
    """The texts of `parts` side by side, a line each: the bytes behind an Arrow column are the lines of the file."""
    lines = pc.binary_join_element_wise(*parts, "\n", "")
    _, ends, letters = lines.buffers()
    file.write(memoryview(letters)[: int(np.frombuffer(ends, np.int32, len(lines) + 1)[-1])])
