"""A finished evaluation as the engine hands it to exporters: made up, of realistic shape, exact or large."""

import random
from pathlib import Path

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Claim, Item, Support
from benchbuilder.core.records.roles import Answer, Rating, Score
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.exporters.base import FinishedBuild, StepCounts
from benchbuilder.models.base import Receipt

DRAWN = {"samples": 400, "level": 0.95, "seed": 7}
PUBLISHED = Path(__file__).parents[3] / "recipes" / "published" / "care_mi.yaml"
MADE = ProducedBy(rule="made_up")
BASELINES = {"always_agree": "constant", "always_disagree": "constant", "people": "people"}


def item(number, *, type_="tf", expected="yes", source="bios", fact="", question=""):
    support = Support(passage=f"p{number}", base="textbooks", document="产科学", title="妊娠期", score=1.5, rank=1,
                      text="孕期每日补充叶酸0.4mg可以降低胎儿神经管缺陷的风险。")  # fmt: skip
    claim = Claim(
        type=type_, expected=expected if type_ == "tf" else "",
        question=question or f"第{number}题：孕妇需要补充叶酸吗？",
        answer=f"第{number}题的正确回答。", answer_wrong=f"第{number}题的错误回答。", evidence=(support,),
    )  # fmt: skip
    return Item[Claim].build(
        origin=Origin(file="benchmark.jsonl", line=number + 1), produced_by=MADE, language="zh", partition=source,
        payload=claim, candidate=f"c{number}", fact=fact or f"fact-{number}", reviewed=True,
    )  # fmt: skip


class Evaluation:
    """Collects answers and scores; `finished` gives what an exporter gets."""

    def __init__(self, items):
        self.items = list(items)
        self.answers, self.scores = {}, {}

    def answer(self, model, row, text="是的。", outcome="complete"):
        made = Answer.child(row, produced_by=MADE, model=model, text=text, outcome=outcome)
        self.answers.setdefault(model, {})[row.id] = made
        return made

    def score(self, scorer, aspect, model, row, value, *, label="", ratings=None):
        given = tuple(Rating(rater=who, value=v) for who, v in (ratings or {}).items())
        if given:
            value = sum(rating.value for rating in given) / len(given)
        made = Score.child(
            self.answers[model][row.id], produced_by=MADE, slot=aspect, item=row.id, model=model, scorer=scorer,
            aspect=aspect, value=value, label=label, ratings=given,
        )  # fmt: skip
        self.scores.setdefault((scorer, model), []).append(made)

    def verdict(self, model, row, said):
        """`said` is yes, no, invalid, refused or missing."""
        if said in ("yes", "no"):
            right = said == row.payload.expected
            self.score("verdict", "verdict", model, row, float(right), label="right" if right else "wrong")
        else:
            self.score("verdict", "verdict", model, row, None, label=said)

    def finished(self, *, receipts=(), published=None, accounts=(), judges=("correctness_judge",), **card):
        tables = {"benchmark": Table.of(self.items, Item[Claim])}
        tables |= {f"answer.{m}": Table.of(rows.values(), Answer) for m, rows in self.answers.items()}
        tables |= {f"{s}.{m}": Table.of(rows, Score) for (s, m), rows in self.scores.items()}
        said = {"title": "Maternal care", "summary": "", "licence": "CC-BY-4.0", "correct_as_of": "2025-03-01",
                "illustrative": True, **card}  # fmt: skip
        recipe = {
            "name": "care_mi",
            "language": "zh",
            "seed": 1,
            "sources": {},
            "card": said,
            "evaluation": {
                "bootstrap": DRAWN,
                "published": {"path": str(published), "resolved_path": str(published)} if published else None,
                "baselines": {name: {"kind": kind} for name, kind in BASELINES.items()},
                "scorers": {"people_rate": {"kind": "ratings"}, "verdict": {"kind": "verdict"}},
                "judges": {name: {"kind": "tfidf_ridge"} for name in judges},
            },
        }
        books = StepCounts("benchmark", "benchmark", "item", len(self.items), {}, {}, {}, {}, {}, {})
        return FinishedBuild(
            tables=tables, step_counts=(books, *accounts), recipe=recipe, recipe_yaml="name: care_mi\n",
            ledger=Path("ledger.tsv"), items="benchmark", state="done", receipts=tuple(receipts),
        )  # fmt: skip


def losing(step, reason, sentence, number):
    """Books of a scoring step that dropped `number` answers."""
    return StepCounts(step, "score", "score", 0, {"each": ("answer.glad",)}, {("bios", "dropped", reason): number},
                       {}, {}, {}, {reason: sentence})  # fmt: skip


RECEIPTS = (
    Receipt("answer.glad", "glad-7b", "https://models.example/v1", 40, 0, 4000, 8000, 0, 0, 0, 0, 0.02, "2026-01-02",
            {"complete": 39, "refused": 1}),
    Receipt("judge_correctness_judge.glad", "big-judge", "https://models.example/v1", 40, 0, 9000, 400, 0, 0, 0, 0,
            0.03, "2026-01-02", {"complete": 40}),
    Receipt("answer.calm", "calm-<7b>", "", 40, 0, 4000, 5000, 0, 0, 0, 0, None, "", {"complete": 40}),
)  # fmt: skip

SAYS = ["是的，应当补充叶酸。", "不是，没有这个必要。", "抱歉，我无法回答医学问题。", "这要看具体情况，请遵医嘱。"]
SKILL = {"glad": 0.85, "calm": 0.7, "brisk": 0.55, "shy_and_very_long_named_model": 0.35}


def large(count=80, seed=3, **more):
    """Four models, two rules and people on `count` items of four sources: ratings for some, a judge for all."""
    draw = random.Random(seed)
    sources = ("bios", "cpubmed", "medqa", "国考题库")
    rows = [
        item(n, type_="oe" if n % 3 == 0 else "tf", expected=draw.choice(("yes", "no", "yes")),
             source=draw.choices(sources, (1, 2, 5, 4))[0], fact=f"fact-{n // 2}")
        for n in range(count)
    ]  # fmt: skip
    made = Evaluation(rows)
    hard = {row.id: draw.random() * 0.35 for row in rows}
    for model, skill in SKILL.items():
        for n, row in enumerate(rows):
            good = skill - hard[row.id] + draw.uniform(-0.25, 0.25)
            refused = draw.random() < 0.03
            text = (
                SAYS[2]
                if refused
                else draw.choice(SAYS[:2]) + ("因为<b>" if n % 9 == 0 else "因为") + "指南。" * (n % 5)
            )
            made.answer(model, row, text, "refused" if refused else "complete")
            value = 0.0 if refused else min(1.0, max(0.0, good))
            if n % 2 == 0:
                for aspect, shift in (("correctness", 0), ("interpretability", 0.1)):
                    raters = {who: round(min(1, max(0, value + shift + draw.uniform(-0.1, 0.1))), 2)
                              for who in ("安医生", "Bo", "陈老师")}  # fmt: skip
                    made.score("people_rate", aspect, model, row, None, ratings=raters)
            made.score("judge_correctness_judge", "correctness", model, row, min(1, value * 0.9 + 0.08))
            made.score("similarity", "chrf_difference", model, row, min(1, value * 0.4 + draw.random() * 0.5))
            if row.payload.type == "tf":
                right = draw.random() < 0.35 + skill * 0.6
                other = "no" if row.payload.expected == "yes" else "yes"
                said = "refused" if refused else "invalid" if draw.random() < 0.05 else ""
                made.verdict(model, row, said or (row.payload.expected if right else other))
    _rules(made, rows, draw)
    return made.finished(
        receipts=RECEIPTS, published=PUBLISHED,
        accounts=(losing("people_rate.glad", "too_few", "Fewer than two people rated it.", 3),), **more,
    )  # fmt: skip


def _rules(made, rows, draw):
    for model, verdict, text in (("always_agree", "yes", "对，是的。"), ("always_disagree", "no", "不对，不是的。")):
        for row in rows:
            made.answer(model, row, text)
            made.score("judge_correctness_judge", "correctness", model, row, 0.2 + 0.2 * draw.random())
            if row.payload.type == "tf":
                made.verdict(model, row, verdict)
    for n, row in enumerate(rows):
        given = n % 4 == 0
        made.answer("people", row, "应当补充，见指南。" if given else "", "complete" if given else "missing")
        if given:
            made.score("people_rate", "correctness", "people", row, None, ratings={"安医生": 1.0, "Bo": 0.9})
        if row.payload.type == "tf":
            made.verdict("people", row, row.payload.expected if given else "missing")
