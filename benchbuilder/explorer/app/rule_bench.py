"""What the pages of the rule workbench share: a step of a build with its file of rules, its draft and its trials."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request

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
        return self.page.site.memory.load(self.build.overrides, self.page.site.recipes)

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
        return BenchSettings(build.overrides, site.recipes, build.folder, self.step, self.stem, stamp, trust)

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
        text = form("text")
        if "\r\n" in draft.base:
            text = text.replace("\n", "\r\n")
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


def rules_page(request: Request, name: str, step: str) -> RulesPage:
    """The page of a step's rules; 404 without such a build, or without the words of its recipe."""
    page = page_request(request)
    build = page.build(name)
    if not build.overrides:
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
