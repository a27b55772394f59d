"""Estimators by name, as ``--method`` spells them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from dalembert.errors import UsageError, choices
from dalembert.identification.bounded import Bounded
from dalembert.identification.irls import Irls
from dalembert.identification.iv import Iv
from dalembert.identification.ols import Ols
from dalembert.identification.physical import Physical
from dalembert.identification.problem import Estimator
from dalembert.identification.sdp import Sdp
from dalembert.identification.tls import Tls
from dalembert.identification.wls import Wls

__all__ = ["METHODS", "estimator_named"]

METHODS: Mapping[str, Callable[[], Estimator]] = MappingProxyType(
    {kind.method: kind for kind in (Ols, Wls, Irls, Tls, Iv, Bounded, Physical, Sdp)}
)


def estimator_named(name: str) -> Estimator:
    """The estimator of a name with its default settings."""
    if name not in METHODS:
        raise UsageError(f"method {name!r}; {choices(name, METHODS)}")
    return METHODS[name]()
