"""What MuJoCo would simulate and a robot description has no place for: never dropped silently."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dalembert.robot.mjcf_loops import site_pair
from dalembert.robot.mjcf_tree import MjcfTree

__all__ = ["ignored"]


def ignored(mujoco: Any, tree: MjcfTree) -> Iterator[str]:
    """Messages about everything that acts on the dynamics and is left out."""
    yield from _contacts(mujoco, tree.model)
    yield from _medium(tree.model)
    yield from _joints(tree)
    yield from _tendons(mujoco, tree)
    yield from _others(tree.model)


def _contacts(mujoco: Any, model: Any) -> Iterator[str]:
    if model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT):
        return
    pairs = _colliding_pairs(model) + int(model.npair)
    if pairs:
        yield f"contacts are ignored ({pairs} pair{'s' if pairs > 1 else ''} of geoms could touch)"


def _colliding_pairs(model: Any) -> int:
    """Pairs of geoms MuJoCo would test: not in one body, not in parent and child, not excluded."""
    geoms = np.flatnonzero((model.geom_contype != 0) | (model.geom_conaffinity != 0))
    one, two = (geoms[k] for k in np.triu_indices(len(geoms), 1))
    types, affinities = model.geom_contype, model.geom_conaffinity
    touching = (types[one] & affinities[two]) | (types[two] & affinities[one])
    weld = model.body_weldid
    first, second = weld[model.geom_bodyid[one]], weld[model.geom_bodyid[two]]
    above = weld[model.body_parentid]  # of a weld's first body: the weld it hangs on
    related = ((above[first] == second) & (second != 0)) | ((above[second] == first) & (first != 0))
    one_body, two_body = model.geom_bodyid[one].astype(int), model.geom_bodyid[two].astype(int)
    signature = (np.minimum(one_body, two_body) << 16) + np.maximum(one_body, two_body)
    excluded = np.isin(signature, np.array(model.exclude_signature))
    return int(((touching != 0) & (first != second) & ~related & ~excluded).sum())


def _medium(model: Any) -> Iterator[str]:
    if model.opt.density or model.opt.viscosity:
        yield f"the fluid (density {model.opt.density:g}, viscosity {model.opt.viscosity:g}) is ignored"
    lifted = [model.body(i).name or f"body{i}" for i in np.flatnonzero(model.body_gravcomp)]
    if lifted:
        yield f"gravity compensation of {', '.join(lifted)} is ignored"


def _joints(tree: MjcfTree) -> Iterator[str]:
    model = tree.model
    for j, joint in enumerate(tree.joints):
        dof = int(model.jnt_dofadr[j])
        if not tree.is_scalar(j):
            if model.jnt_stiffness[j]:
                yield f"the spring of the {joint.type} joint {joint.name!r} is ignored"
            if model.dof_frictionloss[dof]:
                yield f"frictionloss of the {joint.type} joint {joint.name!r} is ignored"
        if _any(model, "jnt_stiffnesspoly", j) or _any(model, "jnt_springyield", j):
            yield f"of the spring of joint {joint.name!r} only the linear part is taken"
        if _any(model, "dof_dampingpoly", dof):
            yield f"of the damping of joint {joint.name!r} only the linear part is taken"


def _tendons(mujoco: Any, tree: MjcfTree) -> Iterator[str]:
    model = tree.model
    for t in range(model.ntendon):
        name = model.tendon(t).name or f"tendon{t}"
        spatial = int(model.wrap_type[model.tendon_adr[t]]) != int(mujoco.mjtWrap.mjWRAP_JOINT)
        acting = [
            part for part in ("stiffness", "damping", "frictionloss", "armature") if _any(model, f"tendon_{part}", t)
        ]
        if spatial and acting and site_pair(mujoco, tree, t) is None:
            yield f"{' and '.join(acting)} of tendon {name!r} are ignored: not straight between two sites"
        elif model.tendon_stiffness[t] and model.tendon_lengthspring[t][0] != model.tendon_lengthspring[t][1]:
            yield f"the spring of tendon {name!r} is ignored, it has a dead band"
        if _any(model, "tendon_stiffnesspoly", t) or _any(model, "tendon_springyield", t):
            yield f"of the spring of tendon {name!r} only the linear part is taken"
        if _any(model, "tendon_dampingpoly", t):
            yield f"of the damping of tendon {name!r} only the linear part is taken"


def _others(model: Any) -> Iterator[str]:
    for i in range(len(model.actuator_trntype)):
        if _any(model, "actuator_dampingpoly", i):
            yield f"of the damping of actuator {model.actuator(i).name or i!r} only the linear part is taken"
    if model.nflex:
        yield f"{model.nflex} deformable object(s) (flex) are ignored"
    if model.nplugin:
        yield f"{model.nplugin} plugin instance(s) are ignored"
    mocap = [model.body(i).name or f"body{i}" for i in range(model.nbody) if model.body_mocapid[i] >= 0]
    if mocap:
        yield f"mocap bodies are taken as fixed: {', '.join(mocap)}"


def _any(model: Any, name: str, index: int) -> bool:
    """True when an entry, of an array older versions may not have, is not zero."""
    values = getattr(model, name, None)
    return values is not None and bool(np.any(values[index]))
