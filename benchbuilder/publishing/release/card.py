"""The card of a release: the card of its build with what the Hub and its users need."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast, get_args

import pyarrow as pa
import yaml
from markupsafe import Markup

from benchbuilder.core import PageTexts
from benchbuilder.exporters import (
    DatasetCard,
    DatasetCardSpec,
    FinishedBuild,
    divide_card,
    hub_licence,
    render_markdown,
    texts_as_markdown,
)
from benchbuilder.publishing.release.item_changes import TABLE_FILE, WITHDRAWN_FILE
from benchbuilder.publishing.release.item_order import chosen_items
from benchbuilder.publishing.release.material import ReleaseMaterial, TaskMaterial
from benchbuilder.publishing.release.record import ReleaseRecord
from benchbuilder.publishing.release.records import feature
from benchbuilder.publishing.release.refusals import ReleaseRefusal
from benchbuilder.publishing.release.scorecard.scorecard import Scorecard
from benchbuilder.publishing.release.sentences import told
from benchbuilder.steps import ErratumKind

_PACKAGE = ("benchbuilder.publishing.release",)
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


@dataclass(frozen=True)
class CardColumns:
    """The columns of each configuration, and those of the items, spelled as in the build."""

    by_config: Mapping[str, pa.Schema]
    of_items: Sequence[str]


def render_cards(
    material: ReleaseMaterial, record: ReleaseRecord, columns: CardColumns, public: Collection[str],
    files: Collection[str], scorecard: Scorecard, refusals: Sequence[ReleaseRefusal],
) -> dict[str, str]:  # fmt: skip
    """The card in Markdown, and one for each of several tasks, by the names of the files.

    They count and audit only what is public. `public` are the ids of public items, `files` the other
    files of the release that the card may name.
    """
    audited = not record.private_items
    t = texts_of_card(material)
    note = t("release.changes_canary", canary=f"`{record.canary}`")
    front_matter = _front_matter(record, columns, _card_spec(material.tasks[0]))
    release = render_markdown(
        "release.md.j2", _PACKAGE, release=record, tasks=material.tasks, raw=Markup, t=texts_as_markdown(t), texts=t,
        told=partial(told, t=t), refusals=[refusal.text.text(t) for refusal in refusals],
        repository=material.loaded.whole.release.repository,
        people=any(config.name == "votes" for config in record.configs),
        contact=material.loaded.whole.release.contact, kinds=get_args(ErratumKind),
        changed_items=TABLE_FILE in files, withdrawn=WITHDRAWN_FILE in files, scorecard=scorecard,
    )  # fmt: skip
    if len(material.tasks) == 1:
        task = material.tasks[0]
        card = DatasetCard(_card_spec(task))
        view = _public_view(task, public, audited=audited)
        text = card.text(view, front_matter=front_matter, release=release, fields=columns.of_items)
        return divide_card(text, "README.md", t, note)
    parts = [task.loaded.task for task in material.tasks]
    text = render_markdown(
        "tasks.md.j2", _PACKAGE, front_matter=Markup(front_matter.strip()), release=Markup(release), raw=Markup,
        card=material.loaded.whole.card, tasks=parts, t=texts_as_markdown(t), texts=t,
    )  # fmt: skip
    cards = divide_card(text, "README.md", t, note)
    for task in material.tasks:
        text = DatasetCard(_card_spec(task)).text(
            _public_view(task, public, audited=audited), front_matter="-",
            release=texts_as_markdown(t)("release.part_of", title=record.title, version=record.version,
                                         canary=Markup(f"`{record.canary}`")), fields=columns.of_items,
        )  # fmt: skip
        files = divide_card(text.split("---\n", 2)[2].lstrip(), "README.md", t, note)
        cards |= {f"{task.loaded.task}/{name}": text for name, text in files.items()}
    return cards


def texts_of_card(material: ReleaseMaterial) -> PageTexts:
    """The texts in the language of the card, which is also that of the other pages of a release."""
    return _card_spec(material.tasks[0]).texts(material.tasks[0].finished.recipe["language"])


def _card_spec(task: TaskMaterial) -> DatasetCardSpec:
    """The settings of the recipe's card, or those of a plain one."""
    cards = [spec for spec in task.loaded.recipe.outputs.values() if isinstance(spec, DatasetCardSpec)]
    plain = DatasetCardSpec(
        kind="card", file="README.md", language="en", tags=(), cue_words=(), task_categories=("question-answering",)
    )
    return cards[0] if cards else plain


def public_material(material: ReleaseMaterial, public: Collection[str]) -> ReleaseMaterial:
    """The build as if only the items with these ids were there: counts of private ones would tell of their labels."""
    tasks = (replace(task, finished=_public_view(task, public, audited=True)) for task in material.tasks)
    return replace(material, tasks=tuple(tasks))


def _public_view(task: TaskMaterial, public: Collection[str], *, audited: bool) -> FinishedBuild:
    """The build as if only the public items were there; with private ones, figures of the audit would count theirs."""
    tables: Any = ChainMap({task.finished.items: chosen_items(task, public)}, cast("Any", task.finished.tables))
    return replace(task.finished, tables=tables, audit=task.audit.result if audited else None)


def _front_matter(record: ReleaseRecord, columns: CardColumns, spec: DatasetCardSpec) -> str:
    items = sum(sum(config.items.values()) for config in record.configs if config.name not in ("evidence", "votes"))
    data: dict[str, Any] = {"language": [record.language], **hub_licence(record.licence), "pretty_name": record.title}
    data["size_categories"] = [next((name for top, name in _SIZES if items < top), "n>1M")]
    data["task_categories"] = list(spec.task_categories)
    data["tags"] = [*spec.tags, "benchmark", "misinformation", "croissant"]
    data["configs"] = [
        {"config_name": config.name, "data_files": [{"split": s, "path": file} for s, file in config.files.items()]}
        | ({"default": True} if place == 0 else {})
        for place, config in enumerate(record.configs)
    ]
    data["dataset_info"] = [
        {"config_name": config.name, "features": [feature(field) for field in columns.by_config[config.name]]}
        for config in record.configs
    ]
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=10_000)
