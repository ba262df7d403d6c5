"""The exporter kind `card`: a dataset card in Markdown, with the models that wrote texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import yaml
from markupsafe import Markup

from benchbuilder.config import KindSpec
from benchbuilder.core import PageTexts, find_kind, flat_record_schema, write_atomically
from benchbuilder.exporters.base import Exporter, FileName, FinishedBuild, PageSpec
from benchbuilder.exporters.render.templates import markdown_text, render_markdown
from benchbuilder.exporters.report import funnel
from benchbuilder.exporters.report.annotation import LabelTexts, annotation_summaries
from benchbuilder.exporters.report.audit import AuditSentences
from benchbuilder.exporters.report.counts import count_entries, groups_of, score_blind_baselines, types_of
from benchbuilder.exporters.report.coverage import claim_dates
from benchbuilder.exporters.report.entries import sources_of
from benchbuilder.exporters.report.summaries import EntrySummary, item_summaries
from benchbuilder.models import Model

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_HUB_LICENCES = frozenset((
    "apache-2.0", "mit", "openrail", "bsd", "bsd-2-clause", "bsd-3-clause", "cc", "cc0-1.0", "cc-by-2.0",
    "cc-by-2.5", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-2.0", "cc-by-nc-3.0",
    "cc-by-nc-4.0", "cc-by-nd-4.0", "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0", "cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0",
    "cc-by-nc-sa-4.0", "cdla-sharing-1.0", "cdla-permissive-1.0", "cdla-permissive-2.0", "gpl-2.0", "gpl-3.0",
    "lgpl-3.0", "agpl-3.0", "mpl-2.0", "odc-by", "odbl", "pddl", "unlicense", "gfdl",
))  # fmt: skip


class DatasetCardSpec(PageSpec):
    """`tags` and `task_categories` go to the Hub as they are.

    `cue_words` are words that give away a negative answer: the card says, by source, how often they alone are right.
    """

    file: FileName
    tags: tuple[str, ...]
    task_categories: tuple[str, ...]
    cue_words: tuple[str, ...]


class DatasetCard(Exporter):
    """A dataset card in Markdown, with the YAML front matter of the Hugging Face Hub.

    Licences, uses and limits are what the recipe says; what it does not say is named as not stated.
    """

    kind: ClassVar[str] = "card"
    version: ClassVar[int] = 2
    spec_class: ClassVar[type[KindSpec]] = DatasetCardSpec

    spec: DatasetCardSpec

    def output_names(self) -> tuple[str, ...]:
        """The names of the card and of the folder of its tables."""
        return (self.spec.file, _table_folder(self.spec.file))

    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        """Write the card, and what is not on its first page into files beside it."""
        t = self.spec.texts(finished.recipe["language"])
        files = divide_card(self.text(finished), self.spec.file, t)
        (folder / _table_folder(self.spec.file)).mkdir(exist_ok=True)
        return [write_atomically(folder / name, text, sync=False) for name, text in files.items()]

    def text(
        self, finished: FinishedBuild, *, front_matter: str = "", release: str = "", fields: Sequence[str] = ()
    ) -> str:
        """The whole card, which `divide_card` makes files of.

        Args:
            finished: The build.
            front_matter: YAML for the Hub; without it, the one that loads the files of the build.
            release: Markdown of a release, put after the summary.
            fields: The columns that the files have, instead of those of the build.
        """
        t = self.spec.texts(finished.recipe["language"])
        context = _context(finished, item_summaries(finished, self.spec.cue_words), self.spec, t) | {
            "release": Markup(release)
        }
        if front_matter:
            context["front_matter"] = Markup(front_matter.strip())
        if fields:
            context["fields"] = fields
        context["fields_lead"] = t("release.fields_lead" if fields else "card.fields_lead")
        return render_markdown("card.md.j2", t=texts_as_markdown(t), text=t, **context)


def _table_folder(file: str) -> str:
    """The folder of the tables of a card."""
    return "tables" if file == "README.md" else f"{Path(file).stem}_tables"


def divide_card(text: str, file: str, t: PageTexts, note: str = "") -> dict[str, str]:
    """The files of a card by name: what templates put between lines with a form feed goes into tables beside it.

    A table begins with the line ``\\fNAME`` and ends with ``\\f``; ``\\flinks`` is where the card links to them. `note`
    ends each table.
    """
    kept, *pieces = re.split(r"(?m)^\f(\w*)\n", text)
    tables: dict[str, str] = {}
    for name, piece in zip(pieces[::2], pieces[1::2], strict=True):
        if name in ("", "links"):
            mark = "\f" if name else ""
            kept = f"{kept.rstrip()}\n\n{mark}{piece.lstrip()}"
        elif piece.strip():
            tables[name] = f"{tables.get(name, '')}{piece.strip()}\n\n"
    folder = _table_folder(file)
    titles = {name: table.partition("\n")[0].lstrip("# ") for name, table in tables.items()}
    links = " · ".join(f"[{title}]({folder}/{name}.md)" for name, title in titles.items())
    more = f"## {t('card.more')}\n\n{links}\n\n" if links else ""
    return {file: kept.replace("\f", more)} | {
        f"{folder}/{name}.md": f"{table[1:]}{note}".rstrip() + "\n" for name, table in tables.items()
    }


def texts_as_markdown(t: PageTexts) -> Callable[..., Markup]:
    """The texts of a card, which are Markdown already; the values filled in are escaped."""

    def card_text(key: str, **values: object) -> Markup:
        return Markup(t(key, **{name: markdown_text(v) if isinstance(v, str) else v for name, v in values.items()}))

    return card_text


def _context(
    finished: FinishedBuild, made: Sequence[EntrySummary], spec: DatasetCardSpec, t: PageTexts
) -> dict[str, Any]:
    sources = groups_of(made, sources_of(finished))
    judged = annotation_summaries(finished)
    return {
        "front_matter": Markup(_front_matter(finished, len(made), spec)),
        "card": finished.recipe["card"],
        "recipe": finished.recipe,
        "reviewed": any(entry.reviewed for entry in made),
        "judged_items": sum(entry.reviewed for entry in made),
        "total": len(made),
        "dates": t("report.list_comma").join(f"{date} ({n:,})" for date, n in claim_dates(finished)),
        "in_random_order": _in_random_order(finished.recipe.get("outputs") or {}),
        "sources": sources,
        "types": types_of(made),
        "counts": count_entries(made),
        "published": [
            {"name": account.step, **finished.recipe["sources"].get(account.step, {})}
            for account in finished.step_counts
            if not account.inputs
        ],
        "steps": [(account, funnel.outcome_totals(account)) for account in finished.step_counts],
        "authors": prompting_steps(finished),
        "judged": judged,
        "labels": LabelTexts(t),
        "recheck": finished.recheck,
        "audit": None if finished.audit is None else AuditSentences(finished.audit, t),
        "baselines": score_blind_baselines(made, sources, cue_words=bool(spec.cue_words)),
        "cue_words": spec.cue_words,
        "sample_votes": funnel.holds_sample_votes(finished.recipe),
        "fields": flat_record_schema(finished.tables[finished.items].row).names,
    }


def _front_matter(finished: FinishedBuild, count: int, spec: DatasetCardSpec) -> str:
    """The front matter for the Hub; a licence that the Hub does not know is `other` with its name."""
    recipe, card = finished.recipe, finished.recipe["card"]
    data: dict[str, Any] = {"language": [recipe["language"]], **hub_licence(card["licence"])}
    data["pretty_name"] = card["title"]
    data["size_categories"] = [next((name for top, name in _SIZES if count < top), "n>1M")]
    data["task_categories"] = list(spec.task_categories)
    if spec.tags:
        data["tags"] = list(spec.tags)
    if file := _data_file(recipe.get("outputs") or {}):
        data["configs"] = [{"config_name": "default", "data_files": file}]
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=10_000).strip()


def hub_licence(declared: str) -> dict[str, str]:
    """A licence as the front matter names it: one that the Hub does not know is `other` with its name."""
    if not declared:
        return {}
    name = declared.strip().lower().replace(" ", "-")
    return {"license": name} if name in _HUB_LICENCES else {"license": "other", "license_name": declared}


def _data_file(outputs: Mapping[str, Mapping[str, Any]]) -> str:
    """The file that loads the items: Parquet if there is one, else JSON lines."""
    files = {node.get("kind"): node["file"] for node in _item_outputs(outputs)}
    return str(files.get("parquet") or files.get("jsonl") or "")


def _in_random_order(outputs: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether every file of items has its rows in random order."""
    orders = {node.get("order", "random") for node in _item_outputs(outputs)}
    return orders == {"random"}


def _item_outputs(outputs: Mapping[str, Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The outputs that are files of the items."""
    return [node for node in outputs.values() if "step" in node and node["step"] is None]


ANSWERED_BY = "by "
"""Precedes, in `produced_by` of an answer, the name of the model that the service says it used."""
_PROMPTS = ("system", "prompt", "check", "pairs", "repair", "alone")


@dataclass(frozen=True)
class PromptingStep:
    """A step that puts prompts to a model, and its settings.

    `settings` are sent; `omitted` names those that the backend does not accept. The model wrote `rows` of `total`
    rows. `recorded_in` names the file of recorded replies that replaced the model, if any. `answered_by` are the models
    that the service says it used.
    """

    step: str
    model: str
    backend: str
    recorded_in: str
    strategy: str
    settings: Mapping[str, Any]
    omitted: tuple[str, ...]
    prompts: tuple[str, ...]
    rows: int
    total: int
    answered_by: tuple[str, ...] = ()


def prompting_steps(finished: FinishedBuild) -> list[PromptingStep]:
    """The steps whose rows a model may have written, in the order of the flow."""
    return [author for account in finished.step_counts for author in _prompting_step(finished, account.step)]


def _prompting_step(finished: FinishedBuild, step: str) -> Iterator[PromptingStep]:
    spec_data: Mapping[str, Any] = (finished.recipe.get("steps") or {}).get(step) or {}
    node: Any = spec_data.get("model")
    if not isinstance(node, Mapping) or node.get("kind", "none") == "none" or spec_data.get("strategy") == "rules":
        return
    kind: type[Model] = find_kind("model", node["kind"]).load()
    spec: KindSpec = kind.spec_class.model_validate(node)
    model = kind(spec)
    chosen = {name: value for name, value in (spec_data.get("sampling") or {}).items() if value is not None}
    sent = model.sent_settings(chosen)
    rows = [mark["rule"] for mark in finished.tables[step].column("produced_by")] if step in finished.tables else []
    said = f"{spec_data['kind']}/{ANSWERED_BY}"
    yield PromptingStep(
        step=step,
        model=model.label,
        backend=node["kind"],
        recorded_in=model.replies_file,
        strategy=str(spec_data.get("strategy", "model")),
        settings=sent,
        omitted=tuple(name for name in chosen if name not in sent),
        prompts=tuple(spec_data[name]["path"] for name in _PROMPTS if spec_data.get(name)),
        rows=sum(rule.startswith(f"{spec_data['kind']}/model") for rule in rows),
        total=len(rows),
        answered_by=tuple(sorted({rule[len(said) :] for rule in rows if rule.startswith(said)})),
    )
