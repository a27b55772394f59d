"""The report in a browser: what its reader sees and does. Pictures of it are looked at by people, not by tests."""

from __future__ import annotations

import base64
import io
import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from tests.identification.recovery import model_of
from tests.report.fits import dualv

pytest.importorskip("fcntl", reason="the browser is spoken to over a pipe of POSIX")
from tests.report.browser import Browser, Page, browser, executable

from dalembert.excitation import Fourier
from dalembert.identification.identify import identify
from dalembert.report import write_report
from dalembert.simulation.synthetic import random_recording

PATH = executable()
pytestmark = pytest.mark.skipif(PATH is None, reason="no Chromium here (Debian: apt-get install chromium)")

PHONE, DESK = (390, 844), (1400, 900)
FIGURE = "[data-picture='{}']"
CHOOSE = (
    "(c => {{ c.value = '{}'; c.dispatchEvent(new Event('change')); }})(document.querySelectorAll('[data-chooser]')[1])"
)
DRAWN = "[...document.querySelectorAll('.plot')].filter(f => f.clientWidth).every(f => f.dataset.drawn)"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    assert PATH is not None
    with browser(PATH) as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    fit, validation = dualv()
    return write_report(tmp_path_factory.mktemp("report"), fit, validation, compared={"again": fit.fit})


@pytest.fixture(scope="module")
def opened(chromium, report) -> Page:
    page = Page(chromium, *DESK)
    page.open(report)
    return page


@pytest.fixture
def desk(opened) -> Iterator[Page]:
    """The page as it is when it is opened."""
    opened.scheme(dark=False)
    opened.run(CHOOSE.format(0))
    opened.run("Plots.show('time-0', null).then(() => null)")
    yield opened
    _sound(opened)


def _sound(page: Page) -> None:
    """It complained of nothing and asked no server for anything."""
    assert page.errors == []
    assert page.addresses
    assert all(address.startswith(("file:", "blob:", "data:")) for address in page.addresses)


def test_every_plot_is_drawn(desk):
    """Of every log, each with all its curves inside its frame, without being scrolled to."""
    count = 0
    for number in range(desk.run("document.querySelector('[data-chooser]').options.length")):
        desk.run(CHOOSE.format(number))
        desk.wait(DRAWN)
        count = max(count, number + 1)
        for key, curves, lines, points, cells, place in desk.run(
            """[...document.querySelectorAll('.plot')].filter(f => f.clientWidth).map(f => [
                f.dataset.picture, (Plots.data.pictures[f.dataset.picture].curves ?? []).filter(c => !c.points).length,
                [...f.querySelectorAll('.scatterlayer path.js-line')].filter(p => p.getTotalLength() > 20).length,
                f.querySelectorAll('.scatterlayer .points path').length, f.querySelectorAll('.hm image').length,
                [f.clientWidth, f.scrollWidth, f.querySelector('svg').clientWidth]])"""
        ):
            assert lines == curves, key
            assert curves + points + cells > 0, key
            assert max(place[1:]) <= place[0] + 1, key
    assert count == 3
    assert desk.run(
        "document.querySelectorAll('.plot').length === document.querySelectorAll('.plot[data-drawn]').length"
    )


def test_plots_of_a_log_are_zoomed_together(desk):
    desk.wait(DRAWN)
    desk.run(f"document.querySelector({FIGURE.format('torque-0-1')!r}).scrollIntoView({{block: 'center'}})")
    left, top, width, height = desk.run(
        f"(r => [r.x, r.y, r.width, r.height])(document.querySelector({FIGURE.format('torque-0-1')!r} + ' .nsewdrag').getBoundingClientRect())"
    )
    whole = _ranges(desk, "time-0")
    other = _ranges(desk, "frequency-0")
    desk.drag((left + 0.25 * width, top + 0.5 * height), (left + 0.5 * width, top + 0.5 * height))
    desk.wait("Plots.ranges.has('time-0')")
    desk.run("new Promise(requestAnimationFrame)")
    begin, end = desk.run("Plots.ranges.get('time-0')")
    low, high = whole["torque-0-1"]
    assert abs(begin - (low + 0.25 * (high - low))) < 0.02 * (high - low)
    assert abs(end - (low + 0.5 * (high - low))) < 0.02 * (high - low)
    zoomed = _ranges(desk, "time-0")
    assert {"torque-0-0", "torque-0-3", "closure-0", "mass-0-0"} <= set(zoomed)
    for key, (a, b) in zoomed.items():
        assert (a, b) == pytest.approx((begin, end), abs=1e-3), key
    assert _ranges(desk, "frequency-0") == other
    seen = desk.run(
        f"document.querySelector({FIGURE.format('torque-0-2')!r} + ' > div').data.map(d => [d.x[0], d.x[d.x.length - 1]])"
    )
    assert all(first >= begin - 0.1 and last <= end + 0.1 for first, last in seen)  # only what is seen is drawn
    desk.run("document.querySelector('[data-zoom=\"on\"]').click()")
    assert desk.run("Plots.ranges.get('time-0')[0]") > begin
    desk.run("document.querySelector('[data-zoom=\"all\"]').click()")
    desk.run("new Promise(requestAnimationFrame)")
    assert _ranges(desk, "time-0") == whole


def _ranges(page: Page, link: str) -> dict[str, tuple[float, float]]:
    found = page.run(
        f"""[...document.querySelectorAll('.plot[data-drawn]')].filter(f => f.clientWidth && Plots.data.pictures[f.dataset.picture].link === '{link}')
            .map(f => [f.dataset.picture, f.querySelector('.js-plotly-plot')._fullLayout.xaxis.range])"""
    )
    return {key: tuple(ends) for key, ends in found}


def test_the_robot_moves(desk):
    """Played, dragged and slid, the picture changes; paused, it stands still."""
    image = "document.getElementById('figure').toDataURL()"
    begin = desk.run(image)
    desk.run("document.getElementById('play').click()")
    desk.wait("Motion.frame() > 5")
    desk.run("document.getElementById('play').click()")
    assert desk.run(image) != begin
    assert float(desk.run("document.getElementById('now').textContent").removesuffix(" s")) > 0.0
    assert desk.run("new Promise(r => { const k = Motion.frame(); setTimeout(() => r(Motion.frame() === k), 200); })")
    desk.run("document.getElementById('figure').scrollIntoView({block: 'center'})")
    left, top, width, height = desk.run(
        "(r => [r.x, r.y, r.width, r.height])(document.getElementById('figure').getBoundingClientRect())"
    )
    paused = desk.run(image)
    desk.drag((left + 0.5 * width, top + 0.5 * height), (left + 0.6 * width, top + 0.3 * height))
    assert desk.run(image) != paused
    desk.run("(s => { s.value = s.max; s.dispatchEvent(new Event('input')); })(document.getElementById('time'))")
    assert desk.run("Motion.frame()") == desk.run("Number(document.getElementById('time').max)")


def test_all_sections_show_the_same_log(desk):
    desk.run(CHOOSE.format(2))
    assert set(desk.run("[...document.querySelectorAll('[data-chooser]')].map(c => c.value)")) == {"2"}
    assert set(
        desk.run("[...document.querySelectorAll('[data-run]')].filter(r => r.offsetParent).map(r => r.dataset.run)")
    ) == {"2"}


def test_the_table_is_filtered_and_sorted(desk):
    fit, _ = dualv()
    names = [p.name for p in fit.parameters]
    assert _shown(desk) == names
    desk.run("document.getElementById('filter').focus()")
    desk.call("Input.insertText", text="rod2")
    assert _shown(desk) == [p.name for p in fit.parameters if "rod2" in p.name + p.regrouping + p.hint]
    assert desk.run("document.getElementById('shown').textContent").endswith(f"of {len(names)}")
    desk.run("(f => { f.value = ''; f.dispatchEvent(new Event('input')); })(document.getElementById('filter'))")
    desk.run("document.querySelector('.chip.fair').click()")
    weak = [p.name for p in fit.parameters if p.verdict.startswith("weak")]
    assert _shown(desk) == weak and 0 < len(weak) < len(names)
    desk.run("document.querySelector('.chip.fair').click()")
    desk.run("document.querySelector('[data-column=\"value\"]').click()")
    value = {p.name: p.value for p in fit.parameters}
    assert _shown(desk) == sorted(names, key=value.__getitem__)
    desk.run("document.querySelector('[data-column=\"number\"]').click()")
    assert _shown(desk) == names
    desk.run("document.querySelector('#parameter-table details summary').click()")
    first = fit[names[0]]
    assert (first.regrouping or first.name) in desk.run(
        "document.querySelector('#parameter-table details[open]').innerText"
    )


def _shown(page: Page) -> list[str]:
    return page.run(
        "[...document.querySelectorAll('#parameter-table tbody tr')].filter(r => r.offsetParent).map(r => r.querySelector('summary').textContent)"
    )


@pytest.mark.parametrize("dark", [False, True])
def test_colours_can_be_told_apart(desk, dark):
    """Text by its contrast (4.5, WCAG 1.4.3), curves by theirs (3, WCAG 1.4.11) and, as readers with the common kinds of
    colour blindness see them in Chromium's own simulation, from each other.
    """
    desk.scheme(dark)
    desk.wait(f"document.documentElement.dataset.theme === '{'dark' if dark else 'light'}'")
    paper, raised = _colours(desk, ["paper", "raised"])
    assert (_luminance(paper) < 0.1) is dark
    for ink in _colours(desk, ["ink", "faint", "accent", "good", "fair", "poor"]):
        assert min(_contrast(ink, paper), _contrast(ink, raised)) > 4.5
    curves = ["c1", "c2", "c3", "c4", "c5", "c6"]
    for ink in _colours(desk, ["measured", "predicted", "residual", *curves]):
        assert _contrast(ink, paper) > 3.0
    for kind in ("deuteranopia", "protanopia", "none"):
        desk.call("Emulation.setEmulatedVisionDeficiency", type=kind)
        for names in (["measured", "predicted", "residual", "raw"], curves[:4], ["link", "platform", "driven", "loop"]):
            for a, b in itertools.combinations(_painted(desk, names), 2):
                assert np.linalg.norm(_lab(a) - _lab(b)) > 10.0, (kind, names)


def _colours(page: Page, names: list[str]) -> list[np.ndarray]:
    found = [page.run(f"Plots.colour('{name}')").lstrip("#") for name in names]
    return [np.array([int(text[k : k + 2], 16) for k in (0, 2, 4)]) / 255.0 for text in found]


def _painted(page: Page, names: list[str]) -> list[np.ndarray]:
    """Colours as the window shows them."""
    boxes = "".join(f"<i style='flex:1;background:var(--{name})'></i>" for name in names)
    page.run(
        f"(d => {{ d.id = 'boxes'; d.style = 'position:fixed;z-index:99;inset:0;display:flex'; d.innerHTML = {boxes!r}; document.body.append(d); }})"
        "(document.createElement('div'))"
    )
    shot = page.call("Page.captureScreenshot", format="png")["data"]
    page.run("document.getElementById('boxes').remove()")
    image = matplotlib.image.imread(io.BytesIO(base64.b64decode(shot)))
    return [image[400, int((k + 0.5) * image.shape[1] / len(names)), :3] for k in range(len(names))]


def _linear(colour: np.ndarray) -> np.ndarray:
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def _luminance(colour: np.ndarray) -> float:
    return float(_linear(colour) @ [0.2126, 0.7152, 0.0722])


def _contrast(a: np.ndarray, b: np.ndarray) -> float:
    low, high = sorted((_luminance(a), _luminance(b)))
    return (high + 0.05) / (low + 0.05)


def _lab(colour: np.ndarray) -> np.ndarray:
    """CIE L*a*b* under D65."""
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ _linear(colour)
    x, y, z = np.where(
        r := xyz / [0.9505, 1.0, 1.089], np.where(r > (6 / 29) ** 3, np.cbrt(r), r * (29 / 6) ** 2 / 3 + 4 / 29), 4 / 29
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_the_theme_follows_the_system_and_the_button(desk):
    ground = "getComputedStyle(document.body).backgroundColor"
    light = desk.run(ground)
    desk.scheme(dark=True)
    desk.wait("document.documentElement.dataset.theme === 'dark'")
    assert desk.run(ground) != light
    desk.wait(DRAWN)
    inks = (
        "[...document.querySelectorAll('.plot[data-drawn] .xtitle')].filter(t => t.closest('.plot').clientWidth)"
        ".map(t => getComputedStyle(t).fill)"
    )
    desk.wait(f"new Set({inks}).size === 1")
    dark = desk.run(inks)
    desk.run("document.getElementById('theme').click()")
    assert desk.run(ground) == light
    desk.wait(f"!new Set({inks}).has({dark[0]!r})")
    assert len(dark) > 10


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_nothing_sticks_out(chromium, report, size):
    page = Page(chromium, *size)
    page.open(report)
    page.wait(DRAWN)
    assert page.run("document.documentElement.scrollWidth") <= size[0]
    elements = "[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, svg, .hidden'))"
    assert (
        page.run(f"{elements}.filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML)")
        == []
    )
    touched = "[...document.querySelectorAll('button, select')].filter(e => e.offsetParent && !e.closest('thead'))"
    heights = page.run(f"{touched}.map(e => e.getBoundingClientRect().height)")
    assert min(heights) >= 24  # what a finger can hit (WCAG 2.5.8)
    _sound(page)
    page.close()


def test_printed_it_is_light_and_whole(chromium, report):
    """From a dark page, at once: every plot is on paper, and what only a screen can do is not."""
    page = Page(chromium, *DESK, dark=True)
    page.open(report)
    page.run("Plots.load()")
    printed = page.pdf()
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") > 3
    assert page.run(DRAWN)
    assert page.run("document.documentElement.dataset.theme") == "dark"  # as it was before
    page.paper()
    hidden = page.run(
        "['nav', '.zoom', '.chip', '#theme', '.modebar'].filter(s => document.querySelector(s)?.offsetParent)"
    )
    assert hidden == []
    _sound(page)
    page.close()


@pytest.mark.slow
def test_a_minute_at_a_kilohertz(chromium, tmp_path):
    """A long log stays a small page, all of it drawn; how long it takes to open is told, not judged."""
    recording = random_recording(model_of("tx40"), np.random.default_rng(5), family=Fourier(5, 60.0))
    path = write_report(tmp_path, identify(model_of("tx40"), recording.log))
    assert path.stat().st_size < 8e6
    page = Page(chromium, *DESK)
    begun = time.perf_counter()
    page.open(path)
    opened = time.perf_counter() - begun
    page.wait("document.querySelector(\"[data-picture='torque-0-0'][data-drawn]\") !== null")
    first = time.perf_counter() - begun
    page.wait(DRAWN)
    print(
        f"\nTX40, 60 s at 1 kHz: page of {path.stat().st_size / 1e6:.1f} MB opened in {opened:.2f} s, first torque drawn "
        f"after {first:.2f} s, every plot after {time.perf_counter() - begun:.2f} s"
    )
    ends = page.run("document.querySelector(\"[data-picture='torque-0-0'] .js-plotly-plot\")._fullLayout.xaxis.range")
    assert ends[1] - ends[0] > 59.0
    _sound(page)
    page.close()
