"""Sheets whose rows no longer show what their keys stand for."""

import csv

import pytest
from judged_world import World, candidate, paragraphs

from benchbuilder.errors import DataError
from benchbuilder.votes.produce import write_votes
from benchbuilder.votes.sheets import csv_bytes


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def yes(person, row, paragraph, question):
    return 1


def change_sheet(world, change, person="a"):
    """Have `change` work on the header and the rows of a filled sheet, as somebody in a spreadsheet program."""
    path = world.folder / "annotation" / "votes" / f"{person}.csv"
    with path.open(encoding="utf-8-sig", newline="") as stream:
        head, *lines = list(csv.reader(stream))
    markers = [title.rpartition("[")[2].rstrip("]") for title in head]
    change({marker: index for index, marker in enumerate(markers)}, lines)
    path.write_bytes(csv_bytes([head, *lines]))


def turn_keys(at, lines):
    """Sort all columns but the one of keys: here each key comes to stand one row below."""
    keys = [line[at["key"]] for line in lines]
    for line, moved in zip(lines, [keys[-1], *keys[:-1]], strict=True):
        line[at["key"]] = moved


def test_columns_sorted_without_their_keys_are_an_error(world):
    world.votes(yes)
    change_sheet(world, turn_keys)
    with pytest.raises(DataError) as caught:
        world.run()
    error = caught.value
    assert error.what == "25 problems in the sheets of judgements"  # each row once, whatever it holds
    assert error.where == "annotation/votes/a.csv:2"
    assert "annotation/votes/a.csv:3: the row shows the text of p" in error.why
    assert "but its key is c" in error.why


def test_two_claims_that_changed_their_keys_are_an_error(world):
    """Votes would bind without a trace: both rows hold judgements of the same questions."""
    world.votes(yes)

    def swap(at, lines):
        first, second = [line for line in lines if line[at["key"]].startswith("c")][:2]
        first[at["key"]], second[at["key"]] = second[at["key"]], first[at["key"]]

    change_sheet(world, swap)
    with pytest.raises(DataError, match="2 problems"):
        world.run()


def test_whole_rows_may_be_sorted_and_texts_altered(world):
    long = "第一行。\r\n  =1+1 "
    world.candidates[0] = candidate(0, text=long)
    world.evidence[:4] = paragraphs(world.candidates[0], texts=["-甲。", "'=乙。", " '=丙。", "=丙。"])
    world.votes(yes)

    def rework(at, lines):
        lines.sort(key=lambda line: line[at["text"]])
        for number, line in enumerate(lines):
            text = line[at["text"]]
            line[at["text"]] = ["#NAME?", text[:5], text.replace("\r\n", "\n"), f"  {text}\n", "", text][number % 6]

    change_sheet(world, rework)
    assert len(world.run()[0]) == 5


def test_the_same_text_under_several_keys_is_no_alarm(world):
    """A question with two wrong answers, and a paragraph that was found for all candidates."""
    world.candidates[1] = candidate(0, answer_wrong="产后出血是丁。", of="question-9", parents=("question-9",))
    same = ["同一段。", "第二段。", "第三段。"]
    world.evidence = [row for c in world.candidates for row in paragraphs(c, texts=same)]
    world.votes(yes)
    assert len(world.run()[0]) == 5


def test_votes_on_a_changed_answer_are_stale_and_no_alarm(world):
    world.votes(yes)
    before = world.candidates[0]
    world.candidates[0] = candidate(0, answer_wrong="产后出血是丁。")
    texts = [row.text for row in world.evidence if row.of == before.id]
    world.evidence[:4] = paragraphs(world.candidates[0], texts=texts)
    assert world.waiting().why == "18 votes are about something that is no longer shown and do not count"


def test_sheets_without_texts_hold_no_text_to_compare(world):
    folder = world.folder / "annotation" / "votes"
    write_votes(world.candidates, world.evidence, world.spec, yes, folder, seed=5, texts=False)
    change_sheet(world, lambda at, lines: lines.reverse())
    assert len(world.run()[0]) == 5
