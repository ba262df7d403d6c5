"""Generated files have the shapes that the bundled sources read, and the share on topic that was asked for."""

import json
from collections import Counter
from pathlib import Path

import pytest
from scale import builds, generate, ours, words

from benchbuilder.core.records.outcomes import Dropped, EndOfFile
from benchbuilder.core.text.wordlist import load_words

COUNT, SHARE = 3_000, 0.02


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("generated")
    generate.write_bios(folder / "bios", COUNT, share=SHARE)
    generate.write_cpubmed(folder / "cpubmed.tsv", COUNT, share=SHARE)
    generate.write_paragraphs(folder / "paragraphs.jsonl", 100)
    return folder


@pytest.mark.parametrize("source", ["bios", "cpubmed"])
def test_the_bundled_sources_read_generated_triples_and_few_are_dropped(files: Path, source: str):
    told, _ = builds.generated(files / "bios", files / "cpubmed.tsv", files / "paragraphs.jsonl")
    maker = ours.plan(told, files / "build").nodes[source].producer
    units = [unit for unit in maker.read() if not isinstance(unit, EndOfFile)]
    driving = [unit for unit in units if Path(unit.file).name in ("relations.txt", "cpubmed.tsv")]
    assert len(driving) == COUNT
    dropped = Counter(unit.outcome.reason for unit in units if isinstance(unit.outcome, Dropped))
    assert dropped.total() < COUNT / 100, dropped
    listed = frozenset(words.topic_words())
    triples = [unit.outcome.row.payload for unit in driving if not isinstance(unit.outcome, Dropped)]
    both = sum(triple.head in listed and triple.tail in listed for triple in triples)
    assert COUNT * SHARE / 2 < both < COUNT * SHARE * 2
    assert all(triple.head_type and triple.tail_type for triple in triples)


def test_the_same_seed_gives_the_same_files_and_another_one_others(files: Path, tmp_path: Path):
    again = generate.write_cpubmed(tmp_path / "again.tsv", COUNT, share=SHARE).read_bytes()
    assert again == (files / "cpubmed.tsv").read_bytes()
    assert again != generate.write_cpubmed(tmp_path / "other.tsv", COUNT, share=SHARE, seed=9).read_bytes()


def test_paragraphs_are_json_lines_with_some_forty_content_words(files: Path):
    rows = [json.loads(line) for line in (files / "paragraphs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len({row["document"] for row in rows}) == len(rows) == 100
    stop = frozenset(load_words(words.CARE_MI / "stopwords.txt"))
    tokenizer = ours.tokenizer()
    counts = [sum(token not in stop for token in tokenizer.tokens(row["text"])) for row in rows]
    assert 35 < sum(counts) / len(counts) < 60


def test_fewer_paragraphs_hold_the_same_words_and_queries_are_about_them():
    few, many = generate._content(3, 0, 50)[1], generate._content(3, 0, 500)[1]
    assert list(few) == list(many[: len(few)])
    asked = generate.queries(20)
    assert asked == generate.queries(20)
    assert len(set(asked)) == 20
