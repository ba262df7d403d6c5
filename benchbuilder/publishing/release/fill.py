"""Fills the folder of a release with rows: items by configuration and split, private questions, evidence and votes."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from benchbuilder.annotation import Subject, Votes, judgement_requests, make_candidate_tasks
from benchbuilder.config import ReleaseSpec
from benchbuilder.core import (
    Claim,
    Problem,
    RecipeError,
    Table,
    flat_record_schema,
    flat_records,
    join_groups,
    schema_of,
)
from benchbuilder.exporters import FinishedBuild, random_order_key
from benchbuilder.pipeline import Plan, Store
from benchbuilder.publishing.release.item_order import chosen_items, items_in_order, items_of_material, items_of_task
from benchbuilder.publishing.release.items import TEST, SharedItem, config_name
from benchbuilder.publishing.release.material import ReleaseMaterial, TaskMaterial
from benchbuilder.publishing.release.private_folder import PrivateFolder, Use, make_private
from benchbuilder.publishing.release.record import ReleasedConfig
from benchbuilder.publishing.release.records import (
    CANARY,
    private_record,
    private_schema,
    public_record,
    public_schema,
    released_columns,
)
from benchbuilder.steps import ReviewStep

PRIVATE, EVIDENCE, VOTES = "private", "evidence", "votes"
REPLACES = "replaces"
"""The column with the id that a fixed item had before; there is none before an item was fixed."""
_EVIDENCE_SCHEMA = pa.schema([
    *(pa.field(name, pa.string()) for name in ("item", CANARY, "passage", "base", "document", "title", "text")),
    pa.field("score", pa.float64()), pa.field("rank", pa.int64()), pa.field("licence", pa.string()),
])  # fmt: skip


@dataclass(frozen=True)
class Filled:
    """What was written: the configurations and their columns, what each question is used for, and what stays here.

    `columns` are those of the items, spelled as in the build. `public` are the ids of the items whose labels are
    published. `withheld` maps each task to its private rows and their published names.
    """

    configs: tuple[ReleasedConfig, ...]
    schemas: Mapping[str, pa.Schema]
    columns: tuple[str, ...]
    uses: Mapping[str, Use]
    public: frozenset[str]
    withheld: Mapping[str, tuple[Table[Any], tuple[str, ...]]]

    def save_private(self, folder: Path) -> None:
        """Write the private items with all that is known of them: for scoring, and for people to read."""
        if not self.withheld:
            return
        make_private(folder.parent)
        make_private(folder)
        names = {
            task: dict(zip(table.ids(), published, strict=True)) for task, (table, published) in self.withheld.items()
        }
        (folder / "names.json").write_text(json.dumps(names, indent=1), encoding="utf-8", newline="\n")
        for task, (table, _) in self.withheld.items():
            _write_parquet(folder / f"{task or 'items'}.parquet", table)
            lines = ({"name": names[task][record["id"]], **record} for record in flat_records(table))
            _write_rows(folder / f"{task or 'items'}.jsonl", lines)


def fill_release(
    material: ReleaseMaterial, private: PrivateFolder, version: str, canary: str, folder: Path,
    replaced: Mapping[str, str],
) -> Filled:  # fmt: skip
    """Divide the items and write their files into `folder`; RecipeError if nothing would be left to ask.

    `replaced` has the ids that fixed items replace, by their own.
    """
    recipe = material.loaded.whole
    keys: list[ItemKey] = []
    names = question_names(_noted(items_of_material(material), keys), private)
    _check_payloads(material)
    pairs = [(pair.first, pair.second) for task in material.tasks for pair in task.texts.duplicates]
    used = divide(keys, names, recipe.release, private, pairs)
    public = {key.id: random_order_key(recipe.seed, key.id) for key in keys if used[key.id] != "private"}
    writer = _Writer(folder, _Licences(material), canary)
    schemas = {task.loaded.task: public_schema(flat_record_schema(items_of_task(task).row)) for task in material.tasks}
    if replaced:
        schemas = {task: schema.append(pa.field(REPLACES, pa.string())) for task, schema in schemas.items()}
    writer.write_items(_replacing(items_in_order(material, public, folder), replaced), schemas, used)
    withheld = {key.id: private.digest("order", names[key.id]) for key in keys if key.id not in public}
    if withheld:
        schema = private_schema(with_task=len(material.tasks) > 1)
        items = items_in_order(material, withheld, folder)
        rows = (private_record(item, names[item.id], canary, version, schema, private) for item in items)
        writer.write(PRIVATE, TEST, rows, schema, private=True)
    writer.keep_evidence()
    writer.write_some(VOTES, VOTES_SCHEMA, (
        vote
        for task in material.tasks
        for vote in released_votes(material.plan, material.store, task.finished, public, private, canary)
    ))  # fmt: skip
    schema = flat_record_schema(items_of_task(material.tasks[0]).row)
    return Filled(
        configs=tuple(writer.configs.values()),
        schemas=writer.schemas,
        columns=(*released_columns(schema), CANARY, "licence", *([REPLACES] if replaced else [])),
        uses={names[key.id]: used[key.id] for key in keys},
        public=frozenset(public),
        withheld={task.loaded.task: _withheld(task, names, withheld) for task in material.tasks} if withheld else {},
    )


def _noted(items: Iterable[SharedItem], keys: list[ItemKey]) -> Iterator[SharedItem]:
    """The items; the key of each goes to `keys`."""
    for item in items:
        keys.append(ItemKey.of(item))
        yield item


def _replacing(items: Iterable[SharedItem], replaced: Mapping[str, str]) -> Iterator[SharedItem]:
    """The items, with the ids that they replace if there are any."""
    for item in items:
        columns = {**item.columns, REPLACES: replaced.get(item.id, "")} if replaced else item.columns
        yield replace(item, columns=columns)


def _check_payloads(material: ReleaseMaterial) -> None:
    """RecipeError if labels are to be held back of items of which nobody knows which columns are labels."""
    if not material.loaded.whole.release.private:
        return
    for task in material.tasks:
        row: Any = items_of_task(task).row
        if not issubclass(row.model_fields["payload"].annotation, Claim):
            raise RecipeError([Problem(
                "only questions with a right and a wrong answer can have private labels", key="release.private",
                actual=str(material.loaded.whole.release.private), hint="set release.private=0",
            )])  # fmt: skip


def _withheld(
    task: TaskMaterial, names: Mapping[str, str], withheld: Collection[str]
) -> tuple[Table[Any], tuple[str, ...]]:
    own = chosen_items(task, withheld)
    return own, tuple(names[name] for name in own.ids())


class _Licences:
    """The licence of each source; of groups that steps made, the one that all sources share."""

    def __init__(self, material: ReleaseMaterial) -> None:
        self._of = {source.name: source.terms.declared for source in material.sources}
        shared = set(self._of.values())
        self._shared = shared.pop() if len(shared) == 1 else ""

    def of(self, source: str) -> str:
        """The licence as the recipe states it; empty if it is not stated or not known which source it is."""
        return self._of.get(source, self._shared)


class _Writer:
    """Writes rows as JSON lines, and remembers configurations and columns."""

    def __init__(self, folder: Path, licences: _Licences, canary: str) -> None:
        self.configs: dict[str, ReleasedConfig] = {}
        self.schemas: dict[str, pa.Schema] = {}
        self._paragraphs = 0
        self._folder, self._licences, self._canary = folder, licences, canary

    def write_items(
        self, items: Iterable[SharedItem], schemas: Mapping[str, pa.Schema], used: Mapping[str, Use]
    ) -> None:
        """Write public items, one file for each configuration and split, and every paragraph as a row of its own.

        `schemas` has the columns of each task. Configurations of true/false questions come first.
        """
        found: dict[str, dict[tuple[str, str, str, str], int]] = {task: {} for task in schemas}
        with ExitStack() as opened:
            files: dict[str, TextIO] = {}

            def write(file: str, row: Mapping[str, Any]) -> None:
                if file not in files:
                    files[file] = opened.enter_context(_open(self._folder / file))
                _write_row(files[file], row)

            for item in items:
                schema, counts = schemas[item.task], found[item.task]
                key = (item.config, used[item.id], item.task, item.type)
                counts[key] = counts.get(key, 0) + 1
                licence = self._licences.of(item.source)
                write(_file_of(item.config, used[item.id]), public_record(item, schema, self._canary, licence))
                for support in item.columns.get("evidence") or ():
                    licence = self._licences.of(support["base"])
                    values = {**support, "item": item.id, CANARY: self._canary, "licence": licence}
                    write(_file_of(EVIDENCE, EVIDENCE), {name: values[name] for name in _EVIDENCE_SCHEMA.names})
                    self._paragraphs += 1
        for task, counts in found.items():
            for key in sorted(counts, key=lambda key: (key[0] != "tf", key[0], key[1] != TEST)):
                config, split, _, item_type = key
                self._keep(config, split, counts[key], schemas[task], task=task, item_type=item_type)

    def keep_evidence(self) -> None:
        """Name the paragraphs among the configurations, if there are any."""
        if self._paragraphs:
            self._keep(EVIDENCE, EVIDENCE, self._paragraphs, _EVIDENCE_SCHEMA)

    def write_some(self, config: str, schema: pa.Schema, rows: Iterator[Mapping[str, Any]]) -> None:
        """Write the rows of a configuration with one split, if there are any."""
        first = next(rows, None)
        if first is not None:
            self.write(config, config, chain([first], rows), schema)

    def write(
        self, config: str, split: str, rows: Iterable[Mapping[str, Any]], schema: pa.Schema, *, private: bool = False
    ) -> None:
        """Write the rows of a split."""
        count = _write_rows(self._folder / _file_of(config, split), rows)
        self._keep(config, split, count, schema, private=private)

    def _keep(
        self, config: str, split: str, count: int, schema: pa.Schema, *, task: str = "", item_type: str = "",
        private: bool = False,
    ) -> None:  # fmt: skip
        """Remember a split that was written."""
        before = self.configs.get(config)
        files, counts = ({}, {}) if before is None else (before.files, before.items)
        self.configs[config] = ReleasedConfig(
            name=config, task=task, type=item_type, private=private,
            files={**files, split: _file_of(config, split)}, items={**counts, split: count},
        )  # fmt: skip
        self.schemas[config] = schema


def _write_parquet(path: Path, table: Table[Any]) -> None:
    """Write rows in groups of about the size of a window."""
    held, schema = list[pa.Table](), schema_of(table.row)
    with pq.ParquetWriter(path, schema) as writer:
        for piece in table.batches():
            held.append(piece)
            if sum(one.nbytes for one in held) > table.window_bytes:
                writer.write_table(pa.concat_tables(held))
                held.clear()
        if held or not len(table):
            writer.write_table(pa.concat_tables([schema.empty_table(), *held]))


def _file_of(config: str, split: str) -> str:
    return f"{config}/{split}.jsonl"


def _write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows one at a time; how many."""
    count = 0
    with _open(path) as stream:
        for row in rows:
            _write_row(stream, row)
            count += 1
    return count


def _open(path: Path) -> TextIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("w", encoding="utf-8", newline="\n")


def _write_row(stream: TextIO, row: Mapping[str, Any]) -> None:
    stream.write(json.dumps(row, ensure_ascii=False) + "\n")


VOTES_SCHEMA = pa.schema([
    *(pa.field(name, pa.string()) for name in ("item", CANARY, "subject", "passage", "question", "role", "annotator")),
    pa.field("value", pa.float64()),
])  # fmt: skip
"""`subject` is ``claim`` or ``evidence``, `role` ``annotator`` or ``adjudicator``. `passage` is empty for a claim."""


def released_votes(
    plan: Plan, store: Store, finished: FinishedBuild, public: Collection[str], private: PrivateFolder, canary: str
) -> Iterator[dict[str, Any]]:
    """Every vote on the items `public`, by the order of the items; answers in words are left out, for names hide there.

    Annotators are named by a hash that only the secret of the private folder can compute: the same person has the same
    name in every release, and no list of names can be tried.
    """
    node = plan.nodes[finished.items]
    step = node.producer
    annotation = step.backend.annotation_spec if isinstance(step, ReviewStep) else None
    if annotation is None or not isinstance(step, ReviewStep) or not {"each", "evidence"} <= set(node.inputs):
        return
    tables = {port: [finished.tables[name] for name in names] for port, names in node.inputs.items()}
    tasks = make_candidate_tasks(chain.from_iterable(tables["each"]), chain.from_iterable(tables["evidence"]))
    requests = judgement_requests(tasks.tasks, annotation)
    votes = step.backend.collect(requests.keys(), store.workplace)
    subjects: dict[str, list[Subject]] = {}
    for subject in requests:
        subjects.setdefault(subject.key, []).append(subject)
    evidence = {
        place[:2]: place[2]
        for table in tables["evidence"]
        for place in zip(*(table.column(name) for name in ("of", "passage", "id")), strict=True)
    }
    name_of = cache(partial(pseudonym, private))
    in_words = {name for name, asked in annotation.questions_about().items() if asked.answer == "text"}
    for item in finished.tables[finished.items]:
        if item.id not in public:
            continue
        shown = {"": tasks.task_key_of[item.candidate]}
        for support in item.payload.evidence:
            shown[support.passage] = tasks.paragraph_key_of[evidence[item.candidate, support.passage]]
        for passage, key in shown.items():
            for subject in subjects.get(key, ()):
                request = requests[subject]
                head = {"item": item.id, CANARY: canary, "subject": request.subject_kind, "passage": passage,
                        "question": request.question}  # fmt: skip
                if request.question not in in_words:
                    yield from ({**head, **cells} for cells in _votes_on(subject, votes, name_of))


def _votes_on(subject: Subject, votes: Votes, name_of: Callable[[str], str]) -> list[dict[str, Any]]:
    given = [("annotator", person, value) for person, value in votes.by_subject.get(subject, {}).items()]
    if subject in votes.decisions:
        given.append(("adjudicator", *votes.decisions[subject]))
    named = sorted(((role, name_of(person), value) for role, person, value in given), key=itemgetter(0, 1))
    return [{"role": role, "annotator": name, "value": float(value)} for role, name, value in named]


def pseudonym(private: PrivateFolder, person: str) -> str:
    """What stands for a person in every release of a benchmark."""
    return "person-" + private.digest("person", person)[:8]


@dataclass(frozen=True, slots=True)
class ItemKey:
    """What is held of every item while a release is made: no text and no paragraph."""

    id: str
    task: str
    type: str
    family: str
    asked_as: str

    @classmethod
    def of(cls, item: SharedItem) -> ItemKey:
        """That of an item."""
        return cls(item.id, *map(sys.intern, (item.task, item.type, item.family, item.asked_as)))

    @property
    def config(self) -> str:
        """The name of its configuration."""
        return config_name(self.task, self.type)


def question_names(items: Iterable[SharedItem], private: PrivateFolder) -> dict[str, str]:
    """A secret name for each item, by its id.

    It depends on the question alone. So the name of a private question says nothing about its label, and stays the same
    when its label is corrected. Items that ask the same get names by their place among the sorted ids.
    """
    first: dict[str, str] = {}
    repeated: dict[str, tuple[tuple[str, ...], list[str]]] = {}
    for item in items:
        asked = (item.task, item.type, *((item.context, item.question) if item.question else (item.id,)))
        name = _question_name(private, asked, 0)
        if (former := first.setdefault(name, item.id)) != item.id:
            repeated.setdefault(name, (asked, [former]))[1].append(item.id)
    names = {item: name for name, item in first.items()}
    for asked, ids in repeated.values():
        names.update((item, _question_name(private, asked, place)) for place, item in enumerate(sorted(ids)))
    return names


def _question_name(private: PrivateFolder, asked: tuple[str, ...], place: int) -> str:
    return "question-" + private.digest("question", *asked, str(place))[:20]


def divide(
    items: Sequence[SharedItem | ItemKey],
    names: Mapping[str, str],
    spec: ReleaseSpec,
    private: PrivateFolder,
    pairs: Iterable[tuple[str, str]] = (),
) -> dict[str, Use]:
    """What each item is used for, by its id; RecipeError if nothing is left to ask.

    `pairs` are ids of items that say nearly the same, or contradict each other: one would tell the label of the other,
    so their families stay together. Families are taken whole, in an order that only the secret tells. A family keeps
    its use from one release to the next: labels that were published are never private later. A family that was private
    stays private, unless another item of it was published before, or `private` is 0 now.
    """
    families: defaultdict[str, list[SharedItem | ItemKey]] = defaultdict(list)
    places = {item.id: place for place, item in enumerate(items)}
    joined = join_groups([item.family or item.id for item in items], [(places[a], places[b]) for a, b in pairs])
    for item, family in zip(items, joined, strict=True):
        families[family].append(item)
    use_of: dict[str, Use] = {}
    for family, members in families.items():
        former = {private.uses[name] for item in members if (name := names[item.id]) in private.uses}
        if former:
            published: Use = "dev" if "dev" in former else "test"
            use_of[family] = "private" if former == {"private"} and spec.private else published
    free = sorted((f for f in families if f not in use_of), key=lambda family: private.digest("family", family))
    wanted = spec.private * len(items) - sum(len(families[f]) for f, use in use_of.items() if use == "private")
    for family in free if spec.private else ():
        if len(families[family]) <= wanted:
            use_of[family] = "private"
            wanted -= len(families[family])
    _choose_examples(families, [f for f in free if f not in use_of], use_of, spec.dev)
    uses: dict[str, Use] = {
        item.id: use_of.get(family, "test") for family, members in families.items() for item in members
    }
    empty = {item.config for item in items} - {item.config for item in items if uses[item.id] == "test"}
    if empty:
        raise RecipeError([Problem(
            f"no item of {', '.join(sorted(empty))} is left in the split test", key="release",
            actual=f"private {spec.private:g}, dev {spec.dev}", hint="set release.private or release.dev lower",
        )])  # fmt: skip
    return uses


def _choose_examples(
    families: Mapping[str, Sequence[SharedItem | ItemKey]], free: Sequence[str], use_of: dict[str, Use], least: int
) -> None:
    """Give families to the split dev until each configuration has `least` items there; questions for sets are apart."""
    missing = Counter({item.asked_as: least for members in families.values() for item in members})
    missing.subtract(item.asked_as for f, use in use_of.items() if use == "dev" for item in families[f])
    for family in free:
        if any(missing[item.asked_as] > 0 for item in families[family]):
            use_of[family] = "dev"
            missing.subtract(item.asked_as for item in families[family])
