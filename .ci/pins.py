"""Keep constraints.txt, the one list of versions tested together, in force.

python .ci/pins.py write   copy constraints.txt into pyproject.toml, where `uv run` reads it
python .ci/pins.py check   fail when that copy is stale, or when what `uv run` chose (uv.lock) differs
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
PYPROJECT = ROOT / "pyproject.toml"
LOCK = ROOT / "uv.lock"
BLOCK = re.compile(r"(# BEGIN constraints\.txt[^\n]*\n).*?(# END constraints\.txt)", re.DOTALL)
PIN = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+")  # a name and a version: no address, no hash
# What builds the package itself, in uv's own build environment
BUILD = ("hatchling", "packaging", "pathspec", "pluggy", "tomlkit", "trove-classifiers")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins() -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(CONSTRAINTS.read_text(encoding="utf-8").splitlines(), 1):
        text = line.split("#")[0].strip()
        if not text:
            continue
        if not PIN.fullmatch(text):
            sys.exit(f"constraints.txt:{number}: found {text!r}, expected NAME==VERSION")
        name, version = text.split("==")
        found[normal(name)] = version
    return found


def block(pinned: dict[str, str]) -> str:
    def array(key: str, names: list[str]) -> str:
        return f"{key} = [\n" + "".join(f'    "{n}=={pinned[n]}",\n' for n in names) + "]\n"

    everything = array("constraint-dependencies", sorted(pinned))
    return everything + array("build-constraint-dependencies", list(BUILD))


def write(pinned: dict[str, str]) -> None:
    old = PYPROJECT.read_text(encoding="utf-8")
    PYPROJECT.write_text(BLOCK.sub(lambda m: m[1] + block(pinned) + m[2], old), encoding="utf-8")


def check(pinned: dict[str, str]) -> None:
    uv = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["uv"]
    if tomllib.loads(block(pinned)) != {k: v for k, v in uv.items() if k.endswith("constraint-dependencies")}:
        sys.exit("pyproject.toml does not carry constraints.txt: run `python .ci/pins.py write`")
    packages = tomllib.loads(LOCK.read_text(encoding="utf-8"))["package"]
    locked = {p["name"]: p["version"] for p in packages if p["name"] != "dalembert"}
    wrong = [
        f"{name}: uv chose {locked.get(name, 'none')}, constraints.txt has {pinned.get(name, 'none')}"
        for name in sorted(locked.keys() | (pinned.keys() - set(BUILD)))
        if locked.get(name) != pinned.get(name)
    ]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(locked)} packages, all at the versions of constraints.txt")


if __name__ == "__main__":
    if sys.argv[1:] not in (["write"], ["check"]):
        sys.exit(__doc__)
    {"write": write, "check": check}[sys.argv[1]](pins())
