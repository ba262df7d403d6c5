"""The bundled settings of annotation, by sheets and in the app, as the recipes compose them."""

from pathlib import Path

import yaml

from benchbuilder.annotation.backends.app import AppSpec
from benchbuilder.annotation.backends.sheets import SheetsSpec

RECIPES = Path(__file__).parents[2] / "recipes"


def _raw(name):
    parts = [RECIPES / "questions" / "zh_claims.yaml", RECIPES / "annotation" / name]
    raw = {key: value for part in parts for key, value in yaml.safe_load(part.read_text("utf-8")).items()}
    return {key: value for key, value in raw.items() if key != "defaults"}


def raw_files():
    """The keys of `annotation: files` without its shipped votes."""
    return _raw("sheets.yaml") | {"votes": None}


def files_spec(**changes):
    return SheetsSpec.model_validate({**raw_files(), **changes})


def app_spec(**changes):
    return AppSpec.model_validate({**_raw("app.yaml"), "guideline": None, "strings": {}, **changes})
