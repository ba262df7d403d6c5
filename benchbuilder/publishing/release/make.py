"""Makes a release: a folder with a version that is ready for the Hub, and the private folder beside it."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml
from filelock import FileLock, Timeout

from benchbuilder import __version__
from benchbuilder.config import LoadedRecipe, check_links, display_path
from benchbuilder.core import (
    DataError,
    GateClosed,
    Problem,
    RecipeError,
    StoreError,
    make_folder,
    make_folder_beside,
    move_into_place,
    open_given_file,
    read_given_file,
    sync_tree,
)
from benchbuilder.evaluation import other_files_note
from benchbuilder.pipeline import committed_manifests
from benchbuilder.publishing.release.card import CardColumns, public_material, render_cards, texts_of_card
from benchbuilder.publishing.release.change_notes import note_errata, write_changes
from benchbuilder.publishing.release.croissant import croissant
from benchbuilder.publishing.release.fill import Filled, fill_release
from benchbuilder.publishing.release.item_changes import (
    ChangedItems,
    errata_of,
    find_item_changes,
    replaced_items,
    write_item_changes,
)
from benchbuilder.publishing.release.item_checks import days_of_items, says_days, write_item_checks
from benchbuilder.publishing.release.item_order import items_of_material
from benchbuilder.publishing.release.items import ReleasedItems, SharedItem, released_items, rows_of_file
from benchbuilder.publishing.release.material import ReleaseMaterial, gather_material
from benchbuilder.publishing.release.private_folder import open_private_folder
from benchbuilder.publishing.release.record import (
    MEMBER,
    RELEASE_FILE,
    DespiteRecord,
    ReleaseChanges,
    ReleaseRecord,
    SourceRecord,
    latest_release,
    parse_version,
    read_record,
)
from benchbuilder.publishing.release.refusals import ReleaseRefusal, find_refusals
from benchbuilder.publishing.release.scorecard.scorecard import SCORECARD_FILE, Scorecard, fill_scorecard
from benchbuilder.steps import Corrections, Erratum

CHECKSUMS = "SHA256SUMS"
_CHECKSUM = re.compile(rf"(?P<digest>[0-9a-f]{{64}})  (?P<name>{MEMBER})")


@dataclass(frozen=True)
class ReleaseRequest:
    """What to release: the recipe of the build, the version, and why despite refusals (empty: not at all).

    `note` says what changed, for the card. `on` is the date of the release.
    """

    loaded: LoadedRecipe
    version: str
    cwd: Path
    despite: str = ""
    note: str = ""
    on: date | None = None


@dataclass(frozen=True)
class Release:
    """A release that was made: its folder, its record, its files, and the refusals that it was made against.

    `private_folder` holds the labels that stay. `notes` say where the folder of the build holds other items.
    """

    folder: Path
    record: ReleaseRecord
    files: tuple[Path, ...]
    refusals: tuple[ReleaseRefusal, ...]
    private_folder: Path
    notes: tuple[str, ...] = ()


def make_release(request: ReleaseRequest) -> Release:
    """Write a release of the build of a recipe.

    Raises:
        RecipeError: The version is none, exists, is not above the last one, or hides that items changed.
        DataError: The build is not finished, or the private folder of earlier releases is missing.
        GateClosed: The build may not be released; every reason is listed.
        StoreError: Another release of it is being made, or a link leads out of the folder.
    """
    recipe = request.loaded.whole
    releases = request.cwd / recipe.release.dir / recipe.benchmark_name
    check_links(releases)
    make_folder(releases)
    lock = FileLock(releases / ".lock")
    try:
        with lock.acquire(timeout=0):
            return _make_release(request, releases)
    except Timeout as error:
        raise StoreError(
            f"another release of {recipe.benchmark_name} is being made",
            where=display_path(releases),
            why="both would make a secret of their own, and private questions of one be public in the other",
            next="wait for it to end",
        ) from error


def _make_release(request: ReleaseRequest, releases: Path) -> Release:
    recipe, before = request.loaded.whole, latest_release(releases)
    _check_version(request.version, releases, before)
    material = gather_material(request.loaded, request.cwd)
    private = open_private_folder(releases, released_before=before is not None)
    former = None if before is None else read_record(before)
    canary = recipe.audit.canary or (former.canary if former else _derived_canary(request.loaded))
    released = None if before is None else released_items(before)
    errata = errata_of(request.loaded)
    replaced = replaced_items(released or (), items_of_material(material), Corrections(errata.values()))
    working = make_folder_beside(releases / request.version)
    try:
        filled = fill_release(material, private, request.version, canary, working, replaced)
        card = fill_scorecard(public_material(material, filled.public), released=True)
        refusals = find_refusals(material, filled.uses, private, card)
        if refusals and not request.despite.strip():
            raise _refused(refusals, request.loaded)
        of_items, changes = _changes(released, filled, working, errata, request)
        _check_patch(request.version, former, changes)
        record = _record(request, material, filled, canary, former, changes, refusals)
        write_item_changes(working, before, of_items, canary)
        days = days_of_items(request.loaded, request.cwd) if says_days(request.loaded) else []
        since = "" if former is None else former.date
        checks = write_item_checks(working, days, filled.public, since, record.date, canary)
        write_changes(working, before, record, of_items, texts_of_card(material), checks)
        _write_descriptions(working, material, record, filled, card, refusals)
        filled.save_private(private.version_folder(request.version))
        note_errata(private, request.version, errata)
        private.save(dict(filled.uses))
        sync_tree(working)
        move_into_place(working, releases / request.version)
    finally:
        if working.exists():
            shutil.rmtree(working)
    folder = releases / request.version
    files = tuple(sorted(path for path in folder.rglob("*") if path.is_file()))
    manifests = committed_manifests(material.plan, material.store)
    items = [manifests[part.recipe.items] for part in request.loaded.by_task()]
    notes = dict.fromkeys(filter(None, (other_files_note(material.store, one, "release") for one in items)))
    return Release(folder, record, files, tuple(refusals), private.folder, tuple(notes))


def _check_version(text: str, releases: Path, before: Path | None) -> None:
    version = parse_version(text)
    if (releases / text).exists():
        raise RecipeError([Problem(
            f"version {text} was released: nothing is published twice under one version",
            where=display_path(releases / text), hint="choose a higher version",
        )])  # fmt: skip
    if before is not None and version <= parse_version(before.name):
        raise RecipeError([Problem(
            f"version {text} is not above {before.name}, the last one", where=display_path(before),
            hint="choose a higher version",
        )])  # fmt: skip


def _check_patch(text: str, former: ReleaseRecord | None, changes: ReleaseChanges) -> None:
    """RecipeError if only the last number of the version grew, but the items are others than before."""
    version = parse_version(text)
    if former is not None and changes.of_items and version[:2] == parse_version(former.version)[:2]:
        raise RecipeError([Problem(
            f"the items are others than in {former.version}: scores cannot be compared", where="command line: version",
            actual=text, hint=f"version={version.major}.{version.minor + 1}.0, or a new first number",
        )])  # fmt: skip


def _derived_canary(loaded: LoadedRecipe) -> str:
    """The canary of a first release: always the same for a benchmark of this name and title."""
    recipe = loaded.whole
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"benchbuilder:{recipe.benchmark_name}:{recipe.card.title}"))


def _refused(refusals: Sequence[ReleaseRefusal], loaded: LoadedRecipe) -> GateClosed:
    reasons = "".join(f"\n  - {refusal}" for refusal in refusals)
    return GateClosed(
        f"{loaded.whole.benchmark_name} may not be released:{reasons}",
        next='mend these, or give --despite "REASON": the card prints the reason and this list',
    )


def _changes(
    before: ReleasedItems | None, filled: Filled, working: Path, errata: Mapping[str, Erratum], request: ReleaseRequest
) -> tuple[ChangedItems, ReleaseChanges]:
    """What changed since the release before, by item and in all; a label that was corrected counts, if it was public.

    The items of this release are in `working`.
    """
    if before is None:
        return ChangedItems(), ReleaseChanges(note=request.note)
    now = ReleasedItems.of_configs(working, filled.configs)
    found = find_item_changes(before, now, errata, request.version, request.loaded.whole.seed)
    left_out = {item.id for pair in found.same_key for item in pair}
    kept, known = filled.public | left_out, before.ids | left_out
    gone = {item.id: _asked(item) for item in before if item.id not in kept}
    new = {item.id: _asked(item) for item in now if item.id not in known}
    changed = len(set(gone.values()) & set(new.values()))
    secret_now = {name for name, use in filled.uses.items() if use == "private"}
    secret_then = _private_names(before.folder)
    return found, ReleaseChanges(
        added=len(new) - changed, removed=len(gone) - changed, changed=changed, corrected=len(found.same_key),
        private_added=len(secret_now - secret_then), private_removed=len(secret_then - secret_now), note=request.note,
    )  # fmt: skip


def _asked(item: SharedItem) -> bytes:
    """What an item asks, in few bytes."""
    return hashlib.blake2b("\0".join((item.type, item.context, item.question)).encode(), digest_size=16).digest()


def _private_names(folder: Path) -> set[str]:
    names = set[str]()
    for config in read_record(folder).configs:
        for file in config.files.values() if config.private else ():
            names |= {row["id"] for row in rows_of_file(folder / file)}
    return names


def _record(
    request: ReleaseRequest, material: ReleaseMaterial, filled: Filled, canary: str, former: ReleaseRecord | None,
    changes: ReleaseChanges, refusals: Sequence[ReleaseRefusal],
) -> ReleaseRecord:  # fmt: skip
    recipe = request.loaded.whole
    sources = tuple(
        SourceRecord(
            name=source.name, title=source.title, url=source.url, citation=source.citation,
            licence=source.terms.declared, licence_id=source.terms.name, share=source.terms.share,
            change=source.terms.change, commercial=source.terms.commercial, name_source=source.terms.name_source,
            same_licence=source.terms.same_licence,
        )
        for source in material.sources
    )  # fmt: skip
    despite = None
    if refusals:
        despite = DespiteRecord(
            reason=request.despite.strip(), refusals=tuple(str(refusal.text) for refusal in refusals)
        )
    return ReleaseRecord(
        canary=canary, name=recipe.benchmark_name, title=recipe.card.title, version=request.version,
        date=str(request.on or date.today()), licence=recipe.card.licence, language=str(recipe.language),
        repository=recipe.release.repository or "", contact=recipe.release.contact,
        seed=recipe.seed, configs=filled.configs, sources=sources,
        despite=despite,
        previous="" if former is None else former.version, changes=changes,
        recipe_sha256=hashlib.sha256(material.loaded.yaml.encode()).hexdigest(),
        versions={"benchbuilder": __version__, "python": platform.python_version(), "pyarrow": pa.__version__},
        receipts=tuple({name: value for name, value in asdict(receipt).items() if name != "endpoint"}
                       for receipt in material.receipts),
    )  # fmt: skip


def _write_descriptions(
    folder: Path, material: ReleaseMaterial, record: ReleaseRecord, filled: Filled, card: Scorecard,
    refusals: Sequence[ReleaseRefusal],
) -> None:  # fmt: skip
    """Write the card, the citation, the scorecard, the record, the description for machines, and the checksums."""
    columns = CardColumns(filled.schemas, filled.columns)
    written = {path.name for path in folder.iterdir()}
    texts = {
        **render_cards(material, record, columns, filled.public, written, card, refusals),
        "CITATION.cff": _citation(material, record),
        SCORECARD_FILE: json.dumps({"canary": record.canary, **card.as_json()}, ensure_ascii=False, indent=1) + "\n",
        RELEASE_FILE: json.dumps(record.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    data = {file: _sha256(folder / file) for config in record.configs for file in config.files.values()}
    described = croissant(material, record, filled.schemas, data)
    text = json.dumps(described, ensure_ascii=False, indent=1)
    (folder / "croissant.json").write_text(text + "\n", encoding="utf-8", newline="\n")
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    lines = [f"# canary {record.canary}", *(f"{_sha256(folder / file)}  {file}" for file in files)]
    (folder / CHECKSUMS).write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def _sha256(path: Path) -> str:
    with open_given_file(path, most_bytes=None) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _citation(material: ReleaseMaterial, record: ReleaseRecord) -> str:
    """How to cite the release (Citation File Format 1.2.0)."""
    spec = material.loaded.whole.release
    data: dict[str, Any] = {
        "cff-version": "1.2.0", "type": "dataset", "title": record.title, "version": record.version,
        "date-released": record.date,
        "message": "If you use this benchmark, please cite it with its version.",
        "authors": [{"name": name} for name in spec.authors or (f"The makers of {record.title}",)],
        "abstract": material.loaded.whole.card.summary,
    }  # fmt: skip
    if spec.url:
        data["url"] = spec.url
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
    return f"# canary {record.canary}\n{text}"


def check_release(folder: Path) -> list[str]:
    """The files of a release that are missing or do not have their checksums; DataError if it has none."""
    return [name for name, digest in listed_checksums(folder).items()
            if not (folder / name).is_file() or _sha256(folder / name) != digest]  # fmt: skip


def listed_checksums(folder: Path) -> dict[str, str]:
    """The checksums that a release lists, by its files; DataError if it lists none, or anything else."""
    path = folder / CHECKSUMS
    try:
        lines = read_given_file(path).decode().splitlines()
        found = [_CHECKSUM.fullmatch(line) for line in lines if line and not line.startswith("#")]
        if None in found:
            raise ValueError(f"line {found.index(None) + 1} is no checksum of a file in this folder")
    except (OSError, ValueError) as error:
        raise DataError(
            f"{display_path(folder)} holds no whole release", where=display_path(path), why=str(error),
            next="make the release again, or load it again from where it was published",
        ) from error  # fmt: skip
    return {match["name"]: match["digest"] for match in found if match}
