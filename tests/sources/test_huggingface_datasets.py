"""Datasets as saved by the library and as on the Hub. No test reaches the Hub: a stub returns a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasets
import huggingface_hub
import pytest
from datasets import ClassLabel, Features, Value
from pydantic import ValidationError

from benchbuilder.core.errors import DataError
from benchbuilder.core.records.outcomes import EndOfFile, Kept, SourceUnit
from benchbuilder.core.registry import find_kind

QUESTIONS = {
    "question": ["Which planet is red?", "Which is nearest to the sun?", "Which planet is red?", ""],
    "choices": [{"text": ["Mars", "Venus"], "label": ["A", "B"]}, {"text": ["Earth", "Mercury"], "label": ["A", "B"]}]
    + [{"text": ["Mars", "Venus"], "label": ["A", "B"]}] * 2,
    "answer": [0, 1, 0, 0],
    "subject": [1, 0, 1, 1],
}
FEATURES = Features({
    "question": Value("string"),
    "choices": {"text": [Value("string")], "label": [Value("string")]},
    "answer": ClassLabel(names=["A", "B"]),
    "subject": ClassLabel(names=["orbits", "colours"]),
})  # fmt: skip
CHOICE = {
    "as": "choice",
    "columns": {"question": "question", "options": "choices.text", "answer_key": "answer", "category": "subject"},
}


@pytest.fixture
def dataset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> datasets.Dataset:
    monkeypatch.chdir(tmp_path)
    datasets.disable_progress_bars()
    return datasets.Dataset.from_dict(QUESTIONS, features=FEATURES)


def test_a_saved_dataset_with_splits_and_class_labels(dataset, read_source):
    datasets.DatasetDict({"train": dataset, "test": dataset.select([1])}).save_to_disk("saved")
    result = read_source("huggingface", path="saved", splits={"train": True, "test": False}, **CHOICE)
    assert [row.payload.question for row in result.rows] == QUESTIONS["question"][:2]
    second = result.rows[1].payload
    assert (second.answer_key, second.answer, second.category, second.split) == ("B", "Mercury", "orbits", "train")
    file = "saved/train/data-00000-of-00001.arrow"
    assert result.drops == [(file, 3, "duplicate", f"kept: {file}:1"), (file, 4, "missing_field", "question")]
    assert result.ends[file].units == 4
    assert result.ends["saved/test/data-00000-of-00001.arrow"].auxiliary == {"excluded": 1}


def test_a_saved_dataset_without_splits_in_several_files(dataset, read_source):
    dataset.save_to_disk("one", num_shards=2)
    result = read_source("huggingface", path="one", **CHOICE)
    assert [(row.origin.file[-20:], row.origin.line) for row in result.rows] == [
        ("00000-of-00002.arrow", 1), ("00000-of-00002.arrow", 2),
    ]  # fmt: skip
    assert [reason for _, _, reason, _ in result.drops] == ["duplicate", "missing_field"]
    assert len(result.ends) == 2


def test_class_labels_as_numbers(dataset, read_source):
    dataset.save_to_disk("one")
    result = read_source("huggingface", path="one", label_names=False, key_as="index", **CHOICE)
    assert [(row.payload.answer, row.payload.category) for row in result.rows] == [("Mars", "1"), ("Mercury", "0")]


def test_a_folder_as_the_hub_holds_it(dataset, read_source):
    Path("hub/data").mkdir(parents=True)
    dataset.to_parquet("hub/data/train-00000-of-00001.parquet")
    dataset.select([1]).to_parquet("hub/data/test-00000-of-00001.parquet")
    result = read_source("huggingface", path="hub", splits={"test": True}, **CHOICE)
    assert [(row.payload.answer_key, row.payload.split) for row in result.rows] == [("B", "test")]
    assert set(result.ends) == {"hub/data/train-00000-of-00001.parquet", "hub/data/test-00000-of-00001.parquet"}


def test_subsets_and_features_that_the_page_of_the_dataset_declares(write, read_source, make_source):
    header = """---
configs:
- {config_name: easy, data_files: [{split: train, path: easy.csv}]}
- {config_name: hard, data_files: [{split: train, path: hard.csv}]}
---
"""
    write("hub/README.md", header)
    write("hub/easy.csv", "h,r,t\nEarth,orbits,Sun\nEarth,orbits\n")
    write("hub/hard.csv", "h,r,t\nMoon,orbits,Earth\n")
    triple = {"as": "triple", "columns": {"head": "h", "relation": "r", "tail": "t"}}
    result = read_source("huggingface", path="hub", subset="easy", **triple)
    assert [row.payload.head for row in result.rows] == ["Earth"]
    assert result.dropped() == [(3, "malformed")]
    with pytest.raises(DataError, match=r"easy.*hard") as raised:
        make_source("huggingface", "kg", path="hub", **triple).check()
    assert "sources.kg" in raised.value.next


def test_json_lines_as_passages_and_lines_that_are_no_json(write, read_source):
    lines = [{"page": "Mars", "body": "Mars is red."}, {"page": "Moon", "body": "The Moon orbits Earth."}]
    text = "\n".join(json.dumps(line) for line in lines) + "\n{broken\n"
    write("hub/train.jsonl", text)
    columns = {"text": "body", "title": "page", "document": "page"}
    result = read_source("huggingface", "wiki", path="hub", **{"as": "passage"}, columns=columns)
    assert next((row.base, row.document, row.text) for row in result.rows) == ("wiki", "Mars", "Mars is red.")
    assert result.dropped() == [(3, "malformed")]
    numbered = read_source("huggingface", "wiki", path="hub", **{"as": "passage"}, columns={"text": "body"})
    assert [(row.document, row.title) for row in numbered.rows] == [("train.jsonl:1", ""), ("train.jsonl:2", "")]


def test_files_of_the_recipe_stand_for_those_of_the_dataset(dataset, read_source):
    Path("folder").mkdir()
    dataset.to_parquet("folder/questions_train.parquet")
    dataset.select([1]).to_parquet("folder/questions_old.parquet")
    result = read_source(
        "huggingface", path="folder", files="questions_{split}.parquet", splits={"old": True}, **CHOICE
    )
    assert [row.payload.split for row in result.rows] == ["old"]
    one = read_source("huggingface", path="folder/questions_old.parquet", **CHOICE)
    assert len(one.rows) == 1


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def named(**given: Any) -> Any:
    cls = find_kind("source", "huggingface").load()
    return cls(cls.spec_class(kind="huggingface", **{**CHOICE, **given}), "planets", "en")


def test_the_hub_is_asked_for_one_commit_once(dataset, monkeypatch):
    dataset.to_parquet("blobs/abc")
    Path("cache/data").mkdir(parents=True)
    Path("cache/data/train-00000-of-00001.parquet").symlink_to(Path("blobs/abc").absolute())  # as the cache holds it
    asked = []

    def snapshot(repository: str, **how: object) -> str:
        asked.append((repository, how["repo_type"], how["revision"], how["allow_patterns"]))
        return str(Path("cache").absolute())

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    found = list(named(name="someone/planets", revision=COMMIT).read())
    assert sum(isinstance(one, SourceUnit) and isinstance(one.outcome, Kept) for one in found) == 2
    assert [one.file for one in found if isinstance(one, EndOfFile)] == [
        "someone/planets/data/train-00000-of-00001.parquet"
    ]
    assert asked == [("someone/planets", "dataset", COMMIT, None)]

    def offline(*_: object, **__: object) -> str:
        raise huggingface_hub.errors.LocalEntryNotFoundError("not in the cache")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    with pytest.raises(DataError, match="someone/planets cannot be downloaded") as raised:
        named(name="someone/planets", revision=COMMIT).check()
    assert "set path" in raised.value.next


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "either the path"),
        ({"path": "x", "name": "a/b", "revision": COMMIT}, "either the path"),
        ({"name": "a/b"}, "go together"),
        ({"name": "a/b", "revision": "main"}, "revision"),
        ({"name": "../b", "revision": COMMIT}, "name"),
        ({"path": "x", "type_separator": "@@"}, "only with `as: triple`"),
        ({"path": "x", "columns": {"head": "h"}}, "no column head: a choice has question, options"),
        ({"path": "x", "columns": {"question": "q"}}, "options"),
        ({"path": "x", "as": "claim"}, "'triple', 'choice', 'several_choice' or 'passage'"),
    ],
)
def test_what_a_recipe_cannot_say(given, told):
    with pytest.raises(ValidationError, match=told):
        named(**given)


OUTSIDE = "---\nconfigs: [{config_name: a, data_files: [{split: train, path: ../secret.csv}]}]\n---\n"


def test_shapes_that_are_wrong(dataset, make_source, write):
    dataset.save_to_disk("one")
    write("secret.csv", "a,b\n")
    columns = {**CHOICE["columns"], "question": "stem"}
    for path, given, told in (
        ("one", {"columns": columns}, "found the columns question, choices, answer, subject"),
        ("one", {"splits": {"dev": True}}, "no split 'dev'"),
        (write("broken.parquet", "no parquet"), {}, "wrong shape"),
        (write("empty/notes.md", "nothing") and "empty", {}, "empty"),
        (write("out/README.md", OUTSIDE) and "out", {}, "outside the folder"),
        (write("up/dataset_dict.json", '{"splits": ["../one"]}') and "up", {}, "outside the folder"),
        (write("script/script.py", "raise SystemExit") and "script", {}, "Dataset scripts are no longer supported"),
        ("none", {}, "missing"),
    ):
        with pytest.raises(DataError, match=told):
            make_source("huggingface", path=path, **{**CHOICE, **given}).check()
    Path("one/data-00000-of-00001.arrow").unlink()
    with pytest.raises(DataError, match="written by save_to_disk"):
        make_source("huggingface", path="one", **CHOICE).files()
