"""Sheets whose rows no longer show what their keys stand for."""

from dataclasses import replace

import pytest
from files_spec import files_spec
from filled_sheets import fill_open_cells

from benchbuilder.annotation.backends.sheets import SheetsBackend
from benchbuilder.annotation.base import ShownParagraph, Task
from benchbuilder.annotation.sheets.sheets import csv_bytes, sheet_columns, sheet_grid, sheet_rows
from benchbuilder.annotation.tasks import judgement_requests
from benchbuilder.core.errors import DataError

SPEC = files_spec()
TEXTS = ("产后出血的原因是甲吗？", "第一行。\r\n  =1+1 ", "=子痫前期", " '=子痫前期")
AT = {column.marker: index for index, column in enumerate(sheet_columns(SPEC, SPEC.labels))}
KEY, TEXT = AT["key"], AT["text"]


def claim(n, text="", paragraphs=None):
    key = f"{n:019x}"
    passages = paragraphs or (f"-关于{n}的第一段。", f"关于{n}的第二段。")
    return Task(
        f"c{key}0", (("text", text or TEXTS[n]), ("right", f"是甲{n}。"), ("wrong", f"是乙{n}。")),
        tuple(ShownParagraph(f"p{key}{k}", "教科书", "", passage) for k, passage in enumerate(passages)),
    )  # fmt: skip


CLAIMS = [claim(n) for n in range(len(TEXTS))]


def collect(folder, claims, change, shown_now=None):
    """What comes back when a filled all with 1 and somebody let `change` work on the rows."""
    asked = judgement_requests(claims, SPEC)
    rows = fill_open_cells(sheet_rows(claims, asked, SPEC, SPEC.labels, annotator="a", seed=3), lambda subject: 1)
    head, *lines = sheet_grid(sheet_columns(SPEC, SPEC.labels), rows)
    change(lines)
    (folder / "filled").mkdir()
    (folder / "filled" / "a.csv").write_bytes(csv_bytes([head, *lines]))
    now = judgement_requests(claims if shown_now is None else shown_now, SPEC)
    return asked, SheetsBackend(SPEC).collect(now.keys(), folder)


def turn_keys(lines):
    """Sort all columns but the one of keys: here each key comes to stand one row below."""
    keys = [line[KEY] for line in lines]
    for line, moved in zip(lines, [keys[-1], *keys[:-1]], strict=True):
        line[KEY] = moved


def swap_claims(lines):
    first, second = [line for line in lines if line[KEY].startswith("c")][:2]
    first[KEY], second[KEY] = second[KEY], first[KEY]


def nothing(lines):
    pass


def test_columns_sorted_without_their_keys_are_an_error(tmp_path):
    with pytest.raises(DataError) as caught:
        collect(tmp_path, CLAIMS, turn_keys)
    error = caught.value
    assert (
        error.what == "the annotation sheets cannot be used: 12 problems"
    )  # each row once, however many votes it holds
    place = f"{tmp_path.name}/filled/a.csv"
    assert error.where == f"{place}:2"
    assert f"{place}:13: the row shows the text of p" in error.why
    assert "but its key is c" in error.why


def test_two_claims_that_changed_their_keys_are_an_error(tmp_path):
    """Their votes would bind without a trace: both rows answer the same questions."""
    with pytest.raises(DataError, match="2 problems"):
        collect(tmp_path, CLAIMS, swap_claims)


@pytest.mark.parametrize("shift", range(6))
def test_whole_rows_may_be_sorted_and_texts_altered(tmp_path, shift):
    def rework(lines):
        lines.sort(key=lambda line: line[TEXT])
        for number, line in enumerate(lines, start=shift):
            text = line[TEXT]
            line[TEXT] = ["#NAME?", text[:5], text.replace("\r\n", "\n"), f"  {text}\n", "", text][number % 6]

    asked, votes = collect(tmp_path, CLAIMS, rework)
    assert votes.by_subject == {subject: {"a": 1} for subject in asked}


def test_the_same_text_under_several_keys_is_no_alarm(tmp_path):
    """A question with two wrong answers, and a paragraph that was found for all claims."""
    claims = [claim(n, "同一问？", ("同一段。", f"第{n}段。")) for n in range(3)]
    asked, votes = collect(tmp_path, claims, nothing)
    assert votes.by_subject.keys() == asked.keys()


def test_votes_on_a_changed_answer_are_stale_and_no_alarm(tmp_path):
    """The text is that of another key, but the key is none that is shown now."""
    other = claim(9, CLAIMS[0].text, [p.text for p in CLAIMS[0].paragraphs])
    first = replace(other, fields=(other.fields[0], ("right", "是丁。"), other.fields[2]))
    _, votes = collect(tmp_path, CLAIMS, nothing, [first, *CLAIMS[1:]])
    asked = judgement_requests(CLAIMS[:1], SPEC)
    assert votes.stale == {f"{tmp_path.name}/filled/a.csv": len(asked)}


def test_sheets_without_texts_are_taken_by_their_keys(tmp_path):
    def bare(lines):
        swap_claims(lines)
        for line in lines:
            line[TEXT] = ""

    asked, votes = collect(tmp_path, CLAIMS, bare)
    assert votes.by_subject.keys() == asked.keys()
