"""What a store holds by the recipe states that need it, and the removal of what none of them needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from benchbuilder.core import DamagedError, move_into_place
from benchbuilder.pipeline.cache_key import describe_key_changes
from benchbuilder.pipeline.outputs import outputs_match
from benchbuilder.pipeline.plan import Plan
from benchbuilder.pipeline.store.folder import Store, is_draft, is_replaced, restore_latest
from benchbuilder.pipeline.store.manifest import MANIFEST_FILE, Manifest, read_manifest

OUTPUTS_STATE = "the outputs in the folder"
"""The label of the state that the files of the last build were made of."""
_INPUT = "input "
_LISTED = 3
"""How many changes the label of a state names."""


@dataclass(frozen=True)
class StoredStep:
    """A step in a store, under one key. `unusable` says why no build can reuse it; empty for a committed step."""

    name: str
    folder: Path
    size: int
    built: datetime
    manifest: Manifest | None = None
    unusable: str = ""

    @property
    def counted_people(self) -> bool:
        """Whether what people said is in its rows: made again, it counts what they say by then."""
        return self.manifest is not None and bool(self.manifest.external_inputs)


@dataclass(frozen=True)
class StoreState:
    """The steps of one recipe state, each in one state only.

    `label` names the recipe that needs them (`needed`), or says what differs from the recipe as it is now.
    """

    label: str
    steps: tuple[StoredStep, ...]
    needed: bool = False

    @property
    def size(self) -> int:
        """The bytes of its files."""
        return sum(step.size for step in self.steps)

    @property
    def built(self) -> datetime:
        """When its latest step was written."""
        return max(step.built for step in self.steps)


@dataclass(frozen=True)
class StoreContents:
    """The states of a store, those that are needed first, then the latest first; and its indices with their sizes.

    `remains` are the bytes of what killed commands left.
    """

    states: tuple[StoreState, ...]
    indices: Mapping[Path, int] = field(default_factory=dict[Path, int])
    remains: int = 0

    @property
    def older(self) -> tuple[StoredStep, ...]:
        """The steps that no present recipe needs."""
        return tuple(step for state in self.states if not state.needed for step in state.steps)


def read_contents(store: Store, present: Mapping[str, Plan]) -> StoreContents:
    """What `store` holds; `present` are the plans of the recipes that are in use, by label, the one that counts first.

    What the files of the last build were made of is needed, too.
    """
    steps = {step.folder: step for step in _stored_steps(store)}
    states: list[StoreState] = []

    def take(label: str, folders: Iterable[Path], *, needed: bool = True) -> None:
        taken = tuple(step for folder in folders if (step := steps.pop(folder, None)) is not None)
        if taken:
            states.append(StoreState(label, taken, needed))

    for label, plan in present.items():
        folders = [store.step_folder(node.name, node.key) for node in plan.nodes.values()]
        take(label, [path for folder in folders for path in (folder, store.draft_folder(folder))])
    take(OUTPUTS_STATE, [
        folder for folder, step in steps.items()
        if step.manifest is not None and outputs_match(store.folder, step.manifest)
    ])  # fmt: skip
    plan = next(iter(present.values()))
    committed = {folder: step for folder, step in steps.items() if step.manifest is not None}
    for members, own in _older_states(committed, store):
        take(_differences(members, plan), [step.folder for step in own], needed=False)
    for why in sorted({step.unusable for step in steps.values()}):
        take(why, [folder for folder, step in steps.items() if step.unusable == why], needed=False)
    older = sorted((state for state in states if not state.needed), key=lambda state: state.built, reverse=True)
    states = [*(state for state in states if state.needed), *older]
    return StoreContents(tuple(states), _indices(store), _remains(store))


def remove_older(store: Store, contents: StoreContents, present: Mapping[str, Plan], *, indices: bool = False) -> int:
    """Remove the older steps of `contents`, and with `indices` its indices; the number of bytes that were freed.

    What became needed since `contents` was read stays. Whenever this is interrupted, every step is there as it was or
    not at all: a step is first moved aside, and the next cleaning or build removes what lies there.

    Raises:
        StoreError: A build is at work.
    """
    freed = _remains(store)  # the lock removes them
    with store.lock(), store.open_scratch() as scratch:
        still = {step.folder for step in read_contents(store, present).older}
        doomed = {step.folder: step.size for step in contents.older if step.folder in still}
        doomed |= {path: size for path, size in contents.indices.items() if indices}
        for number, (path, size) in enumerate(doomed.items()):
            if path.exists():
                move_into_place(path, scratch.folder / str(number))
                freed += size
        plan = next(iter(present.values()))
        for folder in sorted(store.steps.iterdir()):
            node = plan.nodes.get(folder.name)
            restore_latest(folder, None if node is None else store.step_folder(node.name, node.key))
    return freed


def _stored_steps(store: Store) -> Iterator[StoredStep]:
    for folder in sorted(store.steps.glob("*/*/")):
        if is_replaced(folder):  # the next build removes it, or puts it back
            continue
        manifest, unusable = None, ""
        if is_draft(folder):
            unusable = "never finished"
        else:
            try:
                manifest = read_manifest(folder)
            except DamagedError:
                unusable = "damaged"
            else:
                unusable = "" if manifest is not None else "built by another version of benchbuilder"
        mark = folder / MANIFEST_FILE
        time = (mark if mark.exists() else folder).stat().st_mtime
        yield StoredStep(
            folder.parent.name, folder, size_of(folder), datetime.fromtimestamp(time, UTC), manifest, unusable
        )


def size_of(path: Path) -> int:
    """The bytes of a file, or of all files below a folder."""
    if path.is_dir():
        return sum(file.lstat().st_size for file in path.rglob("*") if not file.is_dir())
    return path.lstat().st_size if path.exists() else 0


def _remains(store: Store) -> int:
    """The bytes of what commands that were killed had moved aside."""
    return sum(map(size_of, store.scratch_folders()))


def _indices(store: Store) -> dict[Path, int]:
    """The indices and other files that steps made for themselves, without locks."""
    if not store.cache.is_dir():
        return {}
    return {path: size_of(path) for path in sorted(store.cache.iterdir()) if not path.name.startswith(".")}


def _older_states(
    steps: Mapping[Path, StoredStep], store: Store
) -> Iterator[tuple[list[StoredStep], list[StoredStep]]]:
    """The steps by recipe state, the latest first: all steps of a state, and those of no later one.

    A state is a step that no other one was made of, with the steps before it.
    """
    before = {folder: _inputs(step, store) & steps.keys() for folder, step in steps.items()}
    last = steps.keys() - set[Path]().union(*before.values())
    taken: set[Path] = set()
    for folder in sorted(last, key=lambda path: (-steps[path].built.timestamp(), path)):
        members: dict[Path, StoredStep] = {}
        queue = [folder]
        while queue:
            at = queue.pop()
            if at not in members:
                members[at] = steps[at]
                queue += sorted(before[at])
        yield [*members.values()], [step for path, step in members.items() if path not in taken]
        taken |= members.keys()


def _inputs(step: StoredStep, store: Store) -> set[Path]:
    """The folders of the steps that a step was made of."""
    key_inputs = {} if step.manifest is None else step.manifest.key_inputs
    return {
        store.step_folder(name.removeprefix(_INPUT), key) for name, key in key_inputs.items() if name.startswith(_INPUT)
    }


def _differences(steps: Sequence[StoredStep], plan: Plan) -> str:
    """What differs between steps of an older state and the recipe as it is now."""
    changes: list[str] = []
    for step in reversed(steps):
        node = plan.nodes.get(step.name)
        if node is None:
            changes.append(f"{step.name} is no step now")
        elif step.manifest is not None:
            own = [{name: part for name, part in parts.items() if not name.startswith(_INPUT)}
                   for parts in (step.manifest.key_inputs, node.key_inputs)]  # fmt: skip
            changes += [f"{step.name}: {change}" for change in describe_key_changes(*own)]
    changes = list(dict.fromkeys(changes)) or ["the same settings, other inputs"]
    more = [f"{len(changes) - _LISTED} more"] if len(changes) > _LISTED else []
    return "; ".join([*changes[:_LISTED], *more])
