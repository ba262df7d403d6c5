"""A release: its files, its splits, what it refuses, and what the next version may be."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from built_sample import BuiltSample

from benchbuilder.cli.release import split_version
from benchbuilder.config import load_recipe
from benchbuilder.core import DataError, GateClosed, RecipeError
from benchbuilder.core.text.page_texts import __file__ as page_texts_file
from benchbuilder.core.text.page_texts import read_texts
from benchbuilder.pipeline import check_recipe, most_evidence
from benchbuilder.publishing import Release, check_release, read_build, read_release
from benchbuilder.publishing.release.items import rows_of_file
from benchbuilder.publishing.release.licences import licence_terms
from benchbuilder.publishing.release.material import gather_material
from benchbuilder.publishing.release.private_folder import PrivateFolder
from benchbuilder.publishing.release.refusals import find_refusals, open_before_release
from benchbuilder.publishing.release.scorecard.scorecard import fill_scorecard


def rows(folder: Path, file: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / file).read_text("utf-8").splitlines()]


@pytest.mark.push
def test_every_file_and_every_row_holds_the_canary(released: Release) -> None:
    canary = released.record.canary
    for file in released.files:
        lines = file.read_text("utf-8").splitlines()
        assert any(canary in line for line in lines), file
        if file.suffix == ".jsonl":
            assert all(json.loads(line)["canary"] == canary for line in lines)


@pytest.mark.push
def test_the_card_loads_each_configuration_as_the_split_that_it_is(released: Release) -> None:
    card = yaml.safe_load((released.folder / "README.md").read_text("utf-8").split("---\n")[1])
    splits = {c["config_name"]: [s["split"] for s in c["data_files"]] for c in card["configs"]}
    assert splits == {"tf": ["test", "dev"], "oe": ["test", "dev"], "private": ["test"], "evidence": ["evidence"],
                      "votes": ["votes"]}  # fmt: skip
    features = {i["config_name"]: [f["name"] for f in i["features"]] for i in card["dataset_info"]}
    for config in released.record.configs:
        for file in config.files.values():
            assert {tuple(row) for row in rows(released.folder, file)} == {tuple(features[config.name])}


@pytest.mark.push
def test_names_have_underscores_beside_the_published_ones(released: Release) -> None:
    for row in rows(released.folder, "tf/test.jsonl"):
        for name in ("answer-wrong", "full-question", "q-type"):
            assert row[name] == row[name.replace("-", "_")]
        assert row["full_question"] == str(row["context"]) + str(row["question"])
        assert isinstance(row["evidence"], list)


@pytest.mark.push
def test_families_are_whole_and_examples_are_not_asked(released: Release, built: BuiltSample) -> None:
    whole = read_build(built.loaded, built.folder)
    found = read_release(released.folder)
    families = {split: {item.family for item in found.items if item.split == split} for split in ("test", "dev")}
    assert not families["test"] & families["dev"]
    known = {item.id for item in found.items}
    private = {item.family for item in whole.items if item.id not in known}
    assert not private & (families["test"] | families["dev"])
    assert all(len(items) >= 4 for items in found.examples.values())
    assert 0.2 < released.record.private_items / len(whole.items) <= 0.3
    assert len(known) + released.record.private_items == len(whole.items)


def test_licences_are_read_and_never_guessed() -> None:
    terms = licence_terms("CC BY-NC-SA 4.0")
    assert (terms.name, terms.change, terms.commercial, terms.same_licence) == ("CC-BY-NC-SA-4.0", "yes", "no", "yes")
    for declared in ("", "see publisher", "CC", "free", "CC-BY"):
        unknown = licence_terms(declared)
        assert not unknown.is_known
        assert {unknown.share, unknown.change, unknown.commercial, unknown.name_source} == {"unknown"}


def test_a_licence_that_resembles_a_known_one_is_asked_about() -> None:
    loaded = load_recipe(["recipe=claims_en", "card.licence=CC-BY-40"], environ={})
    found = " ".join(open_before_release(loaded))
    assert "set card.licence=CC-BY-4.0, or say its name in words" in found
    assert "set sources.facts_en.licence and sources.yes_no_en.licence and " in found


@pytest.mark.push
def test_checksums_tell_a_changed_file(own_releases: Path) -> None:
    folder = own_releases / "care_mi" / "1.0.0"
    assert check_release(folder) == []
    (folder / "tf" / "test.jsonl").write_text("", encoding="utf-8")
    (folder / "CITATION.cff").unlink()
    assert check_release(folder) == ["CITATION.cff", "tf/test.jsonl"]


@pytest.mark.push
def test_what_may_not_be_released_is_refused_with_every_reason(built: BuiltSample) -> None:
    with pytest.raises(GateClosed) as refused:
        built.release(despite=" ", dir="refused", names=None)
    said = str(refused.value)
    assert "the data is illustrative" in said
    assert "what the licence of bios, cpubmed, medqa, mlecqa, textbook, encyclopaedia allows is unknown" in said
    assert "does not say whether its texts name people" in said
    assert not (built.folder / "refused" / "care_mi" / "1.0.0").exists()
    assert not (built.folder / "refused" / "care_mi" / "private").exists()


@pytest.mark.push
def test_a_closed_gate_and_a_licence_that_forbids_refuse_a_release(built: BuiltSample, tmp_path: Path) -> None:
    material = gather_material(built.loaded, built.folder)
    (task,) = material.tasks
    closed = replace(task, audit=replace(task.audit, result=task.audit.result.model_copy(update={"closed": True})))
    terms = [licence_terms(name) for name in ("CC-BY-4.0", "CC-BY-ND-4.0", "CC-BY-NC-4.0")]
    sources = tuple(replace(source, terms=term) for source, term in zip(material.sources, terms, strict=False))
    private = PrivateFolder(tmp_path, b"", {"question-1": "private"})
    card = replace(fill_scorecard(material, released=False), required=("real_data", "funding", "licence"))
    found = find_refusals(replace(material, tasks=(closed,), sources=sources), {"question-1": "test"}, private, card)
    said = [str(refusal.text) for refusal in found]
    assert said[:3] == [
        "the audit closes the gate: 0 checks and 0 words leak",
        "cpubmed is CC-BY-ND-4.0: changed copies may not be passed on",
        "medqa is CC-BY-NC-4.0: not for commercial use, but Apache-2.0 allows it",
    ]
    assert said[-3:] == [
        "the labels of 1 question were private before, and would be published",
        "scorecard.required names real_data, and no: a bundled sample is in use",
        "scorecard.required names funding, and nobody answered it",
    ]


@pytest.mark.push
def test_items_that_nobody_judged_are_not_released_without_a_word(built: BuiltSample, tmp_path: Path) -> None:
    material = gather_material(built.loaded, built.folder)
    (task,) = material.tasks
    counts = [replace(one, notes={}) if one.step == "items" else one for one in task.finished.step_counts]
    alone = replace(task, finished=replace(task.finished, step_counts=counts))
    card = fill_scorecard(material, released=False)
    found = find_refusals(replace(material, tasks=(alone,)), {}, PrivateFolder(tmp_path, b"", {}), card)
    said = [str(refusal) for refusal in found if refusal.code == "unjudged"]
    assert len(said) == 1
    assert said[0].startswith("nobody judged the 390 items: their keys are those of the sources")
    filled = built.folder / "builds/care_mi/annotation/filled"
    filled.mkdir(parents=True, exist_ok=True)
    (filled / "a.csv").write_text("", "utf-8")
    found = find_refusals(replace(material, tasks=(alone,)), {}, PrivateFolder(tmp_path, b"", {}), card)
    (remedy,) = [refusal.remedy for refusal in found if refusal.code == "unjudged"]
    assert remedy.endswith("annotation: repeat the words annotation=… of the build that asked for them")
    (filled / "a.csv").unlink()
    found = find_refusals(material, {}, PrivateFolder(tmp_path, b"", {}), card)
    assert "unjudged" not in {refusal.code for refusal in found}


@pytest.mark.push
def test_what_a_recipe_lacks_for_a_release_is_known_before_a_build(built: BuiltSample, tmp_path: Path) -> None:
    card = fill_scorecard(material := gather_material(built.loaded, built.folder), released=False)
    found = {one.remedy for one in find_refusals(material, {}, PrivateFolder(tmp_path, b"", {}), card)}
    assert set(open_before_release(built.loaded)) == found != set()
    words = ["annotation=none", "audit.gate=none", "card.licence=not stated"]
    more = set(open_before_release(load_recipe(["recipe=care_mi", *words]))) - found
    people = "annotation=app or annotation=sheets lets people judge the items"
    assert more == {"set audit.gate=audit", people, "set card.licence"}
    alone = open_before_release(load_recipe(["recipe=exam_any", "annotation=none"]))[-1]
    assert alone.endswith(", with annotation.min_evidence=0, lets people judge the items, by questions in English"), (
        "nothing is looked up"
    )
    guideline = load_recipe(["recipe=guideline_en", "annotation=sheets_en"])
    assert most_evidence(guideline.recipe) == 1, "the paragraph that a claim was read from"
    with pytest.raises(RecipeError, match=r"at most 1: the paragraph(.|\n)*annotation.min_evidence=1"):
        check_recipe(guideline)


@pytest.mark.push
@pytest.mark.parametrize(
    ("floor", "judged", "refused"),
    [
        ({"alpha": 0.6, "raw": 0.85}, 453, []),
        ({"alpha": 0.6, "raw": 0.93}, 453, ["too little on supports"]),
        ({"alpha": 0.6, "raw": 0.85}, 12, []),
        ({"alpha": 0.6, "raw": 0.85, "unknown": "close"}, 12, ["too little to tell for single_answer, "]),
    ],
)
def test_labels_below_the_floor_refuse_a_release(
    built: BuiltSample, tmp_path: Path, floor: dict[str, object], judged: int, refused: list[str]
) -> None:
    """Twelve judged candidates cannot tell, however well people agree; `unknown: close` refuses these too."""
    material = gather_material(built.loaded, built.folder)
    (task,) = material.tasks
    recipe = copy.deepcopy(dict(task.finished.recipe))
    recipe["steps"]["items"]["votes"]["floor"] = floor
    counts = copy.deepcopy(task.finished.step_counts)
    for measures in next(one for one in counts if one.step == "items").notes["agreement"].values():
        measures["clusters"] = judged
    held = replace(task, finished=replace(task.finished, recipe=recipe, step_counts=counts))
    card = fill_scorecard(material, released=False)
    found = find_refusals(replace(material, tasks=(held,)), {}, PrivateFolder(tmp_path, b"", {}), card)
    said = [str(refusal.text) for refusal in found if refusal.code == "agreement"]
    assert len(said) == bool(refused)
    assert all(any(part in text for part in refused) for text in said), said


@pytest.mark.push
def test_the_card_prints_why_it_was_released_all_the_same(released: Release) -> None:
    card = (released.folder / "README.md").read_text("utf-8")
    assert "> **Released despite:** a trial" in card
    assert "> - the data is illustrative: no expert has checked it\n" in card
    columns = (released.folder / "tables" / "columns.md").read_text("utf-8")
    assert not re.search(r"^\| [\w-]+ \|  \|$", columns, re.MULTILINE)  # each column has a meaning
    tables = sorted((released.folder / "tables").iterdir())
    assert {f"tables/{table.name}" for table in tables} == {*re.findall(r"\]\((tables/\w+\.md)\)", card)}
    assert all(released.record.canary in table.read_text("utf-8") for table in tables)


@pytest.mark.full
def test_the_pages_of_a_release_are_in_the_language_of_the_card(built: BuiltSample) -> None:
    chinese = BuiltSample(built.folder, load_recipe(["recipe=care_mi", "outputs.card.language=zh"]))
    release = chinese.release(dir="chinese", private=0.3)
    pages = "".join(path.read_text("utf-8") for path in release.folder.rglob("*.md"))
    english = read_texts(Path(page_texts_file).parent / "strings/en.yaml", "en")
    whole = [text for key, text in english.items() if key.split(".")[0] in ("card", "release", "refusal", "scorecard")]
    assert not [text for text in whole if len(text) > 25 and "{" not in text and text in pages]
    assert "- 数据只是示例，未经专家核对\n" in pages
    assert "**不符合**：条目由真实数据构成，而非随附的样例。（使用了随附的样例）" in pages
    assert release.record.despite is not None  # what machines read is English
    assert "the data is illustrative: no expert has checked it" in release.record.despite.refusals


@pytest.mark.push
def test_people_have_pseudonyms(released: Release, built: BuiltSample) -> None:
    votes = rows(released.folder, "votes/votes.jsonl")
    people = {str(vote["annotator"]) for vote in votes}
    assert {person for line in votes for person in line.values() if person in ("a", "b", "meta")} == set()
    assert all(name.startswith("person-") for name in people)
    assert len(people) >= 3
    public = {item.id for item in read_release(released.folder).items}
    assert {vote["item"] for vote in votes} <= public


@pytest.mark.push
def test_nothing_is_released_twice_under_one_version(built: BuiltSample, own_releases: Path) -> None:
    for version, why in (
        ("1.0.0", "nothing is published twice"),
        ("0.9.0", "not above 1.0.0"),
        ("1.1", "three numbers"),
    ):
        with pytest.raises(RecipeError, match=why):
            built.release(version, dir=str(own_releases), private=0.3, dev=4)


@pytest.mark.push
def test_a_patch_has_the_same_items_and_the_same_private_questions(built: BuiltSample, own_releases: Path) -> None:
    again = built.release("1.0.1", dir=str(own_releases), private=0.3, dev=4)
    first = own_releases / "care_mi" / "1.0.0"
    assert again.record.previous == "1.0.0"
    assert not again.record.changes.of_items
    assert again.record.canary == json.loads((first / "release.json").read_text("utf-8"))["canary"]
    for file in ("tf/test.jsonl", "oe/dev.jsonl", "votes/votes.jsonl"):
        assert (again.folder / file).read_bytes() == (first / file).read_bytes()
    old, new = (rows(folder, "private/test.jsonl") for folder in (first, again.folder))
    assert [row["id"] for row in old] == [row["id"] for row in new]
    assert not {row["label_hash"] for row in old} & {row["label_hash"] for row in new}


@pytest.mark.push
def test_private_labels_are_not_published_by_a_later_release(built: BuiltSample, own_releases: Path) -> None:
    with pytest.raises(GateClosed, match="were private before, and would be published"):
        built.release("2.0.0", despite="", dir=str(own_releases), names="none", private=0.0)


@pytest.mark.push
def test_without_its_private_folder_a_next_version_is_refused(built: BuiltSample, own_releases: Path) -> None:
    (own_releases / "care_mi" / "private" / "state.json").unlink()
    with pytest.raises(DataError, match="holds the secret of all earlier releases"):
        built.release("1.1.0", dir=str(own_releases), private=0.3)


def test_a_text_may_hold_a_line_separator(tmp_path: Path) -> None:
    rows = [{"id": "item-1", "question": "First line.\u2028Second line."}, {"id": "item-2", "question": "\u0085"}]
    file = tmp_path / "test.jsonl"
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    assert list(rows_of_file(file)) == rows


def test_a_misspelt_version_is_asked_about() -> None:
    assert split_version(["recipe=tea", "version=1.0.0"]) == ("1.0.0", ["recipe=tea"])
    assert split_version(["recipe=tea", "release.dir=a"]) == ("", ["recipe=tea", "release.dir=a"])
    with pytest.raises(RecipeError, match=r"did you mean version=1\.0\.0\?"):
        split_version(["recipe=tea", "verison=1.0.0"])
