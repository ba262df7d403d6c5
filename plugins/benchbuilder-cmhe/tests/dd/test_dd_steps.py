from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchbuilder.config.spec.base import FileRef
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.payloads import Choice, Fact, Option, Triple
from benchbuilder.models.base import Reply
from benchbuilder.models.providers.replay import ReplaySpec
from benchbuilder.testing import check_kind, check_payload, check_source, check_step

from benchbuilder_cmhe.dd.case import Diagnosis, PatientCase
from benchbuilder_cmhe.dd.chat import ConsultationChat, IntakeForm
from benchbuilder_cmhe.dd.chats import Chats, ChatsSpec
from benchbuilder_cmhe.dd.code_case import CodeCase, CodeCaseSpec
from benchbuilder_cmhe.dd.draft_form import DraftForm, DraftFormSpec
from benchbuilder_cmhe.dd.exam_case import ExamCase, ExamCaseSpec
from benchbuilder_cmhe.dd.write_case import WriteCase, WriteCaseSpec

from .dd_sample import PROMPTS, ROW, SAMPLE, context, step

MODEL = ReplaySpec(kind="replay", replies=FileRef(path="x"), name="m")


def row(payload: Any) -> Any:
    return Fact[type(payload)].build(payload=payload, partition="p", **ROW)


def table(*payloads: Any) -> Table[Any]:
    rows = [row(payload) for payload in payloads]
    return Table.of(rows, type(rows[0]))


def question(text: str, answer: str = "过敏性鼻炎", context: str = "") -> Choice:
    options = (Option(key="A", text=answer), Option(key="B", text="痛风"))
    return Choice(context=context, question=text, options=options, answer_key="A", answer=answer)


def exam(**changes: Any) -> ExamCase:
    return ExamCase(ExamCaseSpec.model_validate(step("dd_exam_cases", **changes)), context())


def outcome(opened_step: Any, payload: Any, replies: tuple[Reply, ...] = ()) -> Any:
    opened_step.open({})
    if not hasattr(opened_step, "converse"):
        (found,) = opened_step.map(row(payload), {})
        return found
    talk = opened_step.converse(row(payload), {})
    try:
        next(talk)
        for reply in replies:
            talk.send(reply)
    except StopIteration as end:
        return end.value[0]
    raise AssertionError("it asks for more")


@pytest.mark.parametrize("cls", [PatientCase, ConsultationChat, IntakeForm])
def test_payloads(cls: Any) -> None:
    check_payload(cls)


def test_kinds_are_known_by_their_names() -> None:
    for cls in (CodeCase, DraftForm, ExamCase, WriteCase):
        check_kind("step", cls.kind, cls)


# --- examinations


@pytest.mark.parametrize(
    ("text", "answer", "reason"),
    [
        ("男，19岁。每年春季打喷嚏。最可能的诊断是（　　）。", "过敏性鼻炎", ""),
        ("1．患者，女，30岁。反复喷嚏，应考虑为（ ）", "过敏性鼻炎", ""),
        ("患儿，4岁，眼睑水肿，手术后出现，该病人的诊断为（　　）。", "过敏性鼻炎", ""),
        ("打喷嚏最常见的病是（　　）。", "过敏性鼻炎", "no_patient"),
        ("男，19岁。春季打喷嚏，首选的药物是（　　）。", "氯雷他定", "not_asked"),
        ("男，19岁。为明确诊断，首选的检查是（　　）。", "鼻镜", "not_asked"),
        ("男，19岁。该患者最有助于诊断的检查是（　　）。", "鼻镜", "asks_otherwise"),
        ("男，19岁。下列诊断不考虑的是（　　）。", "痛风", "asks_otherwise"),
        ("男，19岁，患过敏性鼻炎3年，目前的诊断是（　　）。", "过敏性鼻炎", "leaks_answer"),
    ],
)
def test_which_questions_are_cases(text: str, answer: str, reason: str) -> None:
    found = outcome(exam(), question(text, answer))
    assert (found.reason if isinstance(found, Dropped) else "") == reason


def test_a_case_is_the_question_without_blank_and_number() -> None:
    before = "女，22岁。月经量多2年，血红蛋白7.8g/dl。1．乏力。"
    found = outcome(exam(), question("2．最可能的诊断是（　　）。", context=before))
    assert isinstance(found, Kept)
    assert found.row.payload.text == "女，22岁。月经量多2年，血红蛋白7.8g/dl。乏力。最可能的诊断是"
    assert found.row.partition == "exam"
    assert found.row.payload.diagnoses == (Diagnosis(name="过敏性鼻炎"),)


def test_the_contract_of_exam_cases() -> None:
    texts = ["男，19岁。打喷嚏。最可能的诊断是（　　）。", "女，20岁，应诊断为（ ）", "最可能的诊断是（ ）"]
    shard = check_step(exam, {"each": table(*map(question, texts))})
    assert len(shard.rows) == 2


# --- consultations


def test_chats_are_read_turn_by_turn(tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    lines = [
        '{"turns": [{"speaker": "甲", "text": "鼻子痒"}, {"speaker": "乙", "text": " "},'
        ' {"speaker": "乙", "text": "几天了"}]}',
        '{"turns": "[\\"只有文字\\", \\"两句\\"]"}',
        '{"turns": [{"speaker": "甲", "text": "一句"}]}',
        '{"turns": [{"speaker": "甲"}]}',
        '{"turns": {"speaker": "甲"}}',
        '{"turns": []}',
        '{"turns": "不是"}',
    ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    raw = {"kind": "chats", "path": str(file), "turns": "turns", "speaker": "speaker", "fewest_turns": 2}
    units = check_source(Chats(ChatsSpec.model_validate(raw), "chats", "zh"))
    outcomes = [unit.outcome for unit in units]
    assert [getattr(found, "reason", "") for found in outcomes] == [
        "", "", "too_few_turns", "malformed", "malformed", "missing_field", "malformed",
    ]  # fmt: skip
    first = outcomes[0]
    assert isinstance(first, Kept)
    assert first.row.payload.lines() == "甲: 鼻子痒\n乙: 几天了"


def draft(**changes: Any) -> DraftForm:
    return DraftForm(DraftFormSpec.model_validate(step("dd_drafts", **changes)), context())


ASKED: dict[str, Any] = {
    "model": MODEL, "prompt": {"path": "zh/cmhe_dd_form.j2", "resolved_path": str(PROMPTS / "zh/cmhe_dd_form.j2")},
    "sampling": {"temperature": 0.7},
}  # fmt: skip
FILLED = (
    '{"age": "24岁", "sex": "男", "symptoms": "喷嚏", "examination": "", "history": "", "complaint": "喷嚏2月",'
    ' "diagnosis": "过敏性鼻炎"}'
)


def test_a_form_is_empty_without_a_model_and_takes_any_payload() -> None:
    found = outcome(draft(), ConsultationChat.examples()[0])
    assert isinstance(found, Kept)
    assert found.row.payload == IntakeForm(chat="patient: My toe hurts.\ndoctor: Since when?")
    assert "orbits" not in outcome(draft(), Triple.examples()[0]).row.payload.chat
    check_step(draft, {"each": table(*ConsultationChat.examples())})


def test_a_model_fills_the_seven_fields() -> None:
    found = outcome(draft(**ASKED), ConsultationChat.examples()[0], (Reply(f"```json\n{FILLED}\n```", "complete"),))
    assert found.row.payload.fields()["diagnosis"] == "过敏性鼻炎"
    broken = Reply('{"age": "24岁"}', "complete")
    assert outcome(draft(**ASKED), ConsultationChat.examples()[0], (broken, broken)).reason == "reply_malformed"
    nothing = Reply(FILLED.replace("24岁", "").replace("男", "").replace("喷嚏2月", "").replace("喷嚏", "")
                    .replace("过敏性鼻炎", ""), "complete")  # fmt: skip
    assert outcome(draft(**ASKED), ConsultationChat.examples()[0], (nothing, nothing)).reason == "reply_empty"
    assert (
        outcome(draft(**ASKED), ConsultationChat.examples()[0], (Reply("", "truncated"), broken)).reason
        == "reply_malformed"
    )


FORM = IntakeForm(chat="x", age="24岁", sex="男", symptoms="喷嚏、鼻痒", examination="体温36.8℃", complaint="流涕2个月",
            diagnosis="过敏性鼻炎、痛风")  # fmt: skip


def write(**changes: Any) -> WriteCase:
    return WriteCase(WriteCaseSpec.model_validate(step("dd_written", **changes)), context())


def test_a_template_writes_what_the_form_says_and_no_diagnosis() -> None:
    found = outcome(write(), FORM)
    assert found.row.payload.text == "患者男，24岁。主诉：流涕2个月。症状：喷嚏、鼻痒。检查：体温36.8℃。"
    assert [diagnosis.name for diagnosis in found.row.payload.diagnoses] == ["过敏性鼻炎", "痛风"]
    assert found.row.partition == "chat"
    assert outcome(write(), FORM.model_copy(update={"diagnosis": " "})).reason == "no_diagnosis"
    assert outcome(write(), FORM.model_copy(update={"complaint": "过敏性 鼻炎2年"})).reason == "leaks_answer"
    assert outcome(write(min_chars=200), FORM).reason == "too_short"
    check_step(write, {"each": table(FORM, IntakeForm(chat="y"))})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("一名24岁男性流涕2个月，伴喷嚏、鼻痒，体温36.8℃。", ""),
        ("一名男性流涕2个月，伴喷嚏、鼻痒，体温36.8℃。", "lost_number"),
        ("一名24岁男性流涕2个月，伴喷嚏、鼻痒，体温36.8℃，脉搏80次。", "added_number"),
        ("一名24岁男性流涕2个月，体温36.8℃，为过敏性鼻炎。", "leaks_answer"),
        ("短", "too_short"),
    ],
)
def test_what_is_taken_of_a_model(text: str, reason: str) -> None:
    replies = (Reply(text, "complete"),) * (1 if not reason else 2)
    made = write(strategy="model", model=MODEL, sampling={"temperature": 0.5})
    found = outcome(made, FORM, replies)
    assert getattr(found, "reason", "") == reason


# --- codes


def code(**changes: Any) -> CodeCase:
    return CodeCase(CodeCaseSpec.model_validate(step("dd_codes", **changes)), context())


def case(*names: str) -> PatientCase:
    return PatientCase(text="病情。", diagnoses=tuple(Diagnosis(name=name) for name in names), setting="exam")


def codes(opened_step: CodeCase, *names: str, replies: tuple[Reply, ...] = ()) -> Any:
    found = outcome(opened_step, case(*names), replies)
    if isinstance(found, Dropped):
        return found.reason
    return [(one.name, one.code, one.how, one.category) for one in found.row.payload.diagnoses]


def test_every_diagnosis_gets_its_code_and_how_it_was_found() -> None:
    assert codes(code(), "过敏性鼻炎", "胃癌") == [
        ("过敏性鼻炎", "J30.400", "alias", "J30"), ("胃癌", "C16.900", "alias", "C16"),
    ]  # fmt: skip
    assert codes(code(), "慢性支气管炎合并肺炎") == [
        ("慢性支气管炎", "J42.x00", "exact", "J42"), ("肺炎", "J18.900", "exact", "J18"),
    ]  # fmt: skip
    assert codes(code(), "颈肋压迫征") == "no_code"
    assert codes(code(), "发热") == "no_disease"
    assert codes(code(), "痛风", "颈肋压迫征") == "no_code"
    assert codes(code(without="drop_diagnosis"), "痛风", "颈肋压迫征") == [("痛风", "M10.900", "exact", "M10")]
    assert codes(code(without="keep"), "颈肋压迫征") == [("颈肋压迫征", "", "", "")]


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("鼻痒、流清涕。", "过敏性鼻炎", ""),
        ("患高 血压病10年，突发偏瘫。", "高血压、脑出血", "leaks_answer"),  # one of several
        ("变应性鼻炎多年，鼻痒。", "过敏性鼻炎", "leaks_answer"),  # by another name
        ("有支气管炎，今咳嗽、发热。", "肺炎", ""),
    ],
)
def test_a_case_that_names_a_diagnosis_by_any_of_its_names_goes(text: str, name: str, reason: str) -> None:
    payload = PatientCase(text=text, diagnoses=(Diagnosis(name=name),), setting="exam")
    found = outcome(code(), payload)
    assert (found.reason if isinstance(found, Dropped) else "") == reason


def test_a_model_is_asked_about_what_no_list_has() -> None:
    asking = {"model": MODEL, "sampling": {"temperature": 0.5}}
    good, wrong, none = (Reply(f'{{"code": "{said}"}}', "complete") for said in ("G54.000", "ZZZ", ""))
    assert codes(code(**asking), "颈肋压迫征", replies=(good,)) == [("颈肋压迫征", "G54.000", "model", "G54")]
    assert codes(code(**asking), "颈肋压迫征", replies=(wrong, good)) == [("颈肋压迫征", "G54.000", "model", "G54")]
    assert codes(code(**asking), "颈肋压迫征", replies=(wrong, wrong)) == "unknown_code"
    assert codes(code(**asking), "颈肋压迫征", replies=(none, none)) == "no_code"
    assert codes(code(**asking), "痛风") == [("痛风", "M10.900", "exact", "M10")]  # nobody is asked


def test_the_contract_of_coding() -> None:
    shard = check_step(code, {"each": table(case("痛风"), case("发热"), case("胃癌", "高血压"), case("乙"))})
    assert len(shard.rows) == 2


def test_the_sample_is_read() -> None:
    raw = {"kind": "chats", "path": str(SAMPLE / "chats.jsonl"), "turns": "turns", "speaker": "speaker",
           "fewest_turns": 3}  # fmt: skip
    units = check_source(Chats(ChatsSpec.model_validate(raw), "chats", "zh"))
    assert [getattr(unit.outcome, "reason", "") for unit in units].count("too_few_turns") == 1
