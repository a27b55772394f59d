"""Estimators by name, as ``--method`` spells them, with their settings, as ``--option NAME=VALUE`` spells those."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from dalembert.errors import UsageError, choices
from dalembert.identification.bounded import Bounded
from dalembert.identification.irls import Irls
from dalembert.identification.iv import Iv
from dalembert.identification.ols import Ols
from dalembert.identification.physical import Physical
from dalembert.identification.problem import Estimator
from dalembert.identification.robust import Huber, Tukey
from dalembert.identification.sdp import Sdp
from dalembert.identification.tls import Tls
from dalembert.identification.wls import Wls

__all__ = ["METHODS", "estimator_named", "settings_of_method"]

METHODS: Mapping[str, Callable[..., Estimator]] = MappingProxyType(
    {kind.method: kind for kind in (Ols, Wls, Irls, Tls, Iv, Bounded, Physical, Sdp)}
)
_LOSSES: Mapping[str, Callable[..., Huber | Tukey]] = MappingProxyType({"huber": Huber, "tukey": Tukey})


def estimator_named(
    name: str,
    settings: Mapping[str, str] = MappingProxyType({}),
    methods: Mapping[str, Callable[..., Estimator]] = METHODS,
    **given: object,
) -> Estimator:
    """The estimator of a name; ``settings`` are fields of it as a person writes them, the others keep their default.

    ``methods`` to choose from, ``given`` fields that no text can say.
    """
    if name not in methods:
        raise UsageError(f"method {name!r}; {choices(name, methods)}")
    valid = _settable(methods[name])
    for key in settings:
        if key not in valid:
            known = choices(key, valid) if valid else "it has none"
            raise UsageError(f"--option {key}: method {name!r} has no such setting; {known}")
    said = {key: _value(key, text, _default(valid[key])) for key, text in settings.items()}
    return methods[name](**given, **said)


def settings_of_method(name: str) -> dict[str, str]:
    """The settings of a method with their defaults, as a person writes them."""
    return {key: _written(_default(item)) for key, item in _settable(METHODS[name]).items()}


def _settable(kind: Any) -> dict[str, Field[Any]]:
    """Fields with a default a person can write."""
    return {f.name: f for f in fields(kind) if f.init and isinstance(_default(f), _WRITABLE)}


def _default(item: Field[Any]) -> Any:
    return item.default_factory() if item.default_factory is not MISSING else item.default


def _written(value: Any) -> str:
    if isinstance(value, (Huber, Tukey)):
        return f"{value.name}:{value.tuning:g}"
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else str(value)


_WRITABLE = (bool, int, float, str, tuple, Huber, Tukey)


def _value(key: str, text: str, default: Any) -> Any:
    """What a text says, of the kind the default is."""
    text = text.strip()
    if isinstance(default, bool):
        if text not in ("true", "false"):
            raise UsageError(f"--option {key}={text}: expected true or false")
        return text == "true"
    if isinstance(default, StrEnum):
        kind = type(default)
        if text not in list(kind):
            raise UsageError(f"--option {key}={text}: {choices(text, kind)}")
        return kind(text)
    if isinstance(default, (int, float)):
        return _number(key, text, whole=isinstance(default, int))
    if isinstance(default, (Huber, Tukey)):
        name, _, tuning = text.partition(":")
        if name not in _LOSSES:
            raise UsageError(f"--option {key}={text}: {choices(name, _LOSSES)}, or with its tuning, huber:1.345")
        return _LOSSES[name](_number(key, tuning)) if tuning else _LOSSES[name]()
    return tuple(part.strip() for part in text.split(",") if part.strip()) if isinstance(default, tuple) else text


def _number(key: str, text: str, *, whole: bool = False) -> float | int:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf") or (whole and value != int(value)):
        raise UsageError(f"--option {key}={text}: expected a {'whole ' if whole else ''}number")
    return int(value) if whole else value
