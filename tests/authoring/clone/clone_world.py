"""A clone of care_mi about nutrition, made by the command and filled in as its owner would."""

from __future__ import annotations

import re
from pathlib import Path

from benchbuilder.cli.dispatch import main

QUESTIONS = """question,A,B,C,D,answer
缺乏维生素C会引起的疾病是,坏血病,夜盲症,脚气病,佝偻病,A
缺乏维生素A会引起的疾病是,坏血病,夜盲症,脚气病,佝偻病,B
缺乏维生素B1会引起的疾病是,坏血病,夜盲症,脚气病,佝偻病,C
膳食纤维含量最高的一类食物是,全谷物,精白米,动物肝脏,植物油,A
人体合成甲状腺激素所必需的元素是,铁,锌,碘,钙,C
牛奶含有的主要糖类是,蔗糖,乳糖,果糖,麦芽糖,B
竹子开花以后最后的结局是,枯萎死亡,继续长高,长出新叶,变成灌木,A
"""
BOOK = """缺乏维生素C会引起坏血病，表现为牙龈出血。
缺乏维生素A会引起夜盲症，可多吃动物肝脏。
缺乏维生素B1会引起脚气病，全谷物含有较多维生素B1。
膳食纤维含量最高的一类食物是全谷物和豆类。
人体合成甲状腺激素所必需的元素是碘，碘盐可以补碘。
"""
WORDS = "维生素\t vitamin\n膳食纤维\n碘\n坏血病\n胆固醇\n"
CARD = {
    "title": "营养", "summary": "Questions on nutrition.", "licence": "CC-BY-4.0", "correct_as_of": '"2025-06-30"',
    "intended_use": "[To try a clone.]", "not_for": "[Diets.]", "limitations": "[Made for a test.]",
    "personal_data": "None.",
}  # fmt: skip
NEW = ["new", "nutrition", "--from", "care_mi", "--source", "questions:multiple_choice", "--source", "book:corpus"]


def fill(folder: Path, name: str = "nutrition", old: str = "care_mi") -> Path:
    """Give every open place of the clone a value, with a CSV of questions and some paragraphs as its sources."""
    recipe = folder / f"recipes/recipe/{name}.yaml"
    data = recipe.with_suffix("")
    (data / "questions.csv").write_text(QUESTIONS)
    (data / "book.txt").write_text(BOOK)
    (data / "words.txt").write_text(WORDS)
    text = recipe.read_text()
    for key, value in CARD.items():
        text = re.sub(rf"(?m)^  {key}: \?\?\?.*$", f"  {key}: {value}", text)
    head, _, book = text.partition("\n  book:\n")
    head = head.replace("path: ???", f"path: {name}/questions.csv").replace("question: ???", "question: question")
    head = head.replace("options: ???", "options: [A, B, C, D]").replace("answer_key: ???", "answer_key: answer")
    book = book.replace("path: ???", f"path: {name}/book.txt")
    text = f"{head}\n  book:\n{book}".replace("title: ???", "title: Written for a test")
    recipe.write_text(text.replace("licence: ???", "licence: CC-BY-4.0"))
    return recipe


def run(*words: str) -> int:
    """The exit code of the command."""
    return main(list(words))
