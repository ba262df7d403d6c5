"""A build of two steps that is written at once, without a recipe: texts of one's own, some of them lost."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from benchbuilder.core import Dropped, Kept, Passage, Table
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.pipeline import OUTCOME_SCHEMA, Manifest, Shard, Store
from benchbuilder.pipeline.accounting.shard import outcome_line

SOURCE, STEP = "texts", "screened"


def passage(text: str, file: str, line: int) -> Passage:
    return Passage.build(
        base="base", document=f"document {line}", title="title", text=text, origin=Origin(file=file, line=line),
        produced_by=ProducedBy(rule="corpus"), language="zh", partition=SOURCE,
    )  # fmt: skip


def write_small_build(folder: Path, texts: Sequence[str], *, file: str = "texts.jsonl", shard_rows: int = 4) -> Path:
    """A source with these texts, and a step that loses every third of them, the text as detail."""
    rows = [passage(text, file, number) for number, text in enumerate(texts, 1)]
    store = Store(folder, sync=False)
    drafts = {name: store.draft(name, name.ljust(40, "0"), {"rows": len(rows)}) for name in (SOURCE, STEP)}
    counts = {SOURCE: {}, STEP: {}}
    shards = range(0, len(rows), shard_rows)
    for index, first in enumerate(shards):
        part = rows[first : first + shard_rows]
        kept = [row for row in part if row.origin.line % 3]
        made = {
            SOURCE: (part, [{**outcome_line("file", row, Kept(row)), "row": ""} for row in part]),
            STEP: (kept, [
                outcome_line("each", row, Kept(row) if row in kept else Dropped("too_odd", row.text[:200]))
                for row in part
            ]),
        }  # fmt: skip
        for name, (out, lines) in made.items():
            outcomes = pa.Table.from_pylist(lines, schema=OUTCOME_SCHEMA)
            shard = Shard(Table.of(out, Passage), outcomes)
            drafts[name].commit_shard(index, shard)
            for key, number in shard.counts().items():
                counts[name][key] = counts[name].get(key, 0) + number
    digest = hashlib.sha256("".join(texts).encode("utf-8", "replace")).hexdigest()
    for name, kind in ((SOURCE, "corpus"), (STEP, "screen")):
        lines = tuple((*key, number) for key, number in sorted(counts[name].items()))
        is_source = name == SOURCE
        drafts[name].commit_step(Manifest(
            step=name, kind=kind, row="passage", key=name.ljust(40, "0"), digest=f"{name} {digest}", outcomes="",
            key_inputs={} if is_source else {"order of port each": SOURCE},
            inputs={} if is_source else {SOURCE: f"{SOURCE} {digest}"},
            rows=sum(n for *key, n in lines if key[1] == "kept"), shards=len(shards), counts=lines,
            units=((file, "kept", "", len(rows)),) if is_source else (), reasons={"too_odd": "<b>It is odd.</b>"},
        ))  # fmt: skip
    return folder
