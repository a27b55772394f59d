"""The report as a text: one well-formed page that loads nothing, holds all sections and survives hostile names."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from tests.report.fits import dualv, evidence

from dalembert.identification.fit import Fit
from dalembert.parameters import inertial_names
from dalembert.report import write_report
from dalembert.report.builder import contents, page
from dalembert.report.evidence import gather
from dalembert.report.reach import beyond, ranges, sensors, shares
from dalembert.report.sections.parameters import body_rows

VOID = {"meta", "link", "input", "br", "img", "hr"}
SECTIONS = [
    "verdicts", "parameters", "torque", "correlation", "singular", "coverage", "closure", "mass",
    "motion", "comparison",
    "provenance",
]  # fmt: skip
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


class Page(HTMLParser):
    """Elements of a page, checked for nesting as they come."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.text: list[str] = []
        self.style = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open, self.getpos())
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append((self.found[-1][1], data))
        elif self.open and self.open[-1] == "style":
            self.style += data
        else:
            self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]

    def data(self) -> dict:
        """What the scripts read; a number that is not finite raises."""

        def refuse(word: str) -> None:
            raise AssertionError(f"{word} in the page's data")

        return json.loads(next(s for a, s in self.scripts if a.get("id") == "data"), parse_constant=refuse)


@pytest.fixture(scope="module")
def shown() -> Page:
    return Page(page(evidence()))


def test_all_sections_stand_in_the_order_of_reading(shown):
    assert [a["id"] for a in shown.all("section")] == SECTIONS
    assert [a["href"] for a in shown.all("a") if a["href"] != "#main"] == [f"#{name}" for name in SECTIONS]


def test_the_page_loads_nothing(shown):
    for tag, attributes in shown.found:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            address = attributes.get(name)
            assert address is None or address.startswith(("#", "data:")), (tag, name, address)
    assert not re.search(r"@import|url\(", shown.style)


def test_it_carries_the_plotting_library_once(shown):
    packed = [text for a, text in shown.scripts if a.get("id") == "plotly"]
    assert len(packed) == 1
    assert b"plotly.js v" in gzip.decompress(base64.b64decode(packed[0]))[:200]


def test_it_can_be_read_by_machines_for_people_who_do_not_see_it(shown):
    ids = [a["id"] for _, a in shown.found if a.get("id")]
    assert len(ids) == len(set(ids))
    levels = [int(tag[1]) for tag, _ in shown.found if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert all(a.get("scope") in ("row", "col") for a in shown.all("th"))
    for a in shown.all("section"):
        assert a["aria-labelledby"] in ids
    assert shown.all("html")[0]["lang"] == "en"


def test_every_picture_has_data_and_a_place(shown):
    pictures = shown.data()["pictures"]
    places = [a["data-picture"] for a in shown.all("figure")]
    assert sorted(places) == sorted(pictures)
    for key, picture in pictures.items():
        for curve in picture.get("curves", ()):
            values = np.frombuffer(base64.b64decode(curve["y"]), "<f4")
            assert np.isfinite(values).mean() > 0.5, key


def test_torque_is_drawn_as_the_identification_compared_it():
    """Where a decimated row has all of its samples it is the drawn curve at that instant, and so is its residual."""
    fit, _ = dualv()
    tracks = {track.name: track for track in gather(fit).tracks}
    seen = 0
    for block in fit.prepared.rows.blocks():
        track, k = tracks[block.run], block.group
        measured = track.compared(track.measured[:, k])[block.sample * track.factor]
        predicted = track.compared(track.predicted[:, k])[block.sample * track.factor]
        whole = np.isfinite(measured)
        columns = list(fit.prepared.problem.kept)
        np.testing.assert_allclose(measured[whole], block.y[whole], atol=1e-8)
        np.testing.assert_allclose(predicted[whole], (block.W[:, columns] @ fit.estimate.values)[whole], atol=1e-8)
        seen += int(whole.sum())
    assert seen > 100


@pytest.mark.parametrize("where", ["robot", "log", "parameter"])
def test_hostile_names_stay_text(where):
    fit, validation = dualv()
    plain = fit.fit
    if where == "robot":
        plain = replace(plain, robot=HOSTILE)
    elif where == "parameter":
        plain = replace(plain, parameters=(replace(plain.parameters[0], name=HOSTILE, regrouping=HOSTILE),))
        plain = replace(plain, provenance={k: v for k, v in plain.provenance.items() if k != "model"})
        validation = None
    else:
        logs = [{**record, "name": HOSTILE, "path": HOSTILE} for record in plain.provenance["logs"]]
        plain = replace(plain, provenance={**plain.provenance, "logs": logs, "notes": [HOSTILE]})
    found = Page(page(gather(plain, validation)))
    assert not found.all("img")
    assert not [text for _, text in found.scripts if text.startswith("alert")]
    assert any(HOSTILE in text for text in found.text)
    found.data()


def test_names_of_logs_cannot_leave_the_data():
    fit, validation = dualv()
    source = validation.sources[0]
    hostile = replace(source, info=replace(source.info, name=HOSTILE))
    text = page(gather(fit.fit, replace(validation, sources=(hostile,))))
    found = Page(text)
    assert not found.all("img")
    assert found.data()["motion"]["logs"]


def test_a_fit_from_a_file_shows_what_it_has(tmp_path):
    """Without its logs a report has no pictures of them; with a validation it shows that one's."""
    fit, validation = dualv()
    stored = Fit.from_json(fit.to_json())
    assert [c.key for c in contents(gather(stored))] == ["verdicts", "parameters", "provenance"]
    with_logs = [c.key for c in contents(gather(stored, validation))]
    assert with_logs == [s for s in SECTIONS if s not in ("correlation", "singular", "comparison")]
    Page(write_report(tmp_path / "new" / "folder", stored, validation).read_text(encoding="utf-8"))


def test_verdicts_say_what_the_numbers_do():
    fit, validation = dualv()
    answers = next(c for c in contents(gather(fit, validation)) if c.key == "verdicts").shown["answers"]
    predicts, _determined, physical = answers
    assert predicts.state == "good" and predicts.headline == "Yes"
    assert any("preload" in text for text in predicts.details)
    assert physical.state == "good"
    poor = replace(validation, relative_error=0.4)
    assert contents(gather(fit, poor))[0].shown["answers"][0].headline == "No"
    untested = contents(gather(fit))[0].shown["answers"][0]
    assert untested.state == "open" and untested.headline == "Not tested"
    wrong = replace(fit, parameters=tuple(
        replace(p, value=-1.0, low=-1.1, high=-0.9) if p.name.startswith("Fv") else p for p in fit.parameters
    ))  # fmt: skip
    assert contents(gather(wrong, validation))[0].shown["answers"][2].headline == "No"


def test_a_quiet_motion_is_no_overfit():
    """A held-out motion of little torque has a large relative error; what counts is the error in newton metres."""
    fit, validation = dualv()
    own = {row.name: row.rms for row in fit.rows}
    for times, state, told in ((1.1, "good", False), (3.0, "fair", True)):
        rows = tuple(replace(row, rms=times * own[row.name]) for row in validation.rows)
        seen = replace(validation, rows=rows, relative_error=0.09)
        assert seen.relative_error > 5.0 * fit.relative_error
        answer = contents(gather(fit, seen))[0].shown["answers"][0]
        assert answer.state == state
        assert any("RMS error 3.0 times" in text for text in answer.details) is told


def test_motion_beyond_that_of_the_identification_is_told():
    whole = evidence()
    used = [track for track in whole.tracks if not track.held_out]
    tested = next(track for track in whole.tracks if track.held_out)
    low, high = ranges(used)
    assert np.all(low <= used[0].motion.lowest) and np.all(high >= used[1].motion.highest)

    def told(lowest, highest):
        moved = replace(tested, motion=replace(tested.motion, lowest=lowest, highest=highest))
        return beyond(replace(whole, tracks=(*used, moved)))

    assert told(low, high) == ()
    further = high.copy()
    further[1, 2] += 0.2 * (high - low)[1, 2]
    (text,) = told(low, further)
    assert "speed of m3" in text and "rad/s" in text
    assert any(text in detail for detail in contents(replace(whole, tracks=(
        *used, replace(tested, motion=replace(tested.motion, lowest=low, highest=further)))))[0].shown["answers"][0].details)  # fmt: skip


def test_shares_of_the_limits_are_those_of_the_description():
    whole = evidence()
    track = whole.tracks[0]
    for k, sensor in enumerate(sensors(whole.model.model.robot)):
        position, speed = shares(sensor, track.motion.lowest[:, k], track.motion.highest[:, k])
        assert 0.0 <= position[0] < position[1] <= 1.0  # the log was designed within the limits
        assert 0.0 < speed <= 1.0
        width = sensor.limit.upper - sensor.limit.lower
        assert (position[1] - position[0]) * width == pytest.approx(np.ptp(track.motion.q[:, k]), rel=0.01)


def test_nominal_sums_that_cancel_are_zero():
    """MYR of the platform: its own product of zero and masses at opposite levers."""
    fit, _ = dualv()
    prior = gather(fit).prior
    assert prior["MYR_platform"] == 0.0
    assert sum(value != 0.0 for value in prior.values()) > 10


def test_several_fits_stand_beside_each_other():
    fit, _ = dualv()
    other = replace(fit.fit, parameters=tuple(replace(p, value=2.0 * p.value) for p in fit.parameters))
    made = next(c for c in contents(gather(fit, compared=[("doubled", other)])) if c.key == "comparison")
    assert made.shown["names"] == ["nominal", "doubled"]
    well = [
        row for row, p in zip(made.shown["rows"], fit.parameters, strict=True) if abs(p.value) > 10 * (p.high - p.low)
    ]
    assert well and all(not row["cells"][1]["agrees"] for row in well)
    # the log was made with the nominal values: most lie in their 95 % intervals
    assert np.mean([row["cells"][0]["agrees"] for row in made.shown["rows"]]) > 0.8


def test_what_rounding_leaves_of_a_zero_is_zero():
    standard = {}
    for body, size in (("arm", 1.0), ("tip", 1e-4)):
        for k, name in enumerate(inertial_names(body)):
            standard[name] = 3e-17 if k in (1, 7) else size * (k + 1.0)
    rows = dict(body_rows(standard))
    assert [k for k, text in enumerate(rows["arm"]) if text == "0"] == [1, 7]
    assert rows["arm"][0] == "1.000" and rows["tip"][0] == "0.0001000"
