"""What the pages of the rule workbench share: a step of a build with its file of rules, its draft and its trials."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property, partial, wraps
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
from anyio import CapacityLimiter, to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from benchbuilder.config import LoadedRecipe, trusted_folders
from benchbuilder.evaluation import wilson_interval
from benchbuilder.explorer.app.explorer_site import PageRequest, page_request
from benchbuilder.explorer.app.page_templates import path_part
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.explorer.workbench.judged_rows import JudgedResult
from benchbuilder.explorer.workbench.rule_drafts import RuleDraft, keep_rule_draft, read_rule_draft
from benchbuilder.explorer.workbench.rule_files import RuleFile, files_of_steps, open_rule_file
from benchbuilder.explorer.workbench.trial_bench import TriedRow
from benchbuilder.explorer.workbench.trial_process import BenchSettings, TrialProcess
from benchbuilder.web import PostedForm

_DEVIATIONS = 1.959964
_FEWEST_FOR_SHARE = 20


@dataclass(frozen=True)
class RulesPage:
    """A request about the rules of a step of a build, in the file `stem` or in that with most of them."""

    page: PageRequest
    build: BuildFolder
    step: str
    stem: str = ""

    @cached_property
    def loaded(self) -> LoadedRecipe:
        """The recipe as it is now; RecipeError if it is wrong."""
        return self.page.site.memory.load(self.build.words, self.page.site.recipes)

    @cached_property
    def file(self) -> RuleFile:
        """The file with the rules of the step; 404 if it has none."""
        if self.step not in self.files_of_steps or (self.stem and self.stem not in self.stems):
            raise HTTPException(404)
        return open_rule_file(self.loaded, self.step, self.stem)

    @cached_property
    def files_of_steps(self) -> dict[str, tuple[Path, ...]]:
        """The files of rules by step."""
        return files_of_steps(self.loaded)

    @property
    def stems(self) -> list[str]:
        """The names of the files with rules of the step, without their suffixes."""
        return [file.stem for file in self.files_of_steps[self.step]]

    @property
    def settings(self) -> BenchSettings:
        """What the trials of the step need."""
        stamp = f"{self.file.digest} {self.build.built_at}"
        trust = tuple(str(folder) for folder in trusted_folders(os.environ) if folder.is_dir())
        site, build = self.page.site, self.build
        return BenchSettings(build.words, site.recipes, build.folder, self.step, self.stem, stamp, trust)

    @property
    def process(self) -> TrialProcess:
        """The trials of the step."""
        return self.page.site.trials.of(self.settings)

    def draft(self) -> RuleDraft:
        """The draft of the file, or what equals the file."""
        return read_rule_draft(self.build.folder, self.file)

    def kept_draft(self, form: PostedForm) -> RuleDraft:
        """The draft with the text of a form, kept in the folder of the build."""
        draft = self.draft()
        text = with_line_ends(form("text"), draft.base)
        if not draft.base.endswith("\n"):
            text = text.removesuffix("\n")
        draft = replace(draft, text=text)
        keep_rule_draft(self.build.folder, self.file, draft)
        return draft

    def address(self, part: str = "", stem: str | None = None, **query: str) -> str:
        """The address of a page about the rules of the step, in the file `stem` or in this one."""
        query = {"file": self.stem if stem is None else stem, **query}
        words = urlencode({name: value for name, value in query.items() if value})
        path = f"/b/{path_part(self.build.name)}/work/{path_part(self.step)}{part}"
        return f"{path}?{words}" if words else path

    def post_address(self, part: str) -> str:
        """The address of a form about the rules of the step."""
        return self.page.post_url(self.address(part))


def with_line_ends(text: str, base: str) -> str:
    """`text`, as a form sends it, with the line ends of `base`: each line keeps its own, and a new one gets the usual.

    >>> with_line_ends("a\\nb\\nc", "a\\r\\nx\\nc")
    'a\\r\\nb\\nc'
    """
    old, new = base.split("\n"), text.split("\n")
    usual = "\r" if base.count("\r\n") * 2 > base.count("\n") else ""
    bare = [line.removesuffix("\r") for line in old]
    made: list[str] = []
    for what, first, end, from_, to in SequenceMatcher(None, bare, new, autojunk=False).get_opcodes():
        made += old[first:end] if what == "equal" else [line + usual for line in new[from_:to]]
    made[-1] = new[-1]  # nothing ends it
    return "\n".join(made)


_TRIALS = CapacityLimiter(4)
"""Half of the threads that serve pages."""


def in_trial_threads(handler: Callable[..., Response]) -> Callable[..., Awaitable[Response]]:
    """Let a handler that waits for a trial wait among others of its sort: it takes no thread from other pages."""

    @wraps(handler)
    async def wait(**arguments: Any) -> Response:
        return await to_thread.run_sync(partial(handler, **arguments), limiter=_TRIALS)

    return wait


def rules_page(request: Request, name: str, step: str) -> RulesPage:
    """The page of a step's rules; 404 without such a build, or without the words of its recipe."""
    page = page_request(request)
    build = page.build(name)
    if not build.words:
        raise HTTPException(404)
    return RulesPage(page, build, step, request.query_params.get("file", ""))


def marked_parts(tried: TriedRow) -> list[tuple[str, str]]:
    """The parts of what rules made, each with what it is: ``answer``, ``seam`` or nothing."""
    text = tried.text
    spans = sorted(
        (span[0], span[1], name) for span, name in ((tried.answer, "answer"), (tried.seam, "seam")) if span is not None
    )
    parts: list[tuple[str, str]] = []
    at = 0
    for start, end, name in spans:
        if start < at or end > len(text):
            continue
        parts += [(text[at:start], ""), (text[start:end], name)]
        at = end
    return [part for part in (*parts, (text[at:], "")) if part[0]]


@dataclass(frozen=True)
class DrawnShare:
    """The share of good ones among rows that chance drew, with its 95 % interval; None below twenty rows."""

    good: int
    judged: int
    interval: tuple[float, float] | None


def drawn_share(results: Sequence[JudgedResult]) -> DrawnShare:
    """How many of the drawn rows are good that the rules make as they were judged."""
    same = [result.judged.judged for result in results
            if result.judged.chosen == "drawn" and result.verdict in ("kept", "still_wrong")]  # fmt: skip
    good, count = same.count("good"), len(same)
    if count < _FEWEST_FOR_SHARE:
        return DrawnShare(good, count, None)
    low, high = wilson_interval(np.array([good / count]), np.array([count]), _DEVIATIONS)
    return DrawnShare(good, count, (float(low[0]), float(high[0])))
