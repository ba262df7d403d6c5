"""Projects, tasks and votes for tests of the formats: one by hand, and random ones with all that texts may hold."""

import io
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

from hypothesis import strategies as st

from benchbuilder.annotation.base import ShownParagraph, Task
from benchbuilder.annotation.database.models import Project
from benchbuilder.annotation.formats.models import ExportInput, Rater, VoteRecord
from benchbuilder.annotation.tasks import judgement_requests, paragraph_key, task_key
from benchbuilder.annotation.values import parse_value
from benchbuilder.config.spec.annotation import ReviewProjectSpec

BOOT = {"samples": 100, "level": 0.95, "seed": 1}
START = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
QUESTIONS = {
    "factual": {"order": 1, "subject": "claim", "label": "① 属实", "text": "题干是否没有事实错误？"},
    "support": {
        "order": 2, "subject": "evidence", "label": "② 支持", "text": "这一段能否支持答案？", "required": False,
    },
    "clarity": {
        "order": 3, "subject": "claim", "label": "③ 清楚", "text": "表述有多清楚？", "answer": "scale",
        "options": {1: "看不懂", 2: "勉强", 3: "清楚 <b>&\"'"},
    },
    "correct": {
        "order": 4, "subject": "claim", "label": "④ 正确性", "text": "答案有多正确？（0 到 1）", "answer": "scalar",
        "bands": {"high": {"low": 0.8, "high": 1, "text": "基本正确"}, "low": {"low": 0, "high": 0.2, "text": "错误"}},
    },
    "advice": {
        "order": 5, "subject": "claim", "label": "⑤ 建议", "text": "你会怎样改？", "answer": "text", "required": False,
    },
}  # fmt: skip
PEOPLE = (
    Rater("林医生", "A1", "annotator"),
    Rater("د. سارة", "A2", "annotator"),
    Rater("Meta, M.", "J1", "adjudicator"),
)
NASTY = (
    '=HYPERLINK("http://x","点")',
    "שלום עולם",
    "line\nline\r\nline",
    "  ",
    "'+1",
    "𠮷\u200f\u0007",
    "</Text>$x",
)


def spec_of(questions=None, **changes):
    raw = {
        "questions": QUESTIONS if questions is None else questions,
        "bootstrap": BOOT,
        "title": "Answers",
        "fields": {"question": "问题", "answer": "回答"},
        "heading": "题",
        "paragraph": "段落",
        "per_task": 2,
        "rows": {"show": {"question": "q", "answer": "a"}},
    }
    return ReviewProjectSpec.model_validate(raw | changes)


def task_of(question, answer, paragraphs=(), **rest):
    fields = (("question", question), ("answer", answer))
    key = task_key(fields)
    shown = tuple(ShownParagraph(paragraph_key(key, text), "教科书", title, text) for title, text in paragraphs)
    return Task(key, fields, shown, **rest)


def tasks_of():
    return [
        task_of("产后出血最常见的原因是什么？", "=子宫收缩乏力", [("第八章", "子宫收缩乏力最常见。"), ("", NASTY[1])],
                about=(("model", "secret-model-7b"),)),
        task_of(NASTY[2], NASTY[0], [("<i>", NASTY[6])]),
        task_of("What is $100?", NASTY[5]),
    ]  # fmt: skip


ANSWERS = {
    "factual": (1, 0),
    "support": (0, 1),
    "clarity": (3, 1),
    "correct": (0.75, 0.05),
    "advice": ("改成…", "-x\ny"),
}


def votes_of(spec, tasks, people=PEOPLE):
    """Both annotators answer everything (not always alike), the adjudicator decides what is about the first task."""
    votes = []
    questions = spec.questions_about()
    for subject, asked in judgement_requests(tasks, spec).items():
        number = [task.key for task in tasks].index(asked.task_key)
        for index, rater in enumerate(people):
            if rater.role == "adjudicator" and (number or questions[asked.question].answer == "text"):
                continue
            value = ANSWERS[asked.question][(index + number) % 2]
            note = "要再看" if index == 1 else ""
            at = START + timedelta(minutes=10 * number + index)
            votes.append(
                VoteRecord(
                    rater.person, rater.code, rater.role, subject, asked.question, value, note, at, 41.5 + number
                )
            )
    return votes


def material_of(**changes):
    spec = changes.pop("spec", None) or spec_of()
    tasks = changes.pop("tasks", None) or tasks_of()
    votes = changes.pop("votes", None)
    project = Project("answers", spec, "# 说明\n", "zh", 7)
    votes = votes_of(spec, tasks) if votes is None else votes
    return ExportInput(project, tasks, votes, **({"people": PEOPLE} | changes))


def written(writer, material, users=None):
    """What a format writes: `files` by name, and its `losses`."""
    with tempfile.TemporaryDirectory() as folder:
        export = writer(material, users, Path(folder))
        files = {name: (Path(folder) / name).read_bytes() for name in export.files}
        assert {path.name for path in Path(folder).iterdir()} == set(files)
        return SimpleNamespace(files=files, losses=export.losses)


def read(reader, name, data, material, users=None):
    """What a format reads in a file with the content `data`."""
    return reader(name, io.BytesIO(data), material, users)


def as_set(votes):
    """What a vote is, wherever it stands."""
    return sorted(
        (vote.person, vote.role, vote.subject.key, vote.subject.wording, repr(plain(vote.value)), vote.note)
        for vote in votes
    )


def plain(value):
    return float(value) if isinstance(value, int | float) else value


# --- random ones

texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=30))
words = texts.map(str.strip).filter(bool)
names = st.from_regex(r"\A[a-z][a-z0-9_]{0,8}\Z")


@st.composite
def questions(draw):
    found = {}
    for order, name in enumerate(draw(st.lists(names, min_size=1, max_size=5, unique=True))):
        answer = draw(st.sampled_from(["binary", "scale", "scalar", "text"]))
        one = {
            "order": order, "subject": draw(st.sampled_from(["claim", "evidence"])), "label": draw(words),
            "text": f"{draw(words)} {order}", "answer": answer, "required": draw(st.booleans()),
        }  # fmt: skip
        if answer == "scale":
            options = st.dictionaries(st.integers(-20, 20), texts, min_size=2, max_size=6)
            one["options"] = draw(options)
        if answer == "scalar":
            one["step"] = draw(st.sampled_from([0.05, 0.1, 0.5, 0.01]))
            one["bands"] = {"low": {"low": 0, "high": 0.3, "text": draw(words)}}
        found[name] = one
    return found


def value_of(draw, question):
    if question.answer == "text":
        return parse_value(question, draw(words))
    if question.answer == "scalar":
        return round(draw(st.floats(0, 1)), 6)
    return draw(st.sampled_from(sorted(question.options or {0: "", 1: ""})))


@st.composite
def materials(draw):
    """A project with each sort of question, tasks with up to 7 paragraphs, and votes of four people on some of it.

    A person has one remark, and one time, on a task: more is what the formats say they lose.
    """
    spec = spec_of(draw(questions()))
    pairs = draw(st.lists(st.tuples(words, texts), min_size=1, max_size=3, unique=True))
    paragraphs = st.lists(st.tuples(texts, texts), max_size=7, unique_by=lambda pair: pair[1])
    tasks = [task_of(question, answer, draw(paragraphs)) for question, answer in pairs]
    people = (*PEOPLE, Rater(draw(words), "A12", "annotator"))
    asked = judgement_requests(tasks, spec)
    votes, notes = [], {}
    for subject, what in asked.items():
        for rater in draw(st.lists(st.sampled_from(people), max_size=3, unique=True)):
            note = notes.setdefault((rater.code, what.task_key), draw(st.one_of(st.just(""), words)))
            value = value_of(draw, spec.questions_about()[what.question])
            at = START + timedelta(seconds=len(what.task_key) + int(what.task_key[-3:], 16))
            votes.append(
                VoteRecord(rater.person, rater.code, rater.role, subject, what.question, value, note, at, 12.0)
            )
    return ExportInput(Project("random", spec, "", "zh", 3), tasks, votes, people)
