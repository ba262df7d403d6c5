"""Records what a build, an evaluation, requests and judges came out as: a line a thing, digests in place of texts."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from digests import columns_of, digest, each, ordered, whole

from benchbuilder.config import KindSpec
from benchbuilder.core import Outcome, create_from_spec
from benchbuilder.exporters import AuditResult
from benchbuilder.models import Conversation, Reply, Request, request_key
from benchbuilder.pipeline import Manifest, SerialDriver, Store

_IDS = {"id", "of", "parents", "candidate", "fact"}
"""Ids of a row and of those that it was made of: they hang on all contents before."""
_ENVELOPE = {"slot", "origin", "produced_by", "language", "partition"}
"""Columns that every row has; steps are told to differ in them, not in which."""
_UNSTABLE = ("input ", "version of ", "distribution ")
"""How parts of a key begin that say what came before, or which version of a library is installed."""
_SEEN_ELSEWHERE = {"kind", "step kind", "source kind", "kind version", "name", "columns of its rows"}


def line(kind: str, name: str, /, **fields: object) -> str:
    """A line of a record: the kind of thing, its name, and what is known of it."""
    return "\t".join([kind, name, *(f"{key}={value}" for key, value in fields.items())])


# --- steps


def key_line(manifest: Manifest) -> str:
    """What a step of its own brings into its key, without what it inherits from the steps before it."""
    parts = {name: text for name, text in manifest.key_inputs.items() if not name.startswith(_UNSTABLE)}
    # a benchmark that was built is a file of Parquet, whose bytes hang on the version of the library
    files = {name: text for name, text in parts.items() if name.startswith("file ") and ".parquet" not in name}
    wiring = {name: text for name, text in parts.items() if name.startswith("order of port ")}
    rest = parts.keys() - _SEEN_ELSEWHERE - wiring.keys()
    settings = {name: parts[name] for name in rest if not name.startswith("file ")}
    return line(
        "key", manifest.step, kind=manifest.kind, version=parts.get("kind version", ""),
        settings=whole(settings.items()), files=whole(files.items()), wiring=whole(wiring.items()),
        columns=whole([parts.get("columns of its rows")]),
    )  # fmt: skip


def rows_line(kind: str, name: str, columns: Mapping[str, list[Any]]) -> str:
    """The number, the order and each column of rows; columns count whatever the order."""
    ids = columns.get("id", [])
    envelope = [values for key, values in columns.items() if key.partition(".")[0] in _ENVELOPE]
    values = {key: whole(values) for key, values in columns.items() if key.partition(".")[0] not in _ENVELOPE | _IDS}
    return line(
        kind, name, n=len(ids), order=ordered(ids), ids=whole(ids), header=whole(zip(*envelope, strict=True)), **values
    )


def outcome_lines(step: str, outcomes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What became of the rows that a step did not keep, by outcome and reason."""
    groups = defaultdict[tuple[str, str], list[Any]](list)
    for one in outcomes:
        if one["outcome"] != "kept":
            where = [one[name] for name in ("port", "slot", "detail", "partition", "file", "line")]
            groups[one["outcome"], one["reason"]].append(where)
    for (outcome, reason), found in sorted(groups.items()):
        yield line("lost", f"{step}: {reason}", how=outcome, n=len(found), rows=whole(found))


def item_lines(step: str, manifests: Mapping[str, Manifest], store: Store) -> Iterator[str]:
    """Each item, in order: its id, a digest of each of its columns that are not the same for all, and its source."""
    if step not in manifests:
        return
    columns = columns_of(store.rows(manifests[step]).arrow)
    told = {name: values for name, values in columns.items() if name not in _IDS and not name.startswith("origin.")}
    cells = {name: [digest(value, 2) for value in values] for name, values in told.items()}
    varied = {name: values for name, values in cells.items() if len(set(values)) > 1}
    same = [f"{name}:{values[0]}" for name, values in cells.items() if name not in varied and values]
    yield line("items", step, columns=" ".join(varied), same=" ".join(same))
    origins = zip(columns["origin.file"], columns["origin.line"], strict=True)
    for number, (identity, (file, unit)) in enumerate(zip(columns["id"], origins, strict=True)):
        digests = "".join(values[number] for values in varied.values())
        yield f"- {digest(identity)} {digests} {file.rpartition('/')[2]}:{unit}"


def step_lines(name: str, manifest: Manifest, store: Store) -> Iterator[str]:
    """The key, the rows and the outcomes of a step."""
    columns = columns_of(store.rows(manifest).arrow)
    yield key_line(manifest)
    if manifest.row == "score":
        yield from score_lines(name, columns)
    elif manifest.row == "answer":
        texts = columns["text"]
        yield line("answers", name, n=len(texts), texts=ordered(texts), each=each(texts, 1))
    else:
        yield rows_line("step", name, columns)
    yield from outcome_lines(name, store.outcomes(manifest).to_pylist())


def file_lines(folder: Path, tasks: Iterable[str]) -> Iterator[str]:
    """The files of items and the ledger, as they were written."""
    for task in tasks:
        path = folder / task / "items.jsonl"
        if not path.exists():
            continue
        rows = [json.loads(text) for text in path.read_text("utf-8").splitlines()]
        columns = {key: [row.get(key) for row in rows] for key in dict.fromkeys(key for row in rows for key in row)}
        yield rows_line("file", path.relative_to(folder).as_posix(), columns)
    ledger = (folder / "ledger.tsv").read_text("utf-8").splitlines()
    yield line("file", "ledger.tsv", n=len(ledger), lines=whole(ledger), order=ordered(ledger))


# --- results


def score_lines(name: str, columns: Mapping[str, list[Any]]) -> Iterator[str]:
    """The scores that one scorer gives one system, by aspect."""
    told = list(zip(*(columns[part] for part in ("value", "label", "detail", "counts")), strict=True))
    for aspect in dict.fromkeys(columns["aspect"]):
        scores = [score for score, of in zip(told, columns["aspect"], strict=True) if of == aspect]
        values = [value for value, *_ in scores if value is not None]
        mean = f"{sum(values) / len(values):.4f}" if values else "none"
        yield line("scores", f"{name} {aspect}", n=len(scores), mean=mean, whole=ordered(scores), each=each(scores, 1))


def table_lines(name: str, folder: Path) -> Iterator[str]:
    """The tables of results, a digest for each row; the ids of recipe and benchmark are those of the keys."""
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as stream:
            rows = [
                [_cell(text) for name, text in row.items() if name not in ("benchmark", "recipe")]
                for row in csv.DictReader(stream)
            ]
        yield line(
            "table", " ".join(filter(None, (name, path.stem))), n=len(rows), whole=ordered(rows), each=each(rows, 2)
        )


def _cell(text: str) -> Any:
    """A cell of a table, as a number if it is one."""
    try:
        return float(text)
    except ValueError:
        return text


def audit_lines(task: str, result: AuditResult) -> Iterator[str]:
    """What each view of the audit guesses of all items, and a digest of what it guesses of their groups."""
    views = defaultdict[tuple[str, str], list[Any]](list)
    for check in result.checks:
        views[check.target, check.view].append(check)
    for (target, view), checks in views.items():
        everywhere = [check for check in checks if check.scope == "all"]
        groups = [[check.scope, check.group, check.n, f"{check.score:.3f}", check.word] for check in checks]
        told = {"score": f"{everywhere[0].score:.3f}", "word": everywhere[0].word} if everywhere else {}
        yield line("audit", " ".join(filter(None, (task, target, view))), **told, groups=whole(groups))


# --- requests


class RequestRecorder(SerialDriver):
    """Notes each request that a model would get, and answers with the reply that the step expects."""

    def __init__(self) -> None:
        self.requests = defaultdict[str, list[tuple[str, Request]]](list)

    def drive(self, step: str, spec: KindSpec, conversation: Conversation) -> list[Outcome]:
        model = create_from_spec("model", spec)
        try:
            request = next(conversation)
            while True:
                self.requests[step].append((request_key(model, request), request))
                request = conversation.send(Reply(request.expected, "complete", assumed=True))
        except StopIteration as end:
            return end.value

    def lines(self) -> Iterator[str]:
        """The requests of each step: their keys, what they share, and each one's own messages."""
        for step, asked in sorted(self.requests.items()):
            asked.sort(key=lambda one: one[0])
            requests = [request for _, request in asked]
            system = {part.content for one in requests for part in one.messages if part.role == "system"}
            sampling = {str(sorted(one.sampling.items())) for one in requests}
            schema = {json.dumps(one.schema, sort_keys=True) for one in requests}
            told = sorted(
                [[part.role, part.content] for part in one.messages if part.role != "system"] for one in requests
            )
            yield line(
                "requests", step, n=len(asked), keys=whole(key for key, _ in asked), system=whole(system),
                sampling=whole(sampling), schema=whole(schema),
                messages=whole(told),
            )  # fmt: skip
