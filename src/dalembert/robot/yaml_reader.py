"""Reader of robot files: YAML that reads like the robot (docs/robot-file.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dalembert.errors import RobotError, choices
from dalembert.robot.description import Robot
from dalembert.robot.yaml_builder import Document, build_robot
from dalembert.robot.yaml_legs import read_scope
from dalembert.robot.yaml_source import Located, Node, Scope, is_file, parse_file, parse_text

__all__ = ["TOP_KEYS", "read_yaml", "robot_of_text"]

TOP_KEYS = (
    "name", "source", "extends", "gravity", "constants", "bodies", "legs", "mdh", "loops", "motors", "sensors",
    "efforts", "independent", "home", "platform", "symmetric", "limits", "nominal", "unmeasured",
    "without_encoder",
)  # fmt: skip
MERGED = ("constants", "home", "nominal")
MAX_EXTENDS = 20
YAML_SUFFIXES = (".yaml", ".yml")


def read_yaml(path: str | Path, constants: Mapping[str, float | str] | None = None) -> Robot:
    """The robot a file describes; ``constants`` replace values of its constants block.

    RobotError with file, line, what was found and what was expected when the file does not describe one.
    """
    document = _read_document(Path(path), ())
    return build_robot(document, _scope(document, constants or {}))


def robot_of_text(text: str, where: str) -> Robot:
    """The robot that text in the notation of robot files describes; ``where`` is what messages call it."""
    document = _document(parse_text(text, where), Path(where), ())
    return build_robot(document, _scope(document, {}))


def _read_document(path: Path, seen: tuple[Path, ...]) -> Document:
    return _document(parse_file(path), path, seen)


def _document(root: Located, path: Path, seen: tuple[Path, ...]) -> Document:
    keys = root.mapping(TOP_KEYS, (), "a robot")
    own = {key: value for key, value in keys.items() if not value.is_null}
    parent = Document(root, {})
    if "extends" in own:
        parent = _extended(own["extends"], path, (*seen, path.resolve()))
    layers = dict(parent.layers)
    for key, value in keys.items():
        if value.is_null:
            layers.pop(key, None)
        else:
            layers[key] = (*layers.get(key, ()), value) if key in MERGED else (value,)
    return Document(root, layers, parent.base)


def _extended(item: Located, path: Path, seen: tuple[Path, ...]) -> Document:
    from dalembert.robot.load import SUFFIXES, catalog_path, load_robot

    text = item.text("a file or the name of a catalog robot")
    suffix = Path(text).suffix.lower()
    try:
        target = path.parent / text if suffix in SUFFIXES else catalog_path(text)
    except RobotError as error:
        item.fail(str(error))
    if not is_file(target):
        item.fail(f"no file {str(target)!r}, expected a robot file or the name of a catalog robot")
    if suffix in SUFFIXES and suffix not in YAML_SUFFIXES:
        return Document(item, {}, load_robot(target))
    if target.resolve() in seen or len(seen) > MAX_EXTENDS:
        names = " <- ".join(file.name for file in (*seen, target))
        item.fail(f"robot files extend each other, {names}; expected a chain that ends")
    return _read_document(target, seen)


def _scope(document: Document, given: Mapping[str, float | str]) -> Scope:
    """The constants: those of the extended file first, replaced in place, then by the ones given in the call."""
    items: dict[str, list[Located]] = {}
    for layer in document.layers.get("constants", ()):
        for name, item in layer.entries("a mapping of constants").items():
            items.setdefault(name, []).append(item)
    for name, value in given.items():
        if name not in items:
            where = document.layers.get("constants", (document.root,))[-1]
            where.fail(f"no constant {name!r} to replace; {choices(name, items)}")
        item = items[name][-1]
        items[name].append(replace(item, node=Node(item.node.line, str(value)), path=f"{item.path} (given)"))
    return read_scope(items)
