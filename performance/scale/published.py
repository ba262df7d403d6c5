"""The published way over the real files, from reading to evidence: measured in full, but for most of the queries."""

from __future__ import annotations

import json
import pickle
import time
from pathlib import Path
from typing import Any

from scale import plain
from scale.builds import lines_of
from scale.words import all_stop_words, topic_words


def whole(real: Path, prepared: Path, build: Path, broad: bool, queries: int) -> dict[str, Any]:
    """Filter by pandas and by loops, convert and tokenise all paragraphs, index, and search for a few of the candidates
    of `build`.

    `queries_s` is for all candidates, worked out from those that were searched for. Statements and questions are left
    out: with the released scripts they take little beside the rest.
    """
    words = _words(prepared) if broad else topic_words()
    filtered, kept = plain.timed(_filter, real, words)
    plain.warm()
    stop = frozenset(all_stop_words())
    generated = [str(row["text"]) for row in lines_of(prepared / "paragraphs.jsonl")]
    pages = [text for row in lines_of(prepared / "pages.jsonl") for text in str(row["text"]).split("\n")]
    cut, bases = 0.0, []
    for texts in (generated, pages):
        took, documents = _tokens(texts, stop, prepared.parent)
        converted, simplified = plain.timed(plain.simplified, texts)
        changed = [at for at, (text, other) in enumerate(zip(texts, simplified, strict=True)) if text != other]
        for at, tokens in zip(changed, plain.tokens([simplified[at] for at in changed], stop), strict=True):
            documents[at] = tokens
        texts[:] = simplified
        cut += took + converted
        bases.append(documents)
    indexed, models = plain.timed(lambda: [plain.Bm25(documents) for documents in bases])
    items = list(lines_of(build / "items.jsonl"))
    some = items[:: max(1, len(items) // queries)][:queries]
    took, equal = _search(models, some, stop, generated)
    every = took / len(some) * len(items)
    return {
        "filter_s": filtered, "kept": kept, "tokens_s": cut, "index_s": indexed, "searched": len(some),
        "searched_s": took, "queries": len(items), "queries_s": every, "equal": equal, "words": len(words),
        "seconds": filtered + cut + indexed + every, "paragraphs": len(generated) + len(pages),
    }  # fmt: skip


def _words(prepared: Path) -> tuple[str, ...]:
    return tuple((prepared / "entities.txt").read_text(encoding="utf-8").splitlines())


def _filter(real: Path, words: tuple[str, ...]) -> int:
    """How many triples and questions the word list keeps."""
    kept = 0
    for table in sorted((real / "kg").glob("*_triples.tsv")):
        kept += len(plain.on_topic(plain.read_triples(table, typed=False), words))
    texts: list[str] = []
    with (real / "mcqa" / "medqa_mainland_test.jsonl").open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            texts.append("\n".join([row["question"], *row["options"].values()]))
    return kept + sum(plain.holding(texts, words))


def _tokens(texts: list[str], stop: frozenset[str], work: Path) -> tuple[float, list[list[str]]]:
    """Tokens and the seconds they took: as they were measured in this run for the same paragraphs, or now."""
    before = work / f"tokens-{len(texts)}.pickle"
    if before.exists():
        with before.open("rb") as file:
            took, documents = pickle.load(file)
        return took, documents
    return plain.timed(plain.tokens, texts, stop)


def _search(
    models: list[plain.Bm25], items: list[dict[str, Any]], stop: frozenset[str], texts: list[str]
) -> tuple[float, int]:
    """Seconds, and for how many items the build has the same evidence of the first base."""
    places = {text: at for at, text in enumerate(texts)}
    took, equal = 0.0, 0
    for item in items:
        began = time.perf_counter()
        query = plain.tokens([f"{item['question']}\n{item['answer']}"], stop)[0]
        best = [model.best(query) for model in models]
        took += time.perf_counter() - began
        ours = [(places[one["text"]], one["score"]) for one in item["evidence"] if one["base"] == "textbook"]
        equal += plain.same(ours, *best[0])
    return took, equal
