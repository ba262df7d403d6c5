"""What the files of a clone are called: other names than those of its original, so that both can be found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class CloneNames:
    """Names for the clone `name` of the recipe `origin`, which is in `language` and builds on the recipes `bases`."""

    name: str
    origin: str
    language: str
    bases: tuple[str, ...] = ()

    def stem(self, stem: str) -> str:
        """The name of a file of the clone.

        >>> names = CloneNames("law", "care", "zh")
        >>> [names.stem(stem) for stem in ("care", "care_judges", "zh_claims", "files", "zh")]
        ['law', 'law_judges', 'law_claims', 'law_files', 'law_zh']
        """
        if stem == self.origin:
            return self.name
        for prefix in (self.origin, self.language):
            if stem.startswith(f"{prefix}_"):
                return f"{self.name}_{stem.removeprefix(f'{prefix}_')}"
        return f"{self.name}_{stem}"

    def recipe_file(self, path: PurePosixPath) -> PurePosixPath:
        """The place of a file below the folder of recipes: in the clone's own folder, or beside the original.

        >>> names = CloneNames("law", "care", "zh")
        >>> [str(names.recipe_file(PurePosixPath(path))) for path in ("recipe/care/words.txt", "verdicts/en.yaml")]
        ['recipe/law/words.txt', 'verdicts/law_en.yaml']
        """
        above = path.parts[:-1]
        own = [place for place, part in enumerate(above) if part in (self.origin, *self.bases)]
        if own:
            place = own[0]
            return PurePosixPath(*above[:place], self.name, *above[place + 1 :], path.name)
        first, dot, rest = path.name.partition(".")
        return path.with_name(f"{self.stem(first)}{dot}{rest}")

    def prompt_file(self, path: PurePosixPath) -> PurePosixPath:
        """The place of a prompt below the folder of prompts.

        >>> names = CloneNames("law", "care", "zh")
        >>> [str(names.prompt_file(PurePosixPath(path))) for path in ("zh/a.j2", "en/a.j2", "care/x/a.j2")]
        ['law/a.j2', 'law/en/a.j2', 'law/x/a.j2']
        """
        own = path.parts[0] in (self.language, self.origin) and len(path.parts) > 1
        return PurePosixPath(self.name, *(path.parts[1:] if own else path.parts))
