"""Writes the verdict reader as one file that runs anywhere: the project's own code and tables, and no heavy library."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from benchbuilder import __version__
from benchbuilder.core import convert_script
from benchbuilder.evaluation import SetReader, read_turn_table, read_verdict_table
from benchbuilder.publishing.harnesses.reader_source import SourceBundle
from benchbuilder.publishing.harnesses.templates_of import render

Scoring = Literal["verdict", "exact", "open", "set"]
"""Whether replies are read for a verdict, for an option or the right words, for likeness to the right answer, or for
names of the right set."""
_HAN = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00), (0x20000, 0x32000))
_GIVEN = ("DataError", "Span", "convert_script", "Conversion", "indel_similarity")
_METHODS = {"VerdictTable": ("expand_parts", "any_of", "_part"), "TurnTable": ("filled", "any_of")}


@dataclass(frozen=True)
class TaskScoring:
    """How replies to a configuration are scored.

    ``verdict`` reads them by `tables`, ``exact`` compares them by the other settings, which are those of the scorer of
    this name, and ``open`` measures how near they are to the right answer. ``set`` looks for names with the settings
    `names`. Only `longest` characters of a reply count. `turns` are the tables by which replies to a person are read,
    beside `tables`; ``None`` if nobody contradicts the answers.
    """

    scoring: Scoring
    tables: tuple[Path, ...] = ()
    longest: int = 20_000
    announced: tuple[str, ...] = ()
    ignore: str = ""
    drop: tuple[str, ...] = ()
    also_words: tuple[str, ...] = ()
    names: SetReader | None = None
    turns: tuple[Path, ...] | None = None


def reader_module(configs: Mapping[str, TaskScoring], name: str, release: str = "") -> str:
    """The text of a module that scores replies to each of `configs` as the project does.

    It converts scripts by characters, while the project converts phrases too.
    """
    files = list(dict.fromkeys(path for task in configs.values() for path in task.tables))
    read = [read_verdict_table(path) for path in files]
    turns = {path: task.tables for task in configs.values() for path in task.turns or ()}
    bundle = SourceBundle(_GIVEN, _METHODS)
    bundle.take("benchbuilder.core.text.replies", ["strip_reasoning"])
    bundle.take("benchbuilder.core.stats.overlap", ["chrf"])
    bundle.take("benchbuilder.evaluation.stats.overlap", ["relative_closeness", "truncate_for_overlap"])
    bundle.take("benchbuilder.evaluation.parsing.verdicts", ["VerdictReader", "YesNoQuestion"])
    bundle.take("benchbuilder.evaluation.parsing.exact_answers", ["ExactReader", "right_keys"])
    bundle.take("benchbuilder.evaluation.parsing.named_members", ["SetReader"])
    bundle.take("benchbuilder.core.records.name_sets", ["set_members"])
    has_turns = any(task.turns is not None for task in configs.values())
    if has_turns:
        bundle.take("benchbuilder.evaluation.parsing.turns", ["TurnReader", "Turn"])
    conversions = sorted({table.script for table in read if table.script is not None})
    tasks = {
        config: {
            **asdict(task),
            "tables": [files.index(path) for path in task.tables],
            "turns": [list(turns).index(path) for path in task.turns or ()],
        }
        for config, task in configs.items()
    }
    return render(
        "verdict_reader.py.j2",
        version=__version__,
        name=name,
        release=release,
        imports=bundle.imports(),
        definitions=bundle.text(),
        has_turns=has_turns,
        configs=json.dumps(tasks, ensure_ascii=False),
        tables=_settings(read),
        turn_tables=_settings(
            read_turn_table(path, [read[files.index(table)] for table in tables]) for path, tables in turns.items()
        ),
        scripts=json.dumps({name: _characters(name) for name in conversions}, ensure_ascii=False),
    )


def _settings(tables: Iterable[BaseModel]) -> str:
    return json.dumps([table.model_dump(mode="json", exclude={"examples"}) for table in tables], ensure_ascii=False)


@cache
def _characters(conversion: str) -> tuple[str, str]:
    """The characters that a conversion changes, and what it makes of them."""
    known = [chr(code) for first, end in _HAN for code in range(first, end)]
    made = convert_script("\n".join(known), conversion).split("\n")  # type: ignore[arg-type]
    pairs = [(one, other) for one, other in zip(known, made, strict=True) if one != other and len(other) == 1]
    return "".join(one for one, _ in pairs), "".join(other for _, other in pairs)
