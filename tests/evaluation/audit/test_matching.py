"""Finding a benchmark in corpora: what counts as equal, coverage, answers nearby, and the formats of documents."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wiki_dump import Written, multistream

from benchbuilder.core import Claim, DataError, Item, LengthUnit, Origin, ProducedBy, convert_script
from benchbuilder.evaluation.audit.against import match_corpora, read_documents, write_matches
from benchbuilder.evaluation.audit.matching.matches import RUN, BenchmarkText, Document, Matcher, TextMatch
from benchbuilder.evaluation.audit.matching.units import unit_text

QUESTION = "孕妇，28岁，妊娠32周，血压160/110mmHg，尿蛋白（++），预防子痫发作首选的药物是什么？"
ANSWER = "预防子痫发作首选的药物是硫酸镁。"
WRONG = "预防子痫发作首选的药物是地西泮。"


def item(question: str = QUESTION, answer: str = ANSWER, wrong: str = WRONG) -> Item[Claim]:
    payload = Claim(type="oe", question=question, answer=answer, answer_wrong=wrong)
    return Item[Claim].build(
        origin=Origin(file="f", line=1), produced_by=ProducedBy(rule="test"), language="zh", partition="medqa",
        payload=payload, candidate="c", fact="f", reviewed=False,
    )  # fmt: skip


def matched(texts: list[str], documents: list[str], unit: LengthUnit = "characters") -> list[TextMatch]:
    wanted = [BenchmarkText(n, f"i{n}", "question", text, "") for n, text in enumerate(texts)]
    return Matcher(wanted, unit).find([Document(f"d{n}", text) for n, text in enumerate(documents)])


def full_width(text: str) -> str:
    return "".join(chr(ord(mark) + 0xFEE0) if "!" <= mark <= "~" else mark for mark in text)


def test_a_copied_item_is_found_in_another_script_with_full_width_digits_and_other_marks(tmp_path: Path):
    copy = convert_script(full_width(QUESTION.replace("，", "、 ")), "s2t")
    assert copy != QUESTION
    before = "題庫Ⅱ㎎。"
    corpus = tmp_path / "exam.txt"
    corpus.write_text(f"別的內容，與此無關。\n{before}{copy}　答案：硫酸鎂\n", encoding="utf-8")
    found = match_corpora([item()], [str(corpus)], "characters", tmp_path, "zh")
    question, answer = found.matches
    assert (question.text.field, question.finding, question.coverage) == ("question", "copied", 1.0)
    assert question.start == len(before)
    assert question.with_answer
    assert "血壓" in question.excerpt
    assert (answer.text.field, answer.run) == ("answer", 12)
    assert found.counts() == {"copied": 1}
    assert found.counts("answer") == {"contained": 1}
    assert (found.documents, found.with_answer()) == (2, 1)
    lines = write_matches(found, tmp_path).read_text(encoding="utf-8").splitlines()
    assert lines[0] == "item,field,document,start,run,coverage,with_answer,excerpt,finding"
    assert lines[1].startswith(f"{item().id},question,exam,{len(before)},")


def test_the_answer_must_be_near_the_match():
    for gap, near in ((150, True), (600, False)):
        text = BenchmarkText(0, "i", "question", QUESTION, "硫酸镁")
        (match,) = Matcher([text], "characters").find([Document("d", f"{QUESTION}{'无关' * (gap // 2)}硫酸镁")])
        assert match.with_answer is near


def test_words_are_compared_as_words():
    question = "Which of the following drugs is the first choice to prevent seizures in severe pre-eclampsia today?"
    copy = question.upper().replace(" ", "  ").replace("?", "!")
    (match,) = matched([question], ["Nothing here at all.", f"See: {copy}"], "words")
    assert (match.document, match.coverage, match.run) == ("d1", 1.0, 17)
    joined = question.replace(" ", "")
    assert matched([question], [joined], "words") == []


def test_a_part_of_a_text_has_its_coverage_and_its_longest_run():
    text = "一二三四五六七八九十甲乙丙丁戊己庚辛壬癸"
    (match,) = matched([text], [f"前文{text[:14]}后文{text[8:]}"])
    assert (match.run, match.start, match.finding) == (14, 2, "contained")
    assert match.coverage == pytest.approx((5 + 3) / 11)
    assert matched([text], [text[:9]]) == []
    assert [match.finding for match in matched([text], [text[:10]])] == ["run"]


def test_no_run_crosses_documents_and_the_best_documents_are_kept():
    text = "一二三四五六七八九十甲乙丙丁戊己庚辛壬癸"
    assert matched([text], [text[:9], text[9:18]]) == []
    found = matched([text], [*[text[:12]] * 8, text])
    assert len(found) == 5
    assert found[0].document == "d8"


def test_what_many_items_share_is_not_looked_for():
    frame = "根据上述材料判断下列说法是否正确请回答"
    texts = [frame + "".join(chr(0x5000 + 40 * n + place) for place in range(20)) for n in range(30)]
    assert matched(texts, [frame]) == []
    assert {match.text.id for match in matched(texts, [texts[3]])} == {"i3"}


LETTERS = st.text("甲乙丙Ab1，。 ", max_size=60)


@pytest.mark.push
@settings(max_examples=60)
@given(st.lists(LETTERS, min_size=1, max_size=4), st.lists(LETTERS, max_size=4), st.data())
def test_coverage_is_that_of_a_plain_search(texts: list[str], documents: list[str], data: st.DataObject):
    documents = [*documents, *(data.draw(LETTERS) + text for text in texts)]

    def runs(text: str) -> list[str]:
        plain = unit_text(text, "characters").compared()
        return [plain[at : at + RUN] for at in range(len(plain) - RUN + 1)]

    found = {(match.text.id, match.document): match.coverage for match in matched(texts, documents)}
    for number, text in enumerate(texts):
        own = runs(text)
        wanted = {
            f"d{place}": sum(run in set(runs(document)) for run in own) / len(own)
            for place, document in enumerate(documents)
            if own
        }
        best = sorted((share for share in wanted.values() if share), reverse=True)[:5]
        given_shares = [share for (name, _), share in found.items() if name == f"i{number}"]
        assert sorted(given_shares, reverse=True) == pytest.approx(best)


def test_documents_of_every_format(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "lines.txt").write_text(f"{'长' * 300}\n{'句' * 300}\n", encoding="utf-8")
    (tmp_path / "a" / "wrapped.md").write_text("short\nlines\n\nanother\nblock\n", encoding="utf-8")
    (tmp_path / "a" / "rows.jsonl").write_text(json.dumps({"text": "row", "q": "asked"}) + "\n", encoding="utf-8")
    (tmp_path / "a" / "cells.csv").write_text("q,text\nx,cell\n", encoding="utf-8")
    (tmp_path / "a" / "left.docx").write_text("not read", encoding="utf-8")
    pq.write_table(pa.table({"text": ["column"], "id": [1]}), tmp_path / "a" / "b.parquet")
    found = [document.text for document in read_documents("a", tmp_path, "zh")]
    assert sorted(text[:3] for text in found) == sorted(["长长长", "句句句", "sho", "ano", "row", "cel", "col"])
    assert [d.text for d in read_documents("a/rows.jsonl:q", tmp_path, "zh")] == ["asked"]
    (tmp_path / "a" / "more.jsonl").write_text('{"text": "row"}\n', encoding="utf-8")
    empty = list[str]()
    assert [d.text for d in read_documents("a/*.jsonl:q", tmp_path, "zh", empty)] == ["asked"]
    assert empty == ["more.jsonl"]
    assert [d.text for d in read_documents("a/*.parquet:text", tmp_path, "zh")] == ["column"]


def test_the_pages_of_a_dump_are_documents(tmp_path: Path):
    pytest.importorskip("mwparserfromhell")
    body = "預防[[子癇]]發作首選的'''藥物'''是[[硫酸鎂]]。"
    (tmp_path / "wiki.xml.bz2").write_bytes(multistream([Written("子癇", body), Written("他", "別的。")])[0])
    rows = [item(question="预防子痫发作首选的药物是什么？")]
    found = match_corpora(rows, ["wiki.xml.bz2"], "characters", tmp_path, "zh")
    assert {match.text.field: (match.finding, match.with_answer) for match in found.matches} == {
        "question": ("contained", True), "answer": ("copied", True),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("gone.txt", "is missing"),
        ("rows.jsonl:nothing", "no text in the column 'nothing'"),
        ("rows.docx", "the format of"),
        ("empty", "no file"),
    ],
)
def test_a_path_that_cannot_be_read_is_reported(tmp_path: Path, path: str, says: str):
    (tmp_path / "empty").mkdir()
    (tmp_path / "rows.docx").write_text("x", encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text('{"text": "row"}\n', encoding="utf-8")
    with pytest.raises(DataError) as caught:
        list(read_documents(path, tmp_path, "zh"))
    assert says in f"{caught.value} {caught.value.why}"
