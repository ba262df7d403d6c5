"""Errata: reports, decisions and the version that they need."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from built_sample import BuiltSample

import benchbuilder as bb
from benchbuilder.config import LoadedRecipe, load_recipe
from benchbuilder.core import BenchbuilderError, DataError, RecipeError
from benchbuilder.publishing import (
    AddedErrata,
    DecidedErratum,
    DecisionRequest,
    ErratumReport,
    KnownItem,
    Release,
    add_errata,
    check_release,
    decide_erratum,
    list_errata,
    read_release,
    read_reports,
)
from benchbuilder.publishing.errata import decisions, reports
from benchbuilder.publishing.errata.decisions import _check_fix
from benchbuilder.publishing.errata.release import next_version
from benchbuilder.publishing.release.item_changes import find_item_changes, read_changes, read_withdrawn, replaced_items
from benchbuilder.publishing.release.items import BenchmarkToShare, shared_item
from benchbuilder.publishing.release.record import parse_version
from benchbuilder.steps import Corrections, Erratum, ItemTexts, read_errata


def texts(question: str, expected: str = "yes") -> ItemTexts:
    kind = "tf" if expected else "oe"
    return ItemTexts(type=kind, expected=expected, question=question, answer="It is.", answer_wrong="It is not.")


def known(name: str, question: str, expected: str = "yes", family: str = "", version: str = "1.0.0") -> KnownItem:
    return KnownItem(f"item-{name}", "", version, family, texts(question, expected))


MARS = known("aa11", "Is Mars a planet?", family="mars")
STAR = known("aa12", "Is Mars a star?", "no", family="mars")
OPEN = known("bb20", "What is Mars?", "", family="mars")
PLUTO = known("cc30", "Is Pluto a planet?")
OLD = replace(known("dd40", "Is Ceres a planet?", version="0.9.0"), older=("0.8.0",))
ITEMS = [MARS, STAR, OPEN, PLUTO, OLD]


class Log:
    """A log of errata of a recipe whose items are `ITEMS`."""

    def __init__(self, folder: Path, loaded: LoadedRecipe) -> None:
        self.folder, self.loaded, self.file = folder, loaded, folder / "errata.jsonl"

    def add(self, item: str, kind: str = "wrong_key", text: str = "no", **more: str) -> AddedErrata:
        return add_errata(self.loaded, self.folder, [ErratumReport(item, kind, text, **more)])

    def decide(
        self, item: str, decision: Any, *, texts: Mapping[str, str] | None = None, again: bool = False,
        swap: bool = False,
    ) -> DecidedErratum:  # fmt: skip
        one = next(e for e in read_errata(self.file).values() if e.item == item)
        request = DecisionRequest(one.id, decision, "Chen", "the atlas", texts or {}, swap=swap, again=again)
        return decide_erratum(self.loaded, self.folder, request)


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LoadedRecipe]:
    folder = tmp_path_factory.mktemp("errata")
    settings = ["recipe=care_mi", f"paths.errata={folder / 'errata.jsonl'}", f"release.dir={folder / 'releases'}"]
    return folder, load_recipe(settings)


@pytest.fixture
def log(recipe: tuple[Path, LoadedRecipe], monkeypatch: pytest.MonkeyPatch) -> Log:
    made = Log(*recipe)
    made.file.unlink(missing_ok=True)
    for module in (reports, decisions):
        monkeypatch.setattr(module, "known_items", lambda *_: ITEMS)
    return made


@pytest.mark.push
def test_an_item_is_found_by_the_beginning_of_its_id_and_a_report_counts_once(log: Log) -> None:
    (erratum,) = log.add("cc", who="Li").added
    assert (erratum.item, erratum.version, erratum.state, erratum.before) == (PLUTO.id, "1.0.0", "open", PLUTO.texts)
    again = log.add("item-cc30", who="Wang")
    assert not again.added
    assert again.known == (erratum,)
    assert len(log.file.read_text("utf-8").splitlines()) == 1


@pytest.mark.push
@pytest.mark.parametrize(
    ("report", "says"),
    [
        (("zz", "wrong_key", "x"), "no item is called 'zz'"),
        (("", "wrong_key", "x"), "no item is called ''"),
        (("aa1", "wrong_key", "x"), "2 items begin with 'aa1'"),
        (("cc30", "wrong", "x"), "'wrong' is no kind of error"),
        (("cc30", "text", " \x07\r\n"), "a report says what is wrong"),
        (("cc30", "text", "x" * 1_000_000), "at most 10000 characters"),
        (("cc30", "text", "x", "y" * 1000), "a name has at most"),
        (("cc30", "text", "x", "", "soon"), "a date has the form"),
        (("cc30", "text", "x", "", "", "0.9.0"), "no item of version 0.9.0"),
    ],
)
def test_a_report_that_cannot_be_used_is_refused_and_nothing_is_written(
    log: Log, report: tuple[str, ...], says: str
) -> None:
    with pytest.raises(RecipeError) as error:
        add_errata(log.loaded, log.folder, [ErratumReport(*report)])
    assert says in str(error.value)
    assert log.file.read_bytes() == b""


@pytest.mark.push
def test_a_report_of_an_older_version_names_it(log: Log) -> None:
    assert [log.add("dd40", text=f"seen in {v}", version=v).added[0].version for v in ("", "0.8.0")] == [
        "0.9.0",
        "0.8.0",
    ]


@pytest.mark.push
def test_a_form_is_read_whatever_saved_it_and_all_of_it_or_nothing_is_added(log: Log) -> None:
    form = log.folder / "form.csv"
    form.write_bytes(
        '\ufeffItem,Kind,Text,mail\r\ncc30,text,"two\r\nlines\x1b[2J",x@y\r\naa11,leak,says so,\r\n'.encode()
    )
    first, second = add_errata(log.loaded, log.folder, read_reports(form), file=form).added
    assert (first.text, second.item) == ("two\nlines\N{REPLACEMENT CHARACTER}[2J", MARS.id)
    before = log.file.read_bytes()
    form.write_text("item,kind,text\ncc30,text,fine\nzz,text,bad\ncc30,bad,bad\n", "utf-8")
    with pytest.raises(DataError) as error:
        add_errata(log.loaded, log.folder, read_reports(form), file=form)
    assert "form.csv:3: no item is called 'zz'" in str(error.value)
    assert "form.csv:4: 'bad' is no kind of error" in str(error.value)
    assert log.file.read_bytes() == before
    form.write_text("item,kind\ncc30,text\n", "utf-8")
    with pytest.raises(DataError, match="a report has no 'text'"):
        read_reports(form)


@pytest.mark.push
def test_many_at_once_lose_nothing_and_former_bytes_stay(log: Log) -> None:
    log.add("cc30", text="first")
    first = log.file.read_bytes().replace(b"\n", b"\r\n")
    log.file.write_bytes(first.rstrip())
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: log.add("cc30", text=f"report {number}"), range(12)))
    assert log.file.read_bytes().startswith(first.rstrip() + b"\n")
    assert len(read_errata(log.file)) == 13


@pytest.mark.push
def test_a_log_that_was_saved_in_another_encoding_gets_no_line(log: Log) -> None:
    log.add("cc30", text="错误")
    saved = log.file.read_text("utf-8").encode("gb18030")
    log.file.write_bytes(saved)
    with pytest.raises(DataError, match="is not in UTF-8"):
        log.add("cc30", text="more")
    assert log.file.read_bytes() == saved


@pytest.mark.push
def test_a_key_is_fixed_by_exchanging_the_answers(log: Log) -> None:
    log.add("cc30")
    made = log.decide(PLUTO.id, "fix_key", swap=True)
    after = made.erratum.after
    assert after is not None
    assert (after.expected, after.answer, after.answer_wrong) == ("no", "It is not.", "It is.")
    assert (made.erratum.state, made.erratum.by) == ("decided", "Chen")
    with pytest.raises(RecipeError, match="was fixed by erratum-"):
        log.add("cc30", text="still wrong")


@pytest.mark.push
def test_a_withdrawn_item_names_the_family_that_falls_and_takes_no_more_reports(log: Log) -> None:
    log.add("aa11")
    assert log.decide(MARS.id, "withdraw").family == (STAR, OPEN)
    for name, how in (("aa11", "was withdrawn by erratum-"), ("bb20", "was withdrawn with its family by erratum-")):
        with pytest.raises(RecipeError, match=how):
            log.add(name, text="more")


@pytest.mark.push
@pytest.mark.parametrize(
    ("decision", "new", "says"),
    [
        ("fix_key", {}, "the fix changes nothing"),
        ("fix_key", {"expected": "no"}, "with the other verdict, the right answer is another one"),
        ("fix_key", {"expected": "maybe"}, "a verdict is yes or no"),
        ("fix_key", {"question": "x"}, "fix_key cannot set 'question'"),
        ("fix_key", {"answer": "Yes, it is."}, "the key stays as it is"),
        ("fix_text", {"qestion": "x"}, "did you mean 'question'"),
        ("fix_text", {"question": "  "}, "the question would be empty"),
        ("fix_text", {"question": "a\x1bb"}, "control characters"),
        ("fix_text", {"question": "x" * 1_000_000}, "1000000 characters"),
        ("fix_text", {"answer": "It is not."}, "would be the same"),
        ("fix_text", {"question": "Is Mars a planet?"}, "would be the same as item-aa11"),
        ("withdraw", {"question": "x"}, "withdraw changes no text"),
    ],
)
def test_a_fix_that_is_none_is_refused(log: Log, decision: str, new: dict[str, str], says: str) -> None:
    log.add("cc30")
    before = log.file.read_bytes()
    with pytest.raises(RecipeError) as error:
        log.decide(PLUTO.id, decision, texts=new)
    assert says in str(error.value)
    assert log.file.read_bytes() == before


@pytest.mark.push
def test_the_answers_of_an_open_question_are_its_key(log: Log) -> None:
    log.add("bb20")
    with pytest.raises(RecipeError, match="are the key of an open question"):
        log.decide(OPEN.id, "fix_text", texts={"answer": "A planet."})
    after = log.decide(OPEN.id, "fix_key", texts={"answer": "A planet."}).erratum.after
    assert after is not None
    assert after.key != OPEN.texts.key


def test_an_item_without_a_wrong_answer_can_be_corrected_too() -> None:
    before = ItemTexts(type="oe", expected="", question="What does folate prevent?", answer="a; b", answer_wrong="")
    _check_fix(before, before.model_copy(update={"answer": "a; c"}), "fix_key")
    with pytest.raises(RecipeError, match="the answer would be empty"):
        _check_fix(before, before.model_copy(update={"answer": " "}), "fix_key")


@pytest.mark.push
def test_two_decisions_on_one_erratum_or_one_item_contradict_each_other(log: Log) -> None:
    first = log.add("cc30", text="one").added[0]
    second = log.add("cc30", text="two").added[0]

    def decide(erratum: Erratum, decision: Any, again: bool = False) -> DecidedErratum:
        request = DecisionRequest(erratum.id[:12], decision, "Chen", "why", again=again)
        return decide_erratum(log.loaded, log.folder, request)

    decide(first, "withdraw")
    for erratum, says in ((first, "was decided on"), (second, f"was withdrawn by {first.id}")):
        with pytest.raises(RecipeError, match=says):
            decide(erratum, "withdraw")
    decide(second, "reject")
    decide(first, "reject", again=True)
    decide(second, "withdraw", again=True)
    assert [e.state for e in list_errata(log.loaded, log.folder)] == [
        "decided" if e.id == second.id else "rejected" for e in list_errata(log.loaded, log.folder)
    ]
    for named, says in (("erratum-", "2 errata begin with"), ("zzzz", "no erratum is called"), ("e", "no erratum")):
        with pytest.raises(RecipeError, match=says):
            decide_erratum(log.loaded, log.folder, DecisionRequest(named, "reject", "Chen", "why"))
    for by, reason, says in (("", "why", "needs a person"), ("Chen", " \n", "needs a reason")):
        with pytest.raises(RecipeError, match=says):
            decide_erratum(log.loaded, log.folder, DecisionRequest(first.id, "reject", by, reason))


@pytest.mark.push
def test_a_release_that_was_killed_before_the_log_was_written_is_noted_later(log: Log) -> None:
    erratum = log.add("cc30").added[0]
    log.decide(PLUTO.id, "withdraw")
    releases = log.folder / "releases" / "care_mi"
    note = releases / "private" / "1.1.0" / "errata.json"
    note.parent.mkdir(parents=True)
    note.write_text(json.dumps([erratum.id]), "utf-8")
    assert list_errata(log.loaded, log.folder)[0].state == "decided", "there is no such release yet"
    (releases / "1.1.0").mkdir()
    assert [(e.state, e.released) for e in list_errata(log.loaded, log.folder)] == [("released", "1.1.0")]
    with pytest.raises(RecipeError, match=r"was released in 1\.1\.0"):
        log.decide(PLUTO.id, "reject", again=True)
    (releases / "1.1.0").rmdir()


@pytest.mark.push
def test_a_recipe_without_a_log_says_what_to_do() -> None:
    with pytest.raises(BenchbuilderError, match="names no log of errata"):
        list_errata(load_recipe(["recipe=care_mi"]), Path())


def benchmark(*items: KnownItem) -> BenchmarkToShare:
    rows = [shared_item({"id": i.id, "family": i.family, **i.texts.model_dump()}, "", "test") for i in items]
    return BenchmarkToShare("x", "X", "", "", "en", "", Path(), tuple(rows))


def decided(item: KnownItem, after: ItemTexts | None) -> Erratum:
    return Erratum(id=f"erratum-{item.id}", item=item.id, when="2026-01-31", kind="text", text="from Li", who="Li",
                   state="decided", decision="fix_text" if after else "withdraw", by="Chen", reason="the atlas",
                   before=item.texts, after=after)  # fmt: skip


def test_every_item_that_is_gone_or_new_has_a_row_with_its_reason() -> None:
    fixed = texts("Is Pluto a dwarf planet?")
    errata = {e.id: e for e in (decided(MARS, None), decided(PLUTO, fixed))}
    now = benchmark(KnownItem("item-ee50", "", "", "", fixed), known("ff60", "Is Eris a planet?"))
    changes = find_item_changes(benchmark(*ITEMS).items, now.items, errata, "1.1.0", 7)
    rows = {(row.item, row.field): row for row in changes.rows}
    assert rows["item-ee50", "id"].before == PLUTO.id
    assert rows["item-ee50", "question"].after == fixed.question
    assert [rows[item.id, "item"].reason for item in (MARS, STAR, OLD)] == [
        "the atlas", "family incomplete: the atlas", "not built any more: the recipe or its sources changed",
    ]  # fmt: skip
    assert rows["item-ff60", "item"].after == "added"
    assert {item.id for item, _ in changes.withdrawn} == {MARS.id, STAR.id, OPEN.id}
    assert len(changes.same_key) == len(changes.fixed) == 1
    assert replaced_items(benchmark(*ITEMS).items, now.items, Corrections(errata.values())) == {"item-ee50": PLUTO.id}


def test_the_next_version() -> None:
    found = [str(next_version(parse_version("1.2.3"), level)) for level in ("patch", "minor", "major")]
    assert found == ["1.2.4", "1.3.0", "2.0.0"]


@pytest.mark.full
def test_decisions_are_built_and_released(
    released: Release, built: BuiltSample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next version loses two families and no other item; it names neither people nor private items."""
    folder = shutil.copytree(built.folder, tmp_path / "project")
    monkeypatch.chdir(folder)
    settings = ["paths.errata=errata.jsonl", "release.dir=shared", "release.private=0.3", "release.dev=4"]
    errata = bb.errata("care_mi", settings)
    withheld = json.loads((released.folder / "private" / "test.jsonl").read_text("utf-8").split("\n")[0])
    before = read_release(released.folder).items
    shown = before[0]
    for item in (shown.id, withheld["id"]):
        (one,) = errata.add(item, "wrong_key", "a long report", who="Zhuang Wu").added
        errata.decide(one.id, "withdraw", by="Zhuang Wu", reason="the guideline of 2026")
    with pytest.raises(DataError, match="has no items of this recipe"):
        errata.release(despite="a trial")
    bb.build("care_mi", settings)
    made = errata.release(despite="a trial")
    assert (made.level, made.release.record.version) == ("minor", "1.1.0")
    first, second = errata.ls()
    assert {first.released, second.released} == {"1.1.0"}
    everything = "\n".join(file.read_text("utf-8") for file in made.release.files)
    secret = next(one for one in (first, second) if one.item != shown.id)
    for text in ("Zhuang Wu", "a long report", secret.id, secret.item, withheld["full_question"]):
        assert text not in everything
    new = made.release.folder
    gone = {item.id for item in before if item.family == shown.family}
    assert {item.id for item in read_release(new).items} == {item.id for item in before} - gone
    assert {row["id"] for row in read_withdrawn(new)} == {row[0] for row in read_changes(new)} == gone
    assert not made.release.record.changes.added
    assert check_release(new) == []
    with pytest.raises(RecipeError, match="nothing changed since"):
        errata.release()
