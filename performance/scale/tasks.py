"""The measurements, each in a process of its own: what it is called, what it does, what it found as a mapping."""

from __future__ import annotations

import hashlib
import json
import pickle
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from scale.sizes import BIOS_SHARE, EACH_PARAGRAPH, Sizes

Found = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where generated files go, where the real ones are, and how large everything is."""

    work: Path
    real: Path | None
    sizes: Sizes

    def file(self, name: str, make: Callable[[Path], Any]) -> Path:
        """A file that is made once; a draft that was left behind does not count."""
        path = self.work / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_name(f"{path.name}.draft")
            make(draft)
            draft.replace(path)
        return path

    def texts(self, count: int) -> Path:
        """Generated paragraphs, as a file that is mapped into memory."""
        from scale import generate, ours

        return self.file(f"paragraphs-{count}.arrow", lambda path: ours.Texts.write(path, generate.paragraphs(count)))


Task = Callable[[Place], Found]


def tasks(sizes: Sizes) -> dict[str, Task]:
    """Every measurement by name; the part in front of the first dot is its group."""
    made: dict[str, Task] = {"start": start, "tokens.plain": tokens_plain, "tokens.ours": tokens_ours}
    for count in sizes.plain_paragraphs:
        made[f"retrieval.plain.{count}"] = partial(retrieval_plain, count=count)
    for count in sizes.paragraphs:
        made[f"retrieval.ours.{count}"] = partial(retrieval_ours, count=count)
    made |= {"queries.ours": queries_ours, "topic.plain": topic_plain, "topic.ours": topic_ours}
    made |= {"questions.plain": questions_plain, "questions.ours": questions_ours}
    for words in ("care_mi", "broad"):
        made[f"real.{words}.ours"] = partial(real_ours, words=words)
        made[f"real.{words}.plain"] = partial(real_plain, words=words)
    for count in sizes.triples:
        made[f"triples.{count}"] = partial(triples, count=count)
    return made


def clock(function: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    """Seconds that a call took, and what it gave."""
    began = time.perf_counter()
    result = function(*given)
    return time.perf_counter() - began, result


def start(place: Place) -> Found:
    """The start of ``benchbuild --help`` and of bare Python with argparse and hydra, taking turns."""
    from scale.builds import PROGRAM

    ways = {
        "python": [sys.executable, "-c", "pass"],
        "hydra": [sys.executable, "-c", "import argparse, hydra"],
        "help": [*PROGRAM, "--help"],
        "ls": [*PROGRAM, "ls"],
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(place.sizes.starts + 1):
        for name, command in ways.items():
            took, _ = clock(partial(subprocess.run, command, capture_output=True, check=True, cwd=place.work))
            times[name] += [took] if turn else []
    return {f"{name}_s": statistics.median(taken) for name, taken in times.items()}


def tokens_plain(place: Place) -> Found:
    """jieba, text by text."""
    from scale import ours, plain

    texts = ours.Texts(place.texts(place.sizes.tokens))[:]
    plain.warm()
    took, found = clock(lambda: [plain.cut(text) for text in texts])
    return {"seconds": took, "texts": len(texts), "tokens": sum(map(len, found)), "digest": _digest(found)}


def tokens_ours(place: Place) -> Found:
    """The recipe's tokenizer, text by text, on one core."""
    from scale import ours

    texts = ours.Texts(place.texts(place.sizes.tokens))[:]
    tokenizer = ours.tokenizer()
    opened, _ = clock(tokenizer.open)
    took, found = clock(lambda: [tokenizer.tokens(text) for text in texts])
    return {"seconds": took, "open_s": opened, "texts": len(texts), "digest": _digest(found)}


def _digest(found: Any) -> str:
    return hashlib.sha256(json.dumps(found, ensure_ascii=False).encode()).hexdigest()


def retrieval_plain(place: Place, count: int) -> Found:
    """Tokenise every paragraph, index, then score every paragraph for each of a few queries."""
    from scale import generate, ours, plain, words

    texts, stop = ours.Texts(place.texts(count))[:], frozenset(words.all_stop_words())
    plain.warm()
    cut, documents = clock(plain.tokens, texts, stop)
    with (place.work / f"tokens-{count}.pickle").open("wb") as file:
        pickle.dump((cut, documents), file, protocol=5)
    indexed, model = clock(plain.Bm25, documents)
    queries = generate.queries(place.sizes.index_queries)[: place.sizes.plain_queries]
    found: list[Any] = []
    took, _ = clock(lambda: found.extend(model.best(plain.tokens([query], stop)[0]) for query in queries))
    with (place.work / f"best-{count}.pickle").open("wb") as file:
        pickle.dump(found, file, protocol=5)
    return {
        "paragraphs": count, "tokens_s": cut, "index_s": indexed, "queries": len(queries), "queries_s": took,
        "tokens": sum(map(len, documents)),
    }  # fmt: skip


def retrieval_ours(place: Place, count: int) -> Found:
    """Index the paragraphs with all cores, open the index, search; compare with what the plain way found."""
    from scale import generate, ours, plain
    from scale.builds import fresh

    texts, cache = ours.Texts(place.texts(count)), fresh(place.work / f"index-{count}")
    queries = generate.queries(place.sizes.index_queries)
    retriever, opened = ours.retriever(), ours.retriever()
    cache.mkdir(parents=True)
    indexed, files = clock(retriever.build, texts, cache, ours.workers())
    loaded, _ = clock(opened.index, texts, cache)
    opened.search("")  # opens the dictionary
    took, found = clock(opened.search_many, queries)
    result: Found = {
        "paragraphs": count, "index_s": indexed, "open_s": loaded, "queries": len(queries), "queries_s": took,
        "workers": ours.workers(), "index_mb": sum(file.stat().st_size for file in cache.rglob("*")) / 1e6,
        "files": len(files),
    }  # fmt: skip
    cut = place.work / f"tokens-{count}.pickle"
    if cut.exists():
        with cut.open("rb") as file:
            documents = pickle.load(file)[1]
        apart = ours.Texts.of_tokens(place.work / f"cut-{count}.arrow", documents)
        del documents
        result["index_cut_s"], _ = clock(ours.over_spaces().build, apart, fresh(cache), ours.workers())
    best = place.work / f"best-{count}.pickle"
    if best.exists():
        with best.open("rb") as file:
            checked = pickle.load(file)
        result["compared"] = len(checked)
        result["equal"] = sum(plain.same(one, *other) for one, other in zip(found, checked, strict=False))
    return result


def queries_ours(place: Place) -> Found:
    """Growing numbers of queries over the paragraphs at which both ways are compared."""
    from scale import generate, ours

    count = place.sizes.compared
    texts, cache, retriever = ours.Texts(place.texts(count)), place.work / f"index-{count}", ours.retriever()
    cache.mkdir(parents=True, exist_ok=True)
    retriever.index(texts, cache)
    retriever.search("")
    queries = generate.queries(max(place.sizes.queries), seed=3)
    points = [(size, clock(retriever.search_many, queries[:size])[0]) for size in place.sizes.queries]
    return {"paragraphs": count, "points": points}


def topic_plain(place: Place) -> Found:
    """pandas over CSV, both ends in the word list."""
    from scale import plain, words

    listed = words.topic_words()
    took, frame = clock(lambda: plain.on_topic(plain.read_triples(_edges(place), typed=False), listed))
    kept = len(frame.drop_duplicates())  # which our reader does, on the way into the store
    return {"seconds": took, "triples": place.sizes.topic, "words": len(listed), "kept": kept, "peak_mb": _peak()}


def topic_ours(place: Place) -> Found:
    """The stage over the Parquet files of the step in front of it."""
    from scale import ours
    from scale.builds import fresh

    parts = fresh(place.work / "topic")
    stored, made = clock(ours.store_edges, _edges(place), parts)
    took, kept = clock(ours.on_topic, made, parts)
    return {"seconds": took, "triples": place.sizes.topic, "store_s": stored, "kept": kept, "peak_mb": _peak()}


def _edges(place: Place) -> Path:
    from scale import generate

    count = place.sizes.topic
    return place.file(f"edges-{count}.tsv", lambda path: generate.write_cpubmed(path, count, typed=False))


def _peak() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def questions_plain(place: Place) -> Found:
    """A loop over words for each question."""
    from scale import generate, plain, words

    texts = generate.questions(place.sizes.questions).to_pylist()
    took, found = clock(plain.holding, texts, words.topic_words())
    return {"seconds": took, "questions": len(texts), "kept": sum(found)}


def questions_ours(place: Place) -> Found:
    """The stage `topic`, any word anywhere."""
    from scale import generate, ours

    texts = generate.questions(place.sizes.questions)
    stage, table = ours.questions(texts, place.work / "questions")
    took, kept = clock(ours.kept_by, stage, table)
    return {"seconds": took, "questions": len(texts), "kept": kept}


def triples(place: Place, count: int) -> Found:
    """A build of so many triples to candidates with evidence, and a second one with nothing changed."""
    from scale import builds, generate

    name, paragraphs = f"triples-{count}", max(200, count // EACH_PARAGRAPH)
    bios = round(count * BIOS_SHARE)
    words, sources = builds.generated(
        place.file(f"{name}/bios", lambda path: generate.write_bios(path, bios)),
        place.file(f"{name}/cpubmed.tsv", lambda path: generate.write_cpubmed(path, count - bios)),
        place.file(f"{name}/paragraphs.jsonl", lambda path: generate.write_paragraphs(path, paragraphs)),
    )
    folder = builds.fresh(place.work / name / "build")
    first = builds.build(words, folder, sources)
    found = sum(1 for _ in builds.lines_of(folder / "candidates.jsonl"))
    again = builds.build(words, folder, sources)
    builds.fresh(folder)
    return {"triples": count, "paragraphs": paragraphs, "candidates": found, "first": first, "again": again}


def real_ours(place: Place, words: str) -> Found:
    """The whole build of the real files."""
    from scale import builds

    if place.real is None or not (place.real / "mcqa").is_dir():
        return {"skipped": "the real files are not here (--real DIR)"}
    told = builds.real(place.real, _prepared(place), None if words == "care_mi" else _prepared(place) / "entities.txt")
    folder = builds.fresh(place.work / f"real-{words}")
    built = builds.build(told, folder)
    found = sum(1 for _ in builds.lines_of(folder / "candidates.jsonl"))
    return {**built, "candidates": found, "paragraphs": place.sizes.real_paragraphs, "words": words}


def _prepared(place: Place) -> Path:
    from scale import builds, generate

    assert place.real is not None
    prepared, count = place.work / "real", place.sizes.real_paragraphs
    if not (prepared / "relations.tsv").exists():
        builds.prepare_real(place.real, prepared)
    place.file("real/paragraphs.jsonl", lambda path: generate.write_paragraphs(path, count))
    return prepared


def real_plain(place: Place, words: str) -> Found:
    """The published way: everything but the queries in full, a few queries, the rest extrapolated."""
    from scale import published

    folder = place.work / f"real-{words}"
    if place.real is None or not (folder / "candidates.jsonl").exists():
        return {"skipped": "the real files are not here (--real DIR)"}
    return published.whole(place.real, _prepared(place), folder, words == "broad", place.sizes.plain_queries)
