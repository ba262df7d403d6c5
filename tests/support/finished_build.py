"""A finished build as the engine hands it to exporters, made up but of realistic shape and any size."""

import random
from collections import Counter
from functools import cache
from pathlib import Path

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Choice, Claim, Fact, Item, Option, Support, Triple
from benchbuilder.core.records.roles import Candidate, Evidence, Question, Statement
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.exporters.base import FinishedBuild, StepCounts
from benchbuilder.models.base import Receipt

SOURCES = ("bios", "cpubmed", "medqa", "mlecqa")
BASES = {"textbooks": 254, "encyclopaedia": 33}
WORDS = ("妊娠", "产褥感染", "子痫前期", "母乳", "新生儿黄疸", "早产", "胎盘早剥", "妊娠期糖尿病", "羊水过少", "缩宫素")
SILENT = ("脐带先露", "会阴侧切", "未足月胎膜早破")

RECEIPTS = (
    Receipt("ask", "glad-7b", "https://models.example/v1", 46, 20, 12345, 4567, 345, 4, 3, 400, 0.0123, "2026-01-02",
            {"complete": 40, "truncated": 5, "refused": 1}),
    Receipt("state", "own", "", 6, 0, 1234, 567, 0, 0, 0, 0, 0.0, "", {"complete": 6}),
)  # fmt: skip
NO_PRICE = Receipt("state", "new", "https://x.example", 1, 0, 10, 2, 0, 0, 0, 0, None, "", {"complete": 1})

_PEOPLE = ["初产妇，28岁，妊娠39周", "经产妇，31岁，妊娠36周", "新生儿，生后2天", "孕妇，35岁，妊娠24周，空腹血糖偏高"]
_SIGNS = ["阴道流血1小时", "皮肤黄染，精神好，吃奶佳", "头痛伴视物模糊", "下腹胀痛并有少量流液", "胎动减少半天"]
_ASKED = [
    ("首选的处理措施是", "卧床休息并监测", "立即剖宫产", "是多少"),
    ("最可能的诊断是", "胎盘早剥", "前置胎盘", "是什么"),
    ("预防子痫发作首选的药物是", "硫酸镁", "地西泮", "是什么"),
    ("每日补充叶酸的剂量为", "0.4mg", "5mg", "是多少"),
    ("诊断妊娠期糖尿病首选的检查是", "口服葡萄糖耐量试验", "尿糖测定", "是什么"),
]
_TRIPLES = [
    ("子痫前期", "临床表现", "血压升高"),
    ("产褥感染", "临床表现", "发热"),
    ("妊娠期糖尿病", "实验室检查", "葡萄糖耐量试验"),
    ("胎盘早剥", "临床表现", "阴道流血"),
    ("新生儿黄疸", "辅助治疗", "光照疗法"),
    ("早产", "高危因素", "多胎妊娠"),
]
_PARAGRAPHS = [
    "子痫前期多在妊娠20周以后出现，以血压升高为主要表现，可伴有蛋白尿。硫酸镁是预防和控制子痫发作的首选药物。",
    "胎盘早剥是指胎盘在胎儿娩出前部分或全部从子宫壁剥离，典型表现为阴道流血、腹痛和子宫压痛。",
    "妊娠24至28周应做75g口服葡萄糖耐量试验，任何一点血糖达到或超过界值即可诊断妊娠期糖尿病。",
    "备孕期和妊娠早期每日补充叶酸0.4mg，可以降低胎儿神经管缺陷的风险。",
    "新生儿生理性黄疸多在生后2至3天出现，一般情况良好，足月儿多在2周内消退；血清胆红素明显升高时行光照疗法。",
]


def _made(rule: str) -> ProducedBy:
    return ProducedBy(rule=rule, version="1")


class Sample:
    """Rows of every step for `count` candidates, the same for the same count."""

    def __init__(self, count: int) -> None:
        self.random = random.Random(count)
        self.triples: list[Fact[Triple]] = []
        self.choices: list[Fact[Choice]] = []
        self.statements: list[Statement] = []
        self.questions: list[Question] = []
        self.candidates: list[Candidate] = []
        self.evidence: list[Evidence] = []
        for index in range(count):
            source = self.random.choices(SOURCES, (2, 4, 6, 4))[0]
            origin = Origin(file=f"sample/{source}.jsonl", line=index + 1)
            (self._triple if source in SOURCES[:2] else self._choice)(index, source, origin)

    def _triple(self, index: int, source: str, origin: Origin) -> None:
        head, relation, tail = self.random.choice(_TRIPLES)
        fact = Fact[Triple].build(
            origin=origin, produced_by=_made("triples"), language="zh", partition=source,
            payload=Triple(head=f"{head}（{index}）", relation=relation, tail=tail),
        )  # fmt: skip
        self.triples.append(fact)
        text = f"{fact.payload.head}的{relation}包括{tail}。"
        self._ask(fact, text, f"{fact.payload.head}的{relation}不包括{tail}。", "", None)

    def _choice(self, index: int, source: str, origin: Origin) -> None:
        asked, right, wrong, word = self.random.choice(_ASKED)
        context = f"第{index}号病例。"
        if self.random.random() < 0.6:
            context = f"{self.random.choice(_PEOPLE)}，{self.random.choice(_SIGNS)}，{context}"
        options = (Option(key="A", text=wrong), Option(key="B", text=right))
        fact = Fact[Choice].build(
            origin=origin, produced_by=_made("multiple_choice"), language="zh", partition=source,
            payload=Choice(context=context, question=asked, options=options, answer_key="B", answer=right),
        )  # fmt: skip
        self.choices.append(fact)
        open_ended = f"{asked.rstrip('是为')}{word}？" if self.random.random() < 0.45 else None
        self._ask(fact, f"{asked}{right}。", f"{asked}{wrong}。", context, open_ended)

    def _ask(self, fact: Fact, right: str, wrong: str, context: str, open_ended: str | None) -> None:
        true, false = (
            Statement.child(fact, produced_by=_made(f"state/{name}"), slot=name, polarity=name, text=text,
                            joined="template", context=context, fact=fact.id)
            for name, text in (("true", right), ("false", wrong))
        )  # fmt: skip
        self.statements += [true, false]
        verdict = self.random.choice(("yes", "no"))
        text = open_ended or (right if verdict == "yes" else wrong).rstrip("。") + "吗？"
        question = Question.child(
            true if verdict == "yes" or open_ended else false, produced_by=_made("ask"), text=text, context=context,
            type="oe" if open_ended else "tf", expected="" if open_ended else verdict, fact=fact.id,
        )  # fmt: skip
        self.questions.append(question)
        candidate = Candidate.child(
            question, produced_by=_made("assemble"), type=question.type, expected=question.expected, context=context,
            question=text, answer=right, answer_wrong=wrong, fact=fact.id, checks=("differs",),
        )  # fmt: skip
        self.candidates.append(candidate)
        for base in ("textbooks", "encyclopaedia"):
            for rank in range(1, self.random.choice((2, 3, 4))):
                paragraph = self.random.choice(_PARAGRAPHS)
                self.evidence.append(
                    Evidence.child(
                        candidate, produced_by=_made("bm25"), slot=f"{base}:{rank}", passage=f"passage-{base}-{rank}",
                        base=base, document=f"{base}-{rank}", title="产科学" if base == "textbooks" else "子痫前期",
                        text=paragraph, score=9.5 / rank, rank=rank,
                    )
                )  # fmt: skip

    def items(self, reviewed: bool) -> list[Item]:
        """Every other candidate as an item, with two to five of its paragraphs."""
        found: dict[str, list[Evidence]] = {}
        for row in self.evidence:
            found.setdefault(row.of, []).append(row)
        made = []
        for candidate in self.candidates:
            if reviewed and self.random.random() < 0.5:
                continue
            kept = found[candidate.id][: self.random.choice((2, 3, 3, 4, 5))]
            support = tuple(Support(**{n: getattr(r, n) for n in Support.model_fields}) for r in kept)
            claim = Claim(
                **{n: getattr(candidate, n) for n in ("type", "expected", "context", "question", "answer")},
                answer_wrong=candidate.answer_wrong,
                evidence=support,
            )
            made.append(
                Item[Claim].child(
                    candidate, *kept, produced_by=_made("annotate/reviewed"), payload=claim, candidate=candidate.id,
                    fact=candidate.fact, reviewed=reviewed,
                )
            )  # fmt: skip
        return made


def _account(step, kind, role, rows, inputs=None, counts=None, units=None, tallies=None, notes=None, reasons=None):
    return StepCounts(step, kind, role, rows, inputs or {}, counts or {}, units or {}, tallies or {}, notes or {},
                       reasons or {})  # fmt: skip


def _source(name: str, kind: str, role: str, read: int) -> StepCounts:
    bad, twice = 3, 5
    file = f"sample/{name}.jsonl"
    return _account(
        name, kind, role, read,
        counts={(name, "kept", ""): read, (name, "dropped", "malformed"): bad,
                (name, "dropped", "duplicate"): twice},
        units={(file, "kept", ""): read, (file, "dropped", "malformed"): bad,
               (file, "dropped", "duplicate"): twice,
               **({("sample/bios/terms.txt", "auxiliary", "used"): 120} if name == "bios" else {})},
        reasons={"malformed": "The line does not have the shape of the file.",
                 "duplicate": "The same unit stands earlier in the source."},
    )  # fmt: skip


def _step(step, kind, role, inputs, rows, lost=(), tallies=None, notes=None):
    """Books of a step that keeps `rows` and loses (outcome, reason, sentence, share) of what it keeps."""
    kept = Counter(row.partition for row in rows)
    counts = {(name, "kept", ""): n for name, n in kept.items()}
    for outcome, reason, _, share in lost:
        counts |= {(name, outcome, reason): max(1, int(n * share)) for name, n in kept.items()}
    reasons = {reason: sentence for _, reason, sentence, _ in lost}
    return _account(step, kind, role, len(rows), inputs, counts, {}, tallies, notes, reasons)


def _measure(n: int, percent: float, kappa: float, ac1: float) -> dict:
    def of(value: float) -> dict:
        return {"value": value, "low": max(value - 0.05, -1), "high": min(value + 0.04, 1)}

    return {"n": n, "percent": of(percent), "kappa": of(kappa), "ac1": of(ac1), "alpha": of(kappa)}


def notes(sample: Sample) -> dict:
    """Notes as the annotation step writes them."""
    total = Counter(row.partition for row in sample.candidates)
    shares = {0: 0.9, 1: 0.83, 2: 0.68, 3: 0.5, 4: 0.27, 5: 0.11}
    survivors = []
    for minimum, share in shares.items():
        by = {name: int(n * share) for name, n in sorted(total.items())}
        kept = sum(by.values())
        survivors.append({"min_evidence": minimum, "kept": kept, "by_partition": by,
                          "without": {"single": kept + 4, "accurate": kept + 9}})  # fmt: skip
    n = len(sample.candidates)
    fluent = _measure(n, 1.0, 1.0, 1.0)
    fluent["kappa"] = fluent["alpha"] = {"undefined": "both annotators always gave the same answer"}
    questions = {
        "single": ("答案唯一", "该问题是否至多只有一个正确答案？", 1),
        "accurate": ("答案准确", "答案是否属实，并直接回答了问题？", 1),
        "supports": ("段落支持", "段落中是否含有可以得出答案的内容？", 1),
        "fluent": ("语句通顺", "语句是否通顺？", None),
    }
    return {
        "reviewed": True,
        "agreement": {"single": _measure(n, 0.94, 0.31, 0.93), "accurate": _measure(n, 0.88, 0.74, 0.79),
                      "supports": _measure(n * 4, 0.81, 0.61, 0.64), "fluent": fluent},
        "questions": {
            name: {"label": label, "text": text, "subject": "claim", "required": required, "yes": int(n * 0.9),
                   "judged": n}
            for name, (label, text, required) in questions.items()
        },
        "thresholds": survivors,
        "min_evidence": 3,
        "gates": [{"gate": "single", "dropped": 14, "kept": n - 14}, {"gate": "accurate", "dropped": 22,
                  "kept": n - 36}, {"gate": "min_evidence", "dropped": 100, "kept": n - 136}],
        "votes": {"annotators": {"anna": n * 6, "bo": n * 6, "chen": 211}, "unanimous": n * 6 - 211,
                  "adjudicated": 211, "unneeded": 0, "stale": 12, "stale_by_file": {}},
        "comments": [],
    }  # fmt: skip


def recipe(word_list: Path | None = None, **card) -> dict:
    """A resolved recipe as plain data."""
    said = {
        "title": "Maternal and infant care: an example",
        "summary": "True/false and open-ended questions on pregnancy, birth and infant care, with evidence.",
        "licence": "CC-BY-4.0", "correct_as_of": "2025-03-01", "intended_use": ["Testing long-form answers of models."],
        "not_for": ["Clinical use of any kind.", "Other target groups."], "limitations": ["Medical knowledge ages."],
        "personal_data": "None.", "citation": "", "deviations": ["TF questions are balanced."], "illustrative": True,
        **card,
    }  # fmt: skip
    source = {"language": "zh", "licence": "", "title": "", "url": "", "citation": ""}
    return {
        "schema": 1,
        "name": "care_mi",
        "language": "zh",
        "seed": 11,
        "variant": None,
        "items": "items",
        "sources": {
            **{name: {**source, "kind": "triples"} for name in (*SOURCES, *BASES)},
            "medqa": {**source, "title": "MedQA", "licence": "MIT", "url": "https://example.org/medqa"},
            "mlecqa": {**source, "title": "MLEC|QA", "url": "javascript:alert(1)", "citation": "@misc{m}"},
        },
        "steps": {
            "topic": {
                "kind": "topic",
                "words": {"path": "words.txt", "resolved_path": str(word_list)} if word_list else "gone.txt",
            }
        },
        "annotation": {"kind": "sheets", "votes": {"path": "sample/votes", "resolved_path": "sample/votes"}},
        "outputs": {"items_jsonl": {"kind": "jsonl", "step": None, "file": "items.jsonl"}},
        "card": said,
    }


@cache
def _rows(count: int, reviewed: bool) -> tuple[Sample, dict[str, Table]]:
    """The rows of a build and its tables: the same for every build of this size."""
    sample = Sample(count)
    return sample, {
        "topic": Table.of(sample.choices, Fact[Choice]),
        "state": Table.of(sample.statements, Statement),
        "ask": Table.of(sample.questions, Question),
        "candidates": Table.of(sample.candidates, Candidate),
        "evidence": Table.of(sample.evidence, Evidence),
        "items": Table.of(sample.items(reviewed), Item[Claim]),
    }


def finished(count: int = 60, state: str = "done", reviewed: bool = True, **more) -> FinishedBuild:
    """A build of `count` candidates; `state` ``waiting`` leaves the items out."""
    sample, tables = _rows(count, reviewed)
    hits = {("words", s, word): 3 + 7 * i + len(word) for s in SOURCES for i, word in enumerate(WORDS)}
    facts = [*sample.triples, *sample.choices]
    kept = Counter(row.partition for row in facts)
    read = {name: kept[name] + max(1, int(kept[name] * 0.4)) for name in SOURCES}
    items = tables["items"]
    accounts = [
        *(_source(name, "triples", "fact", read[name]) for name in SOURCES),
        *(_source(name, "corpus", "passage", n) for name, n in BASES.items()),
        _step("topic", "topic", "fact", {"each": SOURCES}, facts,
              [("dropped", "off_topic", "The texts hold no word of the word list.", 0.4)], hits),
        _step("state", "state", "statement", {"each": ("topic",)}, sample.statements,
              [("dropped", "needs_model", "No rule can do it and the model is `none`.", 0.2),
               ("not_applicable", "other_branch", "Rows of another payload.", 0.1)]),
        _step("ask", "ask_tf", "question", {"each": ("state",)}, sample.questions,
              [("dropped", "leaks", "The question holds the <answer>.", 0.05),
               ("dropped", "too_long", "The question is too long.", 0.08),
               ("dropped", "two_sentences", "The question is not one sentence.", 0.03),
               ("dropped", "no_seam", "There is no seam.", 0.02)]),
        _step("candidates", "assemble", "candidate", {"each": ("ask",)}, sample.candidates,
              [("dropped", "no_wrong_answer", "The fact has no false statement.", 0.04)]),
        _step("evidence", "retrieve", "evidence", {"each": ("candidates",)}, sample.evidence),
    ]  # fmt: skip
    if state == "done":
        lost = [("dropped", "too_little_evidence", "Fewer paragraphs than asked for support it.", 0.8),
                ("dropped", "not_accurate", "People found it inaccurate.", 0.2)]  # fmt: skip
        noted = notes(sample) if reviewed else {"reviewed": False}
        accounts.append(_step("items", "annotate", "item", {"each": ("candidates",), "evidence": ("evidence",)}, items,
                              lost if reviewed else (), None, noted))  # fmt: skip
    return FinishedBuild(
        tables={name: table for name, table in tables.items() if name != "items" or state == "done"},
        step_counts=tuple(accounts),
        recipe=recipe(**more),
        recipe_yaml="name: care_mi\nlanguage: zh\ncard: {title: <b>bold</b>}\n",
        ledger=Path("ledger.tsv"),
        items="items",
        state=state,
        waiting="" if state == "done" else "412 judgements are missing\n  next:  fill the packets, then run again",
    )
