"""Somebody who has the public folder, the program and every guess tries to find the labels that stay."""

from __future__ import annotations

import csv
import hashlib
import hmac
import itertools
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from built_sample import BuiltSample

import benchbuilder as bb
from benchbuilder.config import ReleaseSpec
from benchbuilder.publishing import Release
from benchbuilder.publishing.release.fill import divide, question_names
from benchbuilder.publishing.release.items import shared_item
from benchbuilder.publishing.release.private_folder import PrivateFolder
from benchbuilder.publishing.release.records import private_record, private_schema


@pytest.fixture(scope="module")
def withheld(released: Release) -> dict[str, dict[str, Any]]:
    """What the maker knows of each private question, by its published name."""
    text = (released.private_folder / "1.0.0" / "items.jsonl").read_text("utf-8")
    return {row["name"]: row for row in map(json.loads, text.splitlines())}


@pytest.fixture(scope="module")
def published(released: Release) -> list[dict[str, str]]:
    return [json.loads(line) for line in (released.folder / "private" / "test.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def everything(released: Release) -> str:
    return "\n".join(file.read_text("utf-8") for file in released.files)


@pytest.mark.push
def test_a_private_question_is_published_without_anything_else(
    published: list[dict[str, str]], withheld: dict[str, dict[str, Any]]
) -> None:
    assert {row["id"] for row in published} == set(withheld)
    allowed = {"id", "canary", "type", "language", "context", "question", "full_question", "full-question",
               "label_hash"}  # fmt: skip
    assert {name for row in published for name in row} == allowed


@pytest.mark.push
def test_no_id_of_the_build_and_no_text_of_a_label_is_in_any_public_file(
    everything: str, withheld: dict[str, dict[str, Any]]
) -> None:
    ids = set(re.findall("[a-z]+-[0-9a-f]{20}", everything))
    texts = set(re.findall('"([^"]+)"', everything))
    for row in withheld.values():
        private = {row[name] for name in ("id", "fact", "family", "candidate")}
        private |= {parent for parent in row["parents"] if not parent.startswith("passage-")}  # it may support others
        assert not private & ids
        assert not {row["origin"], row["answer"], row["answer-wrong"]} & texts


def digests(text: str) -> Iterator[str]:
    """Hashes of a guess with every function that somebody would try, without a key."""
    for name in ("sha256", "sha1", "md5", "blake2s", "sha512"):
        yield hashlib.new(name, text.encode()).hexdigest()
    for size in (8, 10, 16, 20, 32):
        yield hashlib.blake2b(text.encode(), digest_size=size).hexdigest()


@pytest.mark.push
def test_hashes_cannot_be_tried_with_guessed_labels(
    released: Release, published: list[dict[str, str]], withheld: dict[str, dict[str, Any]], everything: str
) -> None:
    """Even who guesses the whole label right sees no hash of it, with any public value as a key or a salt."""
    record = released.record
    heads = {word[:16] for word in re.findall("[0-9a-f]{16,}", everything)}
    keys = ["", record.canary, record.version, record.name, record.recipe_sha256]
    for row in published[:20]:
        known = withheld[row["id"]]
        labels = [known["expected"], known["answer"], known["answer-wrong"]]
        guesses = ([row["id"], *labels], ["label", record.version, row["id"], *labels], [row["question"], *labels[:2]])
        for guess, key in itertools.product(guesses, keys):
            for text in (json.dumps(guess, ensure_ascii=False, separators=(",", ":")), "".join(guess)):
                tried = {*digests(key + text), hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()}
                assert not heads & {digest[:16] for digest in tried}


def test_a_corrected_label_changes_no_name(tmp_path: Path) -> None:
    """A name that follows the label would tell, in the next version, that a verdict was turned."""
    private = PrivateFolder(tmp_path, b"a secret of a test, 32 bytes....")
    cells = {"id": "item-1", "type": "tf", "question": "Is it?", "expected": "yes", "answer": "It is."}
    item = shared_item(cells, "", "test")
    turned = replace(item, id="item-2", expected="no", answer="It is not.")
    assert list(question_names([item], private).values()) == list(question_names([turned], private).values())
    schema = private_schema(with_task=False)
    hashes = {private_record(item, "question-1", "c", version, schema, private)["label_hash"] for version in ("1", "2")}
    assert len(hashes) == 2


@pytest.mark.push
def test_ids_and_order_say_nothing(published: list[dict[str, str]], withheld: dict[str, dict[str, Any]]) -> None:
    """Neither the place of a question nor any character of its name or hash goes with its verdict."""
    assert [row["id"] for row in published] != sorted(withheld)
    verdicts = [withheld[row["id"]]["expected"] for row in published if withheld[row["id"]]["expected"]]
    changes = sum(one != other for one, other in itertools.pairwise(verdicts))
    assert 0.3 < changes / len(verdicts) < 0.7
    by_build = [withheld[row["id"]]["id"] for row in published]
    assert by_build != sorted(by_build)


@pytest.mark.push
def test_the_card_counts_public_items_only(released: Release, withheld: dict[str, dict[str, Any]]) -> None:
    """Figures of all items, minus those of the public ones, would be figures of private labels."""
    card = (released.folder / "README.md").read_text("utf-8")
    public = sum(sum(c.items.values()) for c in released.record.configs if c.type)
    assert f"{public} items by source and type" in card
    assert not [path for path in released.folder.rglob("*.md") if "Guessing without" in path.read_text("utf-8")]
    for file in ("release.json", "croissant.json"):
        text = (released.folder / file).read_text("utf-8")
        assert '"expected"' not in text or file == "croissant.json"
        assert "digest" not in text


def test_items_that_tell_of_each_other_are_not_divided(tmp_path: Path) -> None:
    """Two families whose questions are nearly the same, or contradict each other, are both private or both public."""
    private = PrivateFolder(tmp_path, b"a secret of a test, 32 bytes....")
    items = [shared_item({"id": f"item-{n}", "type": "tf", "question": f"Is it {n}?", "family": f"f{n}"}, "", "test")
             for n in range(40)]  # fmt: skip
    names = question_names(items, private)
    pairs = [(f"item-{n}", f"item-{n + 1}") for n in range(0, 40, 2)]
    used = divide(items, names, ReleaseSpec(private=0.5), private, pairs)
    assert sorted(used.values()) == ["private"] * 20 + ["test"] * 20
    assert all(used[one] == used[other] for one, other in pairs)


@pytest.mark.push
def test_another_secret_gives_other_names_and_another_choice(
    built: BuiltSample, published: list[dict[str, str]]
) -> None:
    other = built.release(dir="other", private=0.3, dev=4)
    names = {
        json.loads(line)["id"] for line in (other.folder / "private" / "test.jsonl").read_text("utf-8").splitlines()
    }
    assert not names & {row["id"] for row in published}


def judge_again(folder: Path) -> None:
    """Fill in the sheets of a build: the new text is right in every way."""
    for sheet in (folder / "annotation" / "to_fill").glob("*.csv"):
        with sheet.open(encoding="utf-8-sig", newline="") as file:
            heads, *rows = csv.reader(file)
        asked = ["[q:" in head for head in heads]
        with (folder / "annotation" / "filled" / sheet.name).open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file).writerows(
                [heads, *([cell or "1" if ask else cell for cell, ask in zip(row, asked, strict=True)] for row in rows)]
            )


@pytest.mark.full
def test_two_versions_do_not_tell_whose_key_was_turned(
    released: Release,
    built: BuiltSample,
    withheld: dict[str, dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Somebody lays two versions side by side, between which one private answer was exchanged with its wrong one."""
    folder = shutil.copytree(built.folder, tmp_path / "project")
    monkeypatch.chdir(folder)
    settings = ["paths.errata=errata.jsonl", "release.dir=shared", "release.private=0.3", "release.dev=4"]
    errata = bb.errata("care_mi", settings)
    turned = next(row for row in withheld.values() if row["expected"] == "no")
    (erratum,) = errata.add(turned["name"], "wrong_key", "a report", who="A reader").added
    errata.decide(erratum.id, "fix_key", by="A maker", reason="a new guideline", swap=True)
    bb.build("care_mi", settings)
    judge_again(folder / "builds" / "care_mi")
    bb.build("care_mi", settings)
    new = errata.release(despite="a trial").release.folder
    kept = json.loads((new.parent / "private" / new.name / "names.json").read_text("utf-8"))
    private = (new.parent / "private" / new.name / "items.jsonl").read_text("utf-8")
    labels = [json.loads(line) for line in private.splitlines()]
    assert [row["expected"] for row in labels if row["name"] == turned["name"]] == ["yes"]
    assert turned["id"] not in kept[""]

    old = released.folder
    names = {file.relative_to(old).as_posix() for file in released.files}
    assert {file.relative_to(new).as_posix() for file in new.rglob("*") if file.is_file()} == names
    texts = {name: [(side / name).read_text("utf-8") for side in (old, new)] for name in names}
    differ = {name for name, (before, after) in texts.items() if before != after.replace(new.name, old.name)}
    assert not {name for name in differ if name.startswith(("tf/", "oe/", "evidence/", "votes/"))}
    before, after = ([json.loads(line) for line in text.splitlines()] for text in texts["private/test.jsonl"])
    for one, other in zip(before, after, strict=True):
        assert one.pop("label_hash") != other.pop("label_hash"), "a hash that stays would single out those that change"
        assert one == other
    for name in differ - {"private/test.jsonl"}:
        for text in texts[name]:
            assert turned["name"] not in text
            assert turned["question"] not in text
