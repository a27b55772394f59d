"""What was done and with what: robot, files, options, versions."""

from __future__ import annotations

from typing import Any

from dalembert.logs import LogInfo
from dalembert.report.evidence import Evidence
from dalembert.report.numbers import significant
from dalembert.report.sections.contract import Content
from dalembert.signals import SignalSettings
from dalembert.validation.heldout import settings_of

__all__ = ["section"]


def section(evidence: Evidence) -> Content:
    """What the page begins with, in words, and everything needed to do it again."""
    fit, model = evidence.fit, evidence.model
    provenance = fit.provenance
    logs = [_log(record) for record in provenance.get("logs", ())]
    tested = evidence.validation.sources if evidence.validation else ()
    logs += [_source(source.info, settings_of(fit, source)) for source in tested]
    described = provenance.get("model", {})
    options = [
        ("method", fit.method),
        ("projection", described.get("projection", "")),
        ("friction", _friction(described.get("friction"))),
        ("symmetric bodies tied", "yes" if described.get("symmetric") else "no"),
        ("payloads", ", ".join(described.get("payloads", ())) or "none"),
        *((f"{fit.method}: {name}", _setting(value)) for name, value in provenance.get("settings", {}).items()),
    ]
    versions = list(provenance.get("versions", {}).items())
    robot = _robot(model.described, model.model) if model else {}
    shown = {
        "logs": logs, "options": [(k, v) for k, v in options if v], "versions": versions, "robot": robot,
        "notes": list(provenance.get("notes", ())), "fit": fit, "description": described.get("described", ""),
        "columns": len(fit.parameters), "seconds": _seconds(provenance.get("logs", ())),
        "used": len(logs) - len(tested), "tested": ", ".join(source.info.name for source in tested),
    }  # fmt: skip
    return Content("provenance", "Files, options, versions", "Files", shown)


def _seconds(logs: Any) -> str:
    return significant(sum(record["samples"] / record["rate"] for record in logs), 3)


def _log(record: Any) -> dict[str, Any]:
    return {
        "name": record["name"], "path": record["path"], "sha256": record["sha256"], "held_out": False,
        "samples": record["samples"], "rate": significant(record["rate"], 4),
        "seconds": significant(record["samples"] / record["rate"], 3), "payload": record["payload"],
        "cutoff": _cutoff(record["cutoff"]), "decimate": record["decimate"],
    }  # fmt: skip


def _cutoff(frequency: float) -> str:
    return significant(frequency, 3) if frequency else "none"


def _source(info: LogInfo, treated: SignalSettings) -> dict[str, Any]:
    return {
        "name": info.name, "path": info.path, "sha256": info.sha256, "held_out": True, "samples": info.samples,
        "rate": significant(info.rate, 4), "seconds": significant(info.duration, 3), "payload": info.payload,
        "cutoff": _cutoff(treated.cutoff or 0.0), "decimate": treated.decimate,
    }  # fmt: skip


def _friction(laws: Any) -> str:
    if not laws:
        return "the robot's own"
    return ", ".join(dict.fromkeys(str(law["model"]) for law in laws.values()))


def _setting(value: Any) -> str:
    if isinstance(value, float):
        return significant(value, 4)
    if isinstance(value, list | tuple):
        return ", ".join(_setting(item) for item in value)
    return "" if value is None else str(value)


def _robot(described: Any, model: Any) -> dict[str, Any]:
    kind = "over-actuated" if model.n > model.r else "under-actuated" if model.n < model.r else "fully actuated"
    count = len(described.loops)
    loops = f"{count or 'no'} closed loop{'s' if count != 1 else ''}"
    return {
        "name": described.name,
        "source": described.source,
        "text": f"{len(described.bodies)} bodies, {loops}, mobility {model.r}, {model.n} motors ({kind})",
    }
