"""The settings of the results page."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from benchbuilder.exporters import FileName, PageSpec

Proportion = Annotated[float, Field(gt=0, lt=1)]


class ResultsSpec(PageSpec):
    """Settings of the results page.

    `file` is the first part of all file names. `aspects` lists the scored aspects in order; the first two are plotted
    against each other. `worst` is the number of items shown in full.
    Detectable differences are computed for `power`, and needed items for a difference of `effect`. The page warns if a
    constant answer is right on a proportion of `class_imbalance` or more of the true/false questions.
    """

    file: FileName
    aspects: tuple[str, ...]
    worst: Annotated[int, Field(ge=0, le=500)]
    power: Proportion
    effect: Proportion
    class_imbalance: Proportion
