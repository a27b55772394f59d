"""Equality constraints of a MuJoCo model as loops and couplings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.robot.description import Anchor, Coupling, Loop, LoopKind, Terms
from dalembert.robot.interchange import unique_name
from dalembert.robot.mjcf_tree import MjcfTree

__all__ = ["read_loops", "site_pair", "tendon_terms"]

_IDENTITY = (1.0, 0.0, 0.0, 0.0)
_Read = Callable[[Any, MjcfTree, int, str], Loop | Coupling]


def read_loops(mujoco: Any, tree: MjcfTree) -> list[Loop | Coupling]:
    """Active equality constraints, in the order of the file; those without a name are ``loop0``, ``loop1`` ..."""
    model = tree.model
    if model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_EQUALITY):
        return []
    readers: dict[str, _Read] = {
        "mjEQ_CONNECT": _connect,
        "mjEQ_WELD": _weld,
        "mjEQ_JOINT": _joint,
        "mjEQ_TENDON": _tendon,
    }
    loops: list[Loop | Coupling] = []
    for i in range(model.neq):
        if not model.eq_active0[i]:
            continue
        kind = mujoco.mjtEq(int(model.eq_type[i])).name
        name = model.equality(i).name or f"loop{i}"
        if kind not in readers:
            raise tree.error(
                f"equality {name!r} is of type {kind.removeprefix('mjEQ_').lower()}, "
                "expected connect, weld, joint or tendon"
            )
        name = unique_name(name, [loop.name for loop in loops])
        loops.append(readers[kind](mujoco, tree, i, name))
    return loops


def _ends(mujoco: Any, tree: MjcfTree, i: int, name: str) -> tuple[Anchor, Anchor] | None:
    """Both sites of a constraint between sites; None for one between bodies."""
    model = tree.model
    kinds = getattr(model, "eq_objtype", None)  # MuJoCo before 3.2 knows no constraints between sites
    if kinds is None or int(kinds[i]) != int(mujoco.mjtObj.mjOBJ_SITE):
        return None
    return tree.site(int(model.eq_obj1id[i])), tree.site(int(model.eq_obj2id[i]))


def _connect(mujoco: Any, tree: MjcfTree, i: int, name: str) -> Loop:
    model = tree.model
    ends = _ends(mujoco, tree, i, name)
    if ends is None:
        data = model.eq_data[i]
        ends = (
            tree.anchor(int(model.eq_obj1id[i]), data[0:3]),
            tree.anchor(int(model.eq_obj2id[i]), data[3:6]),
        )
    return Loop(name, LoopKind.POINT, *ends)


def _weld(mujoco: Any, tree: MjcfTree, i: int, name: str) -> Loop:
    model = tree.model
    data = model.eq_data[i]
    ends = _ends(mujoco, tree, i, name)
    if ends is None:  # the anchor in body 2, the same point and body 2's orientation in body 1
        ends = (
            tree.anchor(int(model.eq_obj1id[i]), data[3:6], data[6:10]),
            tree.anchor(int(model.eq_obj2id[i]), data[0:3], _IDENTITY),
        )
    only_point = data[10] == 0.0  # torquescale 0: MuJoCo leaves the orientation free
    return Loop(name, LoopKind.POINT if only_point else LoopKind.WELD, *ends)


def _ratio(tree: MjcfTree, i: int, name: str) -> tuple[float, float]:
    """Constant and ratio of a polynomial coupling, which must be linear."""
    polynomial = tree.model.eq_data[i][:5].tolist()
    if any(polynomial[2:]):
        raise tree.error(
            f"equality {name!r}: polycoef {' '.join(f'{c:g}' for c in polynomial)} is not linear, "
            "expected zeros after the second coefficient"
        )
    return polynomial[0], polynomial[1]


def _joint(mujoco: Any, tree: MjcfTree, i: int, name: str) -> Coupling:
    """q1 - q1_ref = c0 + c1 (q2 - q2_ref)."""
    model = tree.model
    constant, ratio = _ratio(tree, i, name)
    dependent, other = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
    constant += float(model.qpos0[model.jnt_qposadr[dependent]])
    terms: Terms = ()
    if other >= 0 and ratio:
        constant -= ratio * float(model.qpos0[model.jnt_qposadr[other]])
        terms = ((tree.joints[other].name, ratio),)
    return Coupling(name, tree.joints[dependent].name, terms, constant)


def _tendon(mujoco: Any, tree: MjcfTree, i: int, name: str) -> Loop | Coupling:
    """L1 - L1_ref = c0 + c1 (L2 - L2_ref) of fixed tendons' lengths; or one spatial tendon held at its length."""
    model = tree.model
    constant, ratio = _ratio(tree, i, name)
    first, second = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
    constant += float(model.tendon_length0[first])
    pair = site_pair(mujoco, tree, first)
    if pair is not None and second < 0:
        return Loop(name, LoopKind.ROD, *pair, length=constant)
    terms = dict(tendon_terms(mujoco, tree, first, f"equality {name!r}"))
    if second >= 0 and ratio:
        constant -= ratio * float(model.tendon_length0[second])
        for joint, coefficient in tendon_terms(mujoco, tree, second, f"equality {name!r}"):
            terms[joint] = terms.get(joint, 0.0) - ratio * coefficient
    dependent = next((joint for joint, coefficient in terms.items() if coefficient), None)
    if dependent is None:
        raise tree.error(f"equality {name!r}: its tendons cancel, expected a relation between joints")
    scale = terms.pop(dependent)
    rest = tuple((joint, -coefficient / scale) for joint, coefficient in terms.items() if coefficient)
    return Coupling(name, dependent, rest, constant / scale)


def tendon_terms(mujoco: Any, tree: MjcfTree, tendon: int, where: str) -> Terms:
    """A fixed tendon's length as a combination of coordinates; an error for a spatial one."""
    model = tree.model
    terms: dict[str, float] = {}
    start = int(model.tendon_adr[tendon])
    for w in range(start, start + int(model.tendon_num[tendon])):
        if int(model.wrap_type[w]) != int(mujoco.mjtWrap.mjWRAP_JOINT):
            raise tree.error(f"{where}: tendon {model.tendon(tendon).name!r} is spatial, expected a fixed one")
        name = tree.joints[int(model.wrap_objid[w])].name
        terms[name] = terms.get(name, 0.0) + float(model.wrap_prm[w])
    return tuple((name, ratio) for name, ratio in terms.items() if ratio)


def site_pair(mujoco: Any, tree: MjcfTree, tendon: int) -> tuple[Anchor, Anchor] | None:
    """Both ends of a spatial tendon that runs straight between two sites."""
    model = tree.model
    start, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    wraps = range(start, start + count)
    if count != 2 or any(int(model.wrap_type[w]) != int(mujoco.mjtWrap.mjWRAP_SITE) for w in wraps):
        return None
    first, second = (tree.site(int(model.wrap_objid[w])) for w in wraps)
    return first, second
