"""The bundled settings of annotation by sheets, as the recipes compose them."""

from pathlib import Path

import yaml

from benchbuilder.votes.files import FilesSpec

RECIPES = Path(__file__).parents[1] / "recipes"


def raw_files():
    """The keys of `annotation: files` without its shipped votes."""
    parts = [RECIPES / "questions" / "zh_claims.yaml", RECIPES / "annotation" / "files.yaml"]
    raw = {key: value for part in parts for key, value in yaml.safe_load(part.read_text("utf-8")).items()}
    return {key: value for key, value in raw.items() if key != "defaults"} | {"votes": None}


def files_spec(**changes):
    return FilesSpec.model_validate({**raw_files(), **changes})
