"""Every code block of the documentation runs: a page's blocks in order, in one empty folder, python and bash alike.

A block that is not meant to be run - output, the text of a file - is fenced as text, yaml, json, c or csv.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
SHOWN = {"text", "yaml", "json", "c", "csv", "xml", "latex", "toml", "math"}
RUN = {"python", "bash"}


def blocks(page: Path) -> list[tuple[int, str, str]]:
    """Line, language and text of each fenced block."""
    text = page.read_text(encoding="utf-8")
    return [(text[: m.start()].count("\n") + 1, m[1], m[2]) for m in BLOCK.finditer(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_say_what_they_are(page):
    for line, language, _ in blocks(page):
        assert language in SHOWN | RUN, f"{page.name}:{line}: a block of {language!r}"


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if any(b[1] in RUN for b in blocks(p))], ids=lambda page: page.name)
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for line, language, text in blocks(page):
        if language == "python":
            # the page's own line numbers in a traceback
            exec(compile("\n" * line + text, str(page), "exec"), names)
        elif language == "bash":
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", text], env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{page.name}:{line}:\n{text}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_the_reference_holds_every_public_name():
    import dalembert

    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^::: [\w.]+\.(\w+)$", page, re.MULTILINE))
    assert set(dalembert.__all__) <= listed, sorted(set(dalembert.__all__) - listed)
