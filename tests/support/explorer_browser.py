"""A browser without scripts at the explorer of some builds."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from benchbuilder.explorer import BuildFolder, ExplorerSite, create_explorer

HOST = "http://127.0.0.1"


class ExplorerBrowser:
    """A browser that entered the explorer of `builds` (unless `entered` is false)."""

    def __init__(self, *builds: BuildFolder, entered: bool = True, language: str = "en", **settings: Any) -> None:
        self.site = ExplorerSite({build.name: build for build in builds}, **settings)
        self.client = TestClient(
            create_explorer(self.site), base_url=HOST, raise_server_exceptions=False,
            headers={"accept-language": language},
        )  # fmt: skip
        if entered:
            assert self.get(f"/enter/{self.site.token}").status_code == 200

    def get(self, path: str, **options: Any) -> Any:
        return self.client.get(path, **options)

    def text(self, path: str) -> str:
        """The page at `path`, which must be there."""
        answer = self.get(path)
        assert answer.status_code == 200, (path, answer.status_code, answer.text)
        return answer.text

    def links(self, path: str) -> list[str]:
        """The addresses on this server that the page at `path` leads to."""
        found = re.findall(r'(?:href|action)="(/[^"#]*)', self.text(path))
        return list(dict.fromkeys(unescape(link) for link in found))


def as_build(folder: Path) -> BuildFolder:
    return BuildFolder(folder.name, folder)
