import pytest
from hypothesis import given
from hypothesis import strategies as st
from preparation_rows import choice, make, triple

from benchbuilder.errors import DataError
from benchbuilder.records.fact import Choice, Fact, Triple
from benchbuilder.records.fates import Dropped, Kept
from benchbuilder.records.table import Table

FIELDS = {"context": "payload.context", "question": "payload.question", "answer": "payload.answer"}


def gathered(rows, row_class, **spec):
    return make("deduplicate", **spec).gather({"each": Table.of(rows, row_class)})


def test_the_first_row_stays_and_the_drop_names_it():
    first = choice("诊断是", line=3)
    again = choice("诊断是 ", line=9)
    result = gathered([first, again], Fact[Choice], fields=FIELDS)
    assert result.fates == [
        (first.id, [Kept(first)]),
        (again.id, [Dropped("duplicate", f"same context, question, answer as {first.id} (medqa.jsonl:3)")]),
    ]


def test_the_preferred_partition_stays_wherever_it_comes():
    rows = [choice("诊断是", partition="other"), choice("诊断是", partition="mlecqa"), choice("诊断是")]
    result = gathered(rows, Fact[Choice], fields=FIELDS, prefer=["medqa", "mlecqa"])
    assert [isinstance(fates[0], Kept) for _, fates in result.fates] == [False, False, True]


def test_equal_questions_with_other_answers_are_not_the_same():
    rows = [choice("诊断是", "肺炎", line=1), choice("诊断是", "贫血", line=2)]
    assert all(isinstance(f[0], Kept) for _, f in gathered(rows, Fact[Choice], fields=FIELDS).fates)


def test_the_letter_of_the_answer_can_be_the_key():
    rows = [
        choice("诊断是", "肺炎", options=("肺炎", "贫血"), line=1),
        choice("诊断是", "湿疹", options=("湿疹", "贫血"), line=2),
    ]
    fields = {"question": "payload.question", "answer": "payload.answer_key"}
    assert [type(f[0]) for _, f in gathered(rows, Fact[Choice], fields=fields).fates] == [Kept, Dropped]


def test_a_missing_column_is_named():
    with pytest.raises(DataError, match=r"payload\.question"):
        gathered([triple("甲", "是", "乙")], Fact[Triple], fields={"question": "payload.question"})


@given(
    st.lists(st.tuples(st.sampled_from("甲乙"), st.sampled_from("丙丁"), st.sampled_from(["bios", "kg"])), max_size=9)
)
def test_every_row_has_one_fate_and_one_of_each_stays(values):
    rows = [triple(h, "是", t, line=n, partition=p, head_type=str(n)) for n, (h, t, p) in enumerate(values, 1)]
    fields = {"head": "payload.head", "tail": "payload.tail"}
    result = gathered(rows, Fact[Triple], fields=fields, prefer=["kg"])
    assert [row_id for row_id, _ in result.fates] == [row.id for row in rows]
    kept = [f[0].row.payload for _, f in result.fates if isinstance(f[0], Kept)]
    assert sorted((p.head, p.tail) for p in kept) == sorted({(h, t) for h, t, _ in values})
