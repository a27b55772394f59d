"""Whatever a file holds, the reader gives a robot or one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.robot.yaml_files import DUALV, EVERYTHING, MDH

from dalembert.errors import RobotError
from dalembert.robot import JointType, LoopKind, Robot, read_yaml
from dalembert.robot.yaml_reader import TOP_KEYS

FUZZ = settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
SEEDS = (DUALV, EVERYTHING, MDH)

_WORDS = st.sampled_from(
    [
        *TOP_KEYS, *JointType, *LoopKind, "coupling", "base", "each", "between", "body", "joint", "type", "at", "turns",
        "on", "spring", "rest", "basis", "force", "distance", "friction", "q1", "a", "b", "{k}", "d(q1)", "1/0",
        "5 mm", "unknown", "true", "", "~", "*x", "&x", "<<", "!!str", ".nan", "1e999", "\t", "- ", "? ", ": ", "{", "]",
        "\n",
        "'", '"', "|", "%YAML 1.1", "---", "...", "\x00", "\x85", "\u2028", "\ufeff",
        "é", "yes", "0x1F", "rotor",
    ]
)  # fmt: skip


def read_or_refuse(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    try:
        robot = read_yaml(path)
    except RobotError as error:
        message = str(error)
        assert len(message.splitlines()) == 1
        assert message.startswith(f"{path}:")
    else:
        assert isinstance(robot, Robot)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "robot.yaml"


@FUZZ
@given(data=st.binary(max_size=200))
def test_any_bytes(data: bytes, path: Path) -> None:
    read_or_refuse(path, data)


@FUZZ
@given(text=st.lists(st.one_of(_WORDS, st.text(max_size=5)), max_size=30).map(" ".join))
def test_any_words(text: str, path: Path) -> None:
    read_or_refuse(path, text.encode("utf-8", "surrogatepass"))


_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), _WORDS, st.text(max_size=6),
    st.sampled_from(["q1", "pose", "crank1", "m1", "q1 - q2", "0.1", "2 deg", "platform"]),
)  # fmt: skip
_TREES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(_WORDS, st.text(max_size=4)), inner, max_size=4)
    ),
    max_leaves=12,
)


@FUZZ
@given(tree=st.dictionaries(st.sampled_from(TOP_KEYS), _TREES, max_size=6))
def test_any_tree(tree: dict[str, Any], path: Path) -> None:
    read_or_refuse(path, json.dumps({"name": "r", **tree}).encode())


@FUZZ
@given(seed=st.sampled_from(SEEDS), data=st.data())
def test_any_slip_of_the_keyboard(seed: str, data: st.DataObject, path: Path) -> None:
    text = seed
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text) - 1))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        text = (
            text[:start] + data.draw(st.one_of(_WORDS, st.text(max_size=3), st.just(seed[start:end] * 2))) + text[end:]
        )
    read_or_refuse(path, text.encode("utf-8", "surrogatepass"))


def _plain(seed: str) -> Any:
    from ruamel.yaml import YAML

    return YAML(typ="safe").load(seed)


def _places(tree: Any) -> list[tuple[Any, Any]]:
    keys = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else []
    return [(tree, key) for key in keys] + [place for key in keys for place in _places(tree[key])]


@FUZZ
@given(seed=st.sampled_from(SEEDS), data=st.data())
def test_any_value_in_any_place(seed: str, data: st.DataObject, path: Path) -> None:
    tree = _plain(seed)
    for _ in range(data.draw(st.integers(1, 3))):
        places = _places(tree)
        owner, key = places[data.draw(st.integers(0, len(places) - 1))]
        match data.draw(st.sampled_from(["replace", "delete", "rename", "swap"])):
            case "replace":
                owner[key] = data.draw(_TREES)
            case "delete":
                del owner[key]
            case "rename" if isinstance(owner, dict):
                owner[data.draw(_WORDS)] = owner.pop(key)
            case _:
                other, other_key = places[data.draw(st.integers(0, len(places) - 1))]
                owner[key] = json.loads(json.dumps(other[other_key]))
        if not _places(tree):
            break
    read_or_refuse(path, json.dumps(tree).encode())
