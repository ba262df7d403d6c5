"""Files in the layouts of well-known data sets, with rows of our own writing, and what is right in each."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

QUESTIONS = [
    ("Which organ makes bile?", "the liver", ["the kidney", "the lung", "the heart"]),
    ("Which planet is the closest to the sun?", "Mercury", ["Venus", "Mars", "Saturn"]),
    ("What do bees make from nectar?", "honey", ["milk", "silk", "wax paper"]),
    ("Which gas do plants take in, by day?", "carbon dioxide", ["helium", "neon", "argon"]),
    ("Which bone is the longest of the human body?", "the femur", ["the tibia", "the ulna", "the humerus"]),
    ("Which instrument measures air pressure?", "the barometer", ["the compass", "the ruler", "the lens"]),
    ("Which metal is liquid in a warm room?", "mercury metal", ["iron", "tin", "zinc"]),
    ("What do fish breathe with?", "gills", ["fins", "scales", "lungs"]),
]
"""Question, right answer, wrong ones."""
PLACES = [2, 0, 3, 1, 0, 2, 3, 1]
"""Where the right answer stands among the options of each question."""
CLAIMS = [
    ("Sunlight lets the skin make vitamin D.", "true"), ("Sunlight lets the skin make vitamin C.", "false"),
    ("Malaria is spread by mosquitoes.", "true"), ("Antibiotics cure influenza.", "false"),
    ("The first kite was red.", "unknown"), ("Bees make honey from nectar.", "true"),
]  # fmt: skip
TRIPLES = [("aspirin", "treats", "pain"), ("insulin", "treats", "diabetes"), ("scurvy", "lacks", "vitamin C")]

Answers = Mapping[str, Any]


@dataclass(frozen=True)
class Layout:
    """A file, its kind of source, and what is right for each question or claim; or what `new` asks."""

    file: str
    kind: str
    content: bytes
    right: Answers | None = None
    asks: str = ""


def options(number: int) -> list[str]:
    """The options of a question in the order of the files."""
    _, right, wrong = QUESTIONS[number]
    return [*wrong[: PLACES[number]], right, *wrong[PLACES[number] :]]


def choices(record: Callable[[int, str, list[str], int], Any]) -> list[Any]:
    """A record for each question, from its number, question, options and the place of the right one."""
    return [record(n, question, options(n), PLACES[n]) for n, (question, *_) in enumerate(QUESTIONS)]


def jsonl(records: Sequence[Any]) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def parquet(records: Sequence[Any]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(records)), stream)
    return stream.getvalue()


def table(rows: Sequence[Sequence[Any]], header: Sequence[str] | None = None, **form: Any) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n", **form).writerows([*([header] if header else []), *rows])
    return stream.getvalue().encode()


RIGHT: Answers = {question: right for question, right, _ in QUESTIONS}
LABELS: Answers = {text: label for text, label in CLAIMS if label != "unknown"}
LETTERS = "ABCD"
WORDS = {
    "fever": {"true": "SUPPORTS", "false": "REFUTES", "unknown": "NOT ENOUGH INFO"},
    "nli": {"true": "entailment", "false": "contradiction", "unknown": "neutral"},
    "health": {"true": "Supports", "false": "Refutes", "unknown": "Neutral"},
}


def labelled(form: str, record: Callable[[int, str, str], Any]) -> list[Any]:
    return [record(n, text, WORDS[form][label]) for n, (text, label) in enumerate(CLAIMS)]


def _numbered(number: int, question: str, texts: list[str], place: int) -> dict[str, Any]:
    answers = [{"aid": n, "atext": text} for n, text in enumerate(texts, 1)]
    return {"qid": str(number), "qtext": question, "ra": str(place + 1), "answers": answers}


def _squad() -> dict[str, Any]:
    asked = [
        {"id": f"s{n}", "question": question, "answers": [{"text": right, "answer_start": 0}], "is_impossible": False}
        for n, (question, right, _) in enumerate(QUESTIONS)
    ]
    articles = [{"title": "A", "paragraphs": [{"context": "Some text about it.", "qas": asked[:4]}]},
                {"title": "B", "paragraphs": [{"context": "Another text.", "qas": asked[4:]}]}]  # fmt: skip
    return {"version": "1.1", "data": articles}


def _pubmed() -> dict[str, Any]:
    says = {"true": "yes", "false": "no", "unknown": "maybe"}
    return {str(n): {"QUESTION": f"Is it so that {text[0].lower()}{text[1:-1]}?", "CONTEXTS": ["A trial.", "A result."],
                     "YEAR": "2011", "reasoning_required_pred": "yes", "final_decision": says[label],
                     "LONG_ANSWER": f"A long answer, {n}."} for n, (text, label) in enumerate(CLAIMS)}  # fmt: skip


GALLERY: dict[str, Layout] = {
    "mmlu_csv": Layout("q.csv", "multiple_choice", table(choices(lambda _, q, o, p: [q, *o, LETTERS[p]])), RIGHT),
    "mmlu_parquet": Layout("q.parquet", "multiple_choice", parquet(choices(
        lambda _, q, o, p: {"question": q, "subject": "biology", "choices": o, "answer": p})), RIGHT),
    "mmlu_pro": Layout("q.parquet", "multiple_choice", parquet(choices(
        lambda n, q, o, p: {"question_id": n, "question": q, "options": o, "answer": LETTERS[p], "answer_index": p,
                            "cot_content": "", "category": "biology", "src": "own"})), RIGHT),
    "global_mmlu": Layout("q.csv", "multiple_choice", table(
        choices(lambda n, q, o, p: [f"bio/{n}", "biology", q, *o, LETTERS[p]]),
        ["sample_id", "subject", "question", "option_a", "option_b", "option_c", "option_d", "answer"]), RIGHT),
    "afri_mmlu": Layout("q.tsv", "multiple_choice", table(
        choices(lambda _, q, o, p: ["biology", q, repr(o), LETTERS[p]]), ["subject", "question", "choices", "answer"],
        delimiter="\t"), RIGHT),
    "arc_jsonl": Layout("q.jsonl", "multiple_choice", jsonl(choices(
        lambda n, q, o, p: {"id": f"M_{n}", "question": {"stem": q, "choices": [
            {"text": text, "label": "1234"[at] if n % 2 else LETTERS[at]} for at, text in enumerate(o)]},
            "answerKey": ("1234" if n % 2 else LETTERS)[p]})), RIGHT),
    "arc_parquet": Layout("q.parquet", "multiple_choice", parquet(choices(
        lambda n, q, o, p: {"id": f"M_{n}", "question": q, "answerKey": "DCBA"[p],
                            "choices": {"text": o, "label": list("DCBA")}})), RIGHT),
    "openbookqa": Layout("q.jsonl", "multiple_choice", jsonl(choices(
        lambda n, q, o, p: {"id": f"7-{n}", "question_stem": q, "choices": {"text": o, "label": list(LETTERS)},
                            "answerKey": LETTERS[p], "fact1": f"A fact of some length, number {n}, about it all"})),
        RIGHT),
    "sciq": Layout("q.json", "multiple_choice", json.dumps(choices(
        lambda n, q, o, p: {"question": q, **{f"distractor{at}": text for at, text in
                            enumerate([text for text in o if text != o[p]], 1)}, "correct_answer": o[p],
                            "support": f"Some text, number {n}."})).encode(), RIGHT),
    "medmcqa_from_1": Layout("q.json", "multiple_choice", jsonl(choices(
        lambda n, q, o, p: {"id": f"x{n}", "question": q, **dict(zip(["opa", "opb", "opc", "opd"], o, strict=True)),
                            "cop": p + 1, "choice_type": "single", "exp": f"Because, {n}.", "topic_name": "x"})),
        RIGHT),
    "medmcqa_part": Layout("q.jsonl", "multiple_choice", jsonl([
        {"question": q, **dict(zip(["opa", "opb", "opc", "opd"], options(n), strict=True)), "cop": PLACES[n]}
        for n, (q, *_) in enumerate(QUESTIONS) if PLACES[n] in (1, 2)]), asks="index or index_from_1"),
    "medqa": Layout("q.jsonl", "multiple_choice", jsonl(choices(
        lambda _, q, o, p: {"question": q, "answer": o[p], "options": dict(zip(LETTERS, o, strict=True)),
                            "meta_info": "step1", "answer_idx": LETTERS[p]})), RIGHT),
    "head_qa": Layout("q.json", "multiple_choice", json.dumps({"version": "1.0", "language": "es", "exams": {
        "one": {"name": "one", "year": "2016", "data": choices(_numbered)[:4]},
        "two": {"name": "two", "year": "2017", "data": choices(_numbered)[4:]}}}).encode(), RIGHT),
    "c_eval": Layout("q.csv", "multiple_choice", table(
        choices(lambda n, q, o, p: [n, q, *o, LETTERS[p], f"1. A long explanation of the matter, number {n}."]),
        ["id", "question", *LETTERS, "answer", "explanation"]), RIGHT),
    "cmmlu": Layout("q.csv", "multiple_choice", table(
        choices(lambda n, q, o, p: [n, q, *o, LETTERS[p]]), ["", "Question", *LETTERS, "Answer"]), RIGHT),
    "cmexam": Layout("q.csv", "multiple_choice", table(
        choices(lambda n, q, o, p: [q, "\n".join(f"{LETTERS[at]} {text}" for at, text in enumerate(o)), LETTERS[p],
                                    f"An explanation that is longer than the question, number {n}, by far and away."]),
        ["Question", "Options", "Answer", "Explanation"]), RIGHT),
    "m3_exam": Layout("q.json", "multiple_choice", json.dumps(choices(
        lambda n, q, o, p: {"question_text": q, "options": {LETTERS[at]: text for at, text in enumerate(o)},
                            "answer_text": LETTERS[p], "level": "mid", "subject": "science"})).encode(), RIGHT),
    "jec_qa": Layout("q.jsonl", "several_choice", jsonl(choices(
        lambda n, q, o, p: {"answer": [LETTERS[p], "D"] if n == 1 else [LETTERS[p]], "id": f"0_{n}",
                            "option_list": dict(zip(LETTERS, o, strict=True)), "statement": q, "type": "0"})),
        {**RIGHT, QUESTIONS[1][0]: ("Mercury", "Saturn")}),
    "truthful_qa_csv": Layout("q.csv", "question_answer", table(
        [["Adversarial", "Health", q, right, f"{right}; so it is said", "; ".join(wrong), "example.org"]
         for q, right, wrong in QUESTIONS],
        ["Type", "Category", "Question", "Best Answer", "Correct Answers", "Incorrect Answers", "Source"]), RIGHT),
    "truthful_qa_mc": Layout("q.jsonl", "multiple_choice", jsonl(choices(
        lambda _, q, o, p: {"question": q, "mc1_targets": {"choices": o, "labels": [int(at == p) for at in range(4)]}}
        )),
        RIGHT),
    "halu_eval": Layout("q.json", "question_answer", jsonl(
        [{"knowledge": f"It is known: {right}.", "question": q, "right_answer": right, "hallucinated_answer": wrong[0]}
         for q, right, wrong in QUESTIONS]), RIGHT),
    "med_hallu": Layout("q.parquet", "question_answer", parquet(
        [{"Question": q, "Knowledge": [f"It is known: {right}."], "Ground Truth": f"{right}, of course",
          "Difficulty Level": "easy", "Hallucinated Answer": wrong[0], "Category of Hallucination": "x"}
         for q, right, wrong in QUESTIONS]), {q: f"{right}, of course" for q, right, _ in QUESTIONS}),
    "bool_q": Layout("q.jsonl", "claims", jsonl(
        [{"question": text, "title": f"T{n}", "answer": label == "true", "passage": f"A passage about it, number {n}."}
         for n, (text, label) in enumerate(CLAIMS) if label != "unknown"]), LABELS),
    "pubmed_qa": Layout("q.json", "claims", json.dumps(_pubmed()).encode(),
        {f"Is it so that {text[0].lower()}{text[1:-1]}?": label for text, label in LABELS.items()}),
    "fever": Layout("q.jsonl", "claims", jsonl(labelled("fever", lambda n, text, label: {
        "id": n, "verifiable": "VERIFIABLE", "label": label, "claim": text, "evidence": [[[1, 2, "P", 0]]]})), LABELS),
    "health_ver": Layout("q.csv", "claims", table(labelled("health", lambda n, text, label: [
        n, f"Evidence of some length about it, number {n}.", text, label, n, f"what do we know of {n}"]),
        ["id", "evidence", "claim", "label", "topic_ip", "question"]), LABELS),
    "xnli": Layout("q.tsv", "claims", table(labelled("nli", lambda n, text, label: [
        "en", label, f"A premise, number {n}.", text, n, n]),
        ["language", "gold_label", "sentence1", "sentence2", "promptID", "pairID"], delimiter="\t"), LABELS),
    "claims_0_1": Layout("q.csv", "claims", table(
        [[text, int(label == "true")] for text, label in CLAIMS], ["text", "label"]), asks="0 or 1"),
    "squad": Layout("q.json", "question_answer", json.dumps(_squad()).encode(), RIGHT),
    "nq_open": Layout("q.jsonl", "question_answer", jsonl(
        [{"question": q, "answer": [right, f"it is {right}"]} for q, right, _ in QUESTIONS]), RIGHT),
    "german_excel": Layout("q.csv", "multiple_choice", table(
        choices(lambda n, q, o, p: [n, f"{q} (für Schüler)", *o, LETTERS[p]]),
        ["Nr.", "Frage", "Antwort A", "Antwort B", "Antwort C", "Antwort D", "Lösung"], delimiter=";",
        ).decode().encode("cp1252"), {f"{q} (für Schüler)": right for q, right, _ in QUESTIONS}),
    "prime_kg": Layout("q.csv", "triples", table(
        [["r", relation, n, head, "drug", n, tail, "disease"] for n, (head, relation, tail) in enumerate(TRIPLES)],
        ["relation", "display_relation", "x_id", "x_name", "x_type", "y_id", "y_name", "y_type"]),
        {head: tail for head, _, tail in TRIPLES}),
    "wikidata_tsv": Layout("q.tsv", "triples", b"Q1\tP1\tQ2\nQ3\tP1\tQ4\nQ5\tP2\tQ6\n", asks="header"),
    "umls_mrrel": Layout("q.txt", "triples", b"C1|A0|SCUI|RO|C2|A1|SCUI|due_to|R0||MSH|MSH|||N||\n" * 3, asks="header"),
    "scifact_corpus": Layout("q.jsonl", "corpus", jsonl(
        [{"doc_id": n, "title": f"Title {n}", "abstract": [f"One, {n}.", f"Two, {n}."], "structured": False}
         for n in range(4)]), {f"Title {n}": f"One, {n}. Two, {n}." for n in range(4)}),
}  # fmt: skip
