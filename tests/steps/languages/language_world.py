"""A small recipe for one of the languages in `samples`, written into a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

QUESTIONS = {
    "right": {"order": 1, "subject": "claim"},
    "supports": {"order": 2, "subject": "evidence"},
}


def write_recipe(folder: Path, language: dict[str, Any]) -> Path:
    """The folder for ``--recipes``, with the recipe ``small``, its sources, word list and relation table."""
    small = folder / "recipe" / "small"
    small.mkdir(parents=True)
    lines = [
        {"question": question, "options": dict(zip("ABCD", options, strict=True)), "answer_idx": "A"}
        for question, options in language["questions"]
    ]
    _jsonl(small / "exam.jsonl", lines)
    pages = [
        {"text": text, "title": language["word"], "document": str(n)} for n, text in enumerate(language["passages"])
    ]
    _jsonl(small / "book.jsonl", pages)
    _text(small / "words.txt", "\n".join(language["words"]))
    _text(small / "triples.tsv", "\n".join("\t".join(row) for row in [("h", "r", "t"), *language["triples"]]))
    _text(small / "verdicts.yaml", json.dumps(verdicts(language), ensure_ascii=False))
    relation, stated, negated, asked = language["relation"]
    header = "relation\tstatement\tnegated\ttf\toe\tanswer_end\twhen_head\twhen_tail"
    _text(small / "relations.tsv", f"{header}\n{relation}\t{stated}\t{negated}\t{asked}\t\ttail\t\t")
    said = yaml.safe_dump(json.loads(json.dumps(recipe(language))), allow_unicode=True, sort_keys=False)
    _text(folder / "recipe" / "small.yaml", f"# @package _global_\n{said}")
    return folder


def _text(path: Path, text: str) -> None:
    path.write_text(text + "\n", encoding="utf-8")


def _jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    _text(path, "\n".join(json.dumps(row, ensure_ascii=False) for row in rows))


def recipe(language: dict[str, Any]) -> dict[str, Any]:
    """The recipe as YAML has it."""
    code = language["code"]
    return {
        "defaults": [
            {"override /flow": "claims"},
            {"override /rules": []},
            {"override /source": []},
            {"override /tokenizer": "whitespace"},
            {"override /annotation": "none"},
            "_self_",
        ],
        "name": "small",
        "language": code,
        "seed": 11,
        "items": "items",
        "paths": {"words": "small/words.txt", "stop_words": None},
        "tokenizer": {"kind": "whitespace", "punctuation": "apart"},
        "retriever": {"fold": language["fold"], "tokenizer": language["tokenizer"]},
        "sources": _sources(code),
        "steps": {**_preparation(language), **_claims(language)},
        "evaluation": _evaluation(language),
        "outputs": {"report": {"cue_words": language["negations"][:1]}},
        "card": {
            "title": "Small",
            "summary": "For tests.",
            "licence": "Apache-2.0",
            "correct_as_of": "2025-01-01",
            "intended_use": ["tests"],
            "not_for": ["anything else"],
            "personal_data": "None.",
        },
    }


def _sources(code: str) -> dict[str, Any]:
    def about(kind: str, path: str) -> dict[str, Any]:
        return {"kind": kind, "path": f"small/{path}", "language": code, "title": path, "licence": "Apache-2.0"}

    columns = {"question": "question", "options": "options", "answer_key": "answer_idx"}
    return {
        "exam": {**about("multiple_choice", "exam.jsonl"), "columns": columns, "key_as": "letter"},
        "graph": {
            **about("triples", "triples.tsv"),
            "format": "tsv",
            "header": True,
            "quoting": False,
            "delimiter": "\t",
            "columns": {"head": 0, "relation": 1, "tail": 2},
        },
        "book": {
            **about("corpus", "book.jsonl"),
            "format": "jsonl",
            "columns": {"text": "text", "title": "title", "document": "document"},
        },
    }


def _evaluation(language: dict[str, Any]) -> dict[str, Any]:
    yes, no = language["verdict"]
    measures = {"measures": ["chrf", "rouge_l"], "longest": 2000}
    return {
        "baselines": {
            "agrees": {"kind": "constant", "texts": {"tf": yes, "oe": yes}},
            "denies": {"kind": "constant", "texts": {"tf": no, "oe": no}},
            "echo": {"kind": "echo"},
            "best": {
                "kind": "best_evidence",
                "stops": language["stops"],
                "soft_stops": language["soft_stops"],
                "k1": 1.5,
                "b": 0.75,
                "fold": language["fold"],
                "tokenizer": language["tokenizer"],
            },
        },
        "scorers": {
            "verdict": {"kind": "verdict", "tables": ["small/verdicts.yaml"], "longest": 2000},
            "similarity": {"kind": "similarity", **measures},
        },
        "outputs": {
            "results": {
                "kind": "results",
                "file": "results",
                "language": "en",
                "aspects": [],
                "worst": 5,
                "power": 0.8,
                "effect": 0.05,
                "class_imbalance": 0.65,
            }
        },
        "bootstrap": {"samples": 100, "level": 0.95, "seed": 1},
    }


def verdicts(language: dict[str, Any]) -> dict[str, Any]:
    """How the language says yes and no, in two patterns."""
    yes, no = language["verdict"]
    return {
        "stops": language["stop"] + "!",
        "asks": language["mark"],
        "pauses": ",،;:",
        "longest": 200,
        "affirm": {"plain": [yes.strip(".।").casefold()]},
        "deny": {"plain": [no.strip(".।").casefold()]},
        "examples": {"affirm": [yes], "deny": [no], "neither": [language["word"]]},
    }


def _preparation(language: dict[str, Any]) -> dict[str, Any]:
    topic = {"words": "${paths.words}", "fold": language["fold"]}
    joiner = language["joiner"]
    return {
        "clean": {
            "remove": [],
            "numbering": None,
            "inner_numbering": None,
            "inner": "break",
            "sentence_break": "",
            "stops": [],
        },
        "stem": {
            "stops": language["stops"],
            "soft_stops": language["soft_stops"],
            "abbreviations": [],
            "blank": None,
            "max_question": 60,
            "unit": language["unit"],
            "clause_mark": "،",
            "trailing": [":", "،", ","],
            "joiner": joiner,
        },
        "screen_options": {"joiner": joiner, "checks": {}},
        "screen_questions": {
            "joiner": joiner,
            "checks": {
                "too_long": {
                    "because": "It is too long.",
                    "fields": ["question+answer"],
                    "at_most": 90,
                    "unit": language["unit"],
                },
                "no_words": {
                    "because": "It has no word.",
                    "fields": ["question"],
                    "mode": "word",
                    "patterns": {"a": "xyzzy"},
                },
            },
        },
        "choices_on_topic": {
            **topic,
            "match": language["match"],
            "groups": {"anywhere": ["context", "question", "options"]},
        },
        "triples_on_topic": {**topic, "match": language["match"], "groups": {"head": ["head"]}},
    }


def _claims(language: dict[str, Any]) -> dict[str, Any]:
    stop, mark, ends = language["stop"], language["mark"], language["ends"]
    negative = {"negations": language["negations"], "harmless": []}
    relations = {"default": "small/relations.tsv"}
    asked = {"stop": stop, "mark": mark, "ends": ends, "polarity": "family"}
    return {
        "state_choice": {
            "strategy": "rules",
            "seams": [language["seam"]],
            "not_questions": [],
            "not_answers": [],
            "stop": stop,
            "marks": ":، ",
            "joiner": "" if language["code"] == "th" else " ",
            "max_length": 90,
            "max_model_length": 90,
            "unit": language["unit"],
            "ends": ends,
            "asking": [],
            "keeps": 0.8,
            "may_go": [],
            "glue": [],
            "max_glue": 5,
            "max_edits": 1,
            "edits_from": 4,
            "fixed": [],
            "matching": language["matching"],
            "script": None,
            **negative,
        },
        "state_triple": {"relations": relations},
        "negate_choice": {
            "method": "seam",
            "strategy": "rules",
            "seams": [{"end": language["seam"], "negated": language["negated"]}],
            "whole_words": [],
            "blocked": [],
            "blocked_answers": [],
            "search": [],
            **negative,
            "stop": stop,
            "marks": " ",
            "ends": ends,
            "max_edit": 12,
            "exchanges": [],
            "leading": [],
            "hedges": [],
            "stand_in": language["negations"][0],
        },
        "negate_triple": {"relations": relations, "method": "table", "search": [], **negative},
        "replace_choice": {
            "option": "random",
            "place": "span",
            "rescue_distance": 1,
            "strict": True,
            "ignore": ".,",
            "marks": ":، ",
            "matching": language["matching"],
            "not_options": [],
            "bounds": [],
        },
        "swap_triple": {
            "relations": {},
            "bar": {
                "known": True,
                "any_relation": True,
                "synonyms": [],
                "kin": "none",
                "near_known": "none",
                "similar": None,
                "cohesion": None,
                "spread": None,
                "together": False,
                "shared_letters": "allowed",
                "alike": None,
                "related": None,
                "generic": [],
            },
            "partner": "far",
            "unit": language["matching"],
            "inverse_suffix": "",
            "ignore": "",
        },
        "ask_tf_choice": {
            **asked,
            **negative,
            "casing": {},
            "strategy": "rules",
            "forms": [{"form": language["tf"]}],
            "ending": mark,
            "frames": [language["tf"]],
            "additions": [],
            "loose": "",
            "verdicts": [],
        },
        "ask_tf_triple": {**asked, "relations": relations, "true_form": None, "false_form": language["tf"]},
        "ask_oe_triple": {"relations": relations, "enabled": False, "mark": mark, "ends": ends, "ignore": ""},
        "ask_set_triple": {
            "relations": relations,
            "enabled": False,
            "question": None,
            "unusable": [],
            "mark": mark,
            "ends": ends,
            "exchange": {
                name: f"${{steps.swap_triple.{name}}}"
                for name in ("relations", "bar", "partner", "unit", "inverse_suffix", "ignore")
            },
        },
        "ask_oe_choice": {
            "method": "seam",
            "strategy": "rules",
            "shapes": {},
            "rules": [{"ends": [language["seam"]], "ask": language["oe"]}],
            "whole_words": [],
            "unsafe": [],
            "checks": ["one_question", "keeps_statement", "no_leak"],
            "stop": stop,
            "mark": mark,
            "ends": ends,
            "ignore": "",
            "matching": language["matching"],
            "loose": "",
            "phrases": [],
            "question_words": [],
            "stand_in": "?",
        },
        "candidates": {"wrong_tf": ["replaced"], "wrong_oe": ["replaced"]},
        "evidence": {"query": ["question", "answer"]},
        "paragraphs": {
            "min_chars": 5,
            "filter_bases": ["book"],
            "words": "${paths.words}",
            "match": language["match"],
            "fold": language["fold"],
        },
    }
