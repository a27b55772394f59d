"""Wrong uses, as users make them: one line that says what is wrong, exit code 2 (130 for Ctrl-C), no file left behind."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.validation.damage import recorded

from dalembert.cli import main
from dalembert.identification.fit_files import write_fit
from dalembert.identification.identify import identify
from dalembert.logs import write_log
from dalembert.robot import load_robot, write_yaml

SELF = [sys.executable, "-c", "from dalembert.cli.main import run; run()"]
URDF = '<robot name="a"><link name="b"/><link name="c"/><joint name="j" type="revolute"><parent link="b"/><child link="c"/></joint></robot>'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a robot, its log and fit, and everything that can be wrong with such files."""
    folder = tmp_path_factory.mktemp("wrong")
    known = recorded("serial")
    write_yaml(known.robot, folder / "arm.yaml")
    write_log(known.log, folder / "run.csv")
    write_fit(identify(known.model, known.log).fit, folder / "fit")
    lines = (folder / "run.csv").read_text().splitlines()
    head = next(line for line in lines if "q_pan" in line)
    rows = lines[lines.index(head) + 1 :]

    def log(name: str, *text: str) -> None:
        (folder / name).write_text("\n".join(text) + "\n" * bool(text))

    log("empty.csv")
    log("header.csv", head)
    log("words.csv", head, *rows[:50], rows[50].replace(rows[50].split(",")[2], "high"))
    log("short_row.csv", head, *rows[:50], "1,2,3")
    log("nan.csv", head, *rows[:50], ",".join(["nan"] * 7), *rows[51:100])
    log("other.csv", head.replace("pan", "q1").replace("lift", "q2").replace("bend", "q3"), *rows[:99])
    log("stopped.csv", head, *(",".join(["0", *row.split(",")[1:]]) for row in rows[:99]))
    log("five.csv", head, *rows[:5])
    log("run.xlsx", "PK")
    log("not.parquet", "text")
    log("broken.urdf", "<robot><link>")
    log("a.urdf", URDF)
    log("tab.yaml", "name: arm", "\tbodies: []")
    log("map.yaml", "signals: {q_pam: pan}")
    log("motion.yaml", "family: fourier", "duration: 1 s", "harmonics: 2", "amplitude: 10 deg", "seed: 1")
    log("law.yaml", "family: forier")
    (folder / "bad").mkdir()
    log("bad/fit.json", '{"robot": "arm"}')
    log("torn.json", (folder / "fit" / "fit.json").read_text()[:2000])
    return folder


def contents(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.stat().st_size for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture
def run(made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command line in that folder as the console script does; the one line of its error."""
    monkeypatch.chdir(made)

    def call(line: str, code: int = 2) -> str:
        monkeypatch.setattr(sys, "argv", ["dalembert", *line.split()])
        before = contents(made)
        with pytest.raises(SystemExit) as ended:
            main.run()
        said = capsys.readouterr()
        assert ended.value.code == code, said.err
        assert "Traceback" not in said.err and said.out == ""
        errors = [text for text in said.err.splitlines() if text.startswith(("error: ", "interrupted"))]
        assert len(errors) == 1 and said.err.splitlines()[-1] == errors[0], said.err
        assert contents(made) == before
        return errors[0]

    return call


# what is typed, and what the line must name
WRONG = [
    # commands and options
    ("identfy arm.yaml run.csv", "did you mean 'identify'"),
    ("identify arm.yaml", "Missing argument 'LOG...'"),
    ("identify arm.yaml run.csv --methd wls", "--methd"),
    ("identify arm.yaml run.csv --method lasso", "choose from"),
    ("identify arm.yaml run.csv --friction stribek", "stribeck"),
    ("identify arm.yaml run.csv --cutoff fast", "--cutoff 'fast'"),
    ("identify arm.yaml run.csv --option gamma=1", "--option"),
    ("identify arm.yaml run.csv --repair gaps=glue", "longest, fill"),
    ("identify arm.yaml run.csv --payload tool=gone.csv", "no such log"),
    ("base arm.yaml --set l1", "NAME=VALUE"),
    # robots
    ("base arm.yml", "arm.yml"),
    ("base armm", "choose from"),
    ("base tab.yaml", "tab.yaml:2"),
    ("base broken.urdf", "broken.urdf"),
    ("show arm.yaml -o arm.bmp", ".png, .svg, .pdf, .html"),
    # logs
    ("identify arm.yaml gone.csv", "gone.csv: no such file"),
    ("identify arm.yaml run.xlsx", "unknown log format '.xlsx'"),
    ("identify arm.yaml not.parquet", "not a Parquet file"),
    ("identify arm.yaml fit", "fit"),
    ("identify arm.yaml empty.csv", "empty.csv: empty file"),
    ("identify arm.yaml header.csv", "a header and no rows"),
    ("identify arm.yaml five.csv", "five"),
    ("identify arm.yaml words.csv", "found 'high', expected a number"),
    ("identify arm.yaml short_row.csv", "3 values, expected 7"),
    ("identify arm.yaml nan.csv", "repair: missing=drop"),
    ("identify arm.yaml other.csv", "another robot"),
    ("identify arm.yaml stopped.csv", "time"),
    ("identify arm.yaml run.csv --channels gone.yaml", "gone.yaml"),
    ("identify arm.yaml run.csv --channels map.yaml", "did you mean 'q_pan'"),
    ("identify arm.yaml run.csv --validate gone.csv", "gone.csv: no such file"),
    # new and check
    ("new arm.yaml a.urdf", "is there already; --force"),
    ("new b.txt a.urdf", "expected .yaml"),
    ("new b.yaml gone.urdf", "gone.urdf: no such file"),
    ("new b.yaml --from step a.urdf", "urdf, mjcf, mdh-csv"),
    ("new b.yaml run.csv", "column"),
    ("new gone/b.yaml a.urdf", "gone"),
    ("check arm.yaml header.csv", "a header and no rows"),
    ("check arm.yaml other.csv --channels map.yaml", "q_pam"),
    ("check arm.yaml run.csv --write-channels map.yaml", "is there already"),
    ("check arm.yaml run.csv --write-channels map.txt", "expected .yaml"),
    # fits
    ("validate gone run.csv", "expected the fit.json that 'dalembert identify' wrote"),
    ("validate run.csv run.csv", "run.csv"),
    ("validate torn.json run.csv", "torn.json"),
    ("validate bad run.csv", "fit.json"),
    ("validate fit other.csv", "another robot"),
    ("export fit --to step", "choose from urdf, mjcf"),
    ("export fit --to urdf -o run.csv/arm.urdf", "run.csv"),
    ("export fit --to c --payload tool", "payload 'tool'"),
    ("export gone --to c", "gone"),
    ("control fit gone.csv", "gone.csv"),
    ("control fit motion.yaml --controller lqr", "choose from"),
    # simulations and motions
    ("simulate arm.yaml gone.yaml", "gone.yaml"),
    ("simulate arm.yaml law.yaml", "did you mean 'fourier'"),
    ("simulate arm.yaml motion.yaml -o run.txt", ".csv, .parquet"),
    ("simulate arm.yaml motion.yaml --payload tool=heavy", "NAME=KG"),
    ("excite arm.yaml --criterion volume -o motion", "choose from"),
    ("excite arm.yaml -o motion --seed -1", "'--seed': found '-1', expected greater than or equal to 0"),
    ("excite arm.yaml -o motion --starts 0", "'--starts': found '0', expected greater than or equal to 1"),
    ("excite arm.yaml -o motion --repeat 0", "'--repeat': found '0', expected greater than or equal to 1"),
    ("excite arm.yaml -o motion --random -3", "'--random': found '-3', expected greater than or equal to 0"),
    ("excite arm.yaml -o motion --budget nan", "--budget nan: expected a positive time"),
    ("excite arm.yaml -o motion --harmonics 99999999999999999999", "corners in a period, expected at most 1000"),
    ("excite arm.yaml -o motion --duration 1e30", "1 periods of 1e+30 s at 1000 Hz, expected at most 2e+07 samples"),
    ("excite arm.yaml -o motion --duration inf", "1 periods of inf s"),
    ("excite arm.yaml -o motion --repeat 99999999999999999999", "expected at most 2e+07 samples"),
    ("excite arm.yaml -o motion --speed nan", "speed nan, expected a weight that is not negative"),
    ("excite arm.yaml -o motion --channels map.yaml", "no --given LOG is there"),
    ("excite arm.yaml -o motion --payload-mass 3", "--payload-mass 3 without --payload"),
    ("excite arm.yaml -o motion --seed 1.5", "'--seed': found '1.5', expected a valid integer; see"),
    ("simulate arm.yaml motion.yaml --seed -1", "'--seed': found '-1', expected greater than or equal to 0"),
    ("reproduce nothing", "choose from"),
    ("bench nothing", "choose from"),
]


@pytest.mark.parametrize(("line", "words"), WRONG, ids=[line for line, _ in WRONG])
def test_a_mistake_ends_in_one_line(line: str, words: str, run: Callable[..., str]) -> None:
    assert words in run(line)


UNWRITABLE = [
    "new /proc/arm.yaml a.urdf",
    "show arm.yaml -o /proc/arm.png",
    "identify arm.yaml run.csv -o run.csv/fit",
    "identify arm.yaml run.csv -o /proc/fit",
    "export fit --to python -o /proc/arm.py",
    "export fit --to c -o run.csv",
    "simulate arm.yaml motion.yaml -o /proc/run.csv",
    "check arm.yaml run.csv --write-channels /proc/map.yaml",
]


@pytest.mark.parametrize("line", UNWRITABLE)
def test_a_place_that_cannot_be_written(line: str, run: Callable[..., str]) -> None:
    """Folders of /proc and folders under a file refuse even root."""
    place = next(word for word in line.split()[::-1] if word.startswith(("/proc/", "run.csv")))
    assert place.removesuffix("/fit") in run(line)


@pytest.mark.parametrize(
    "line",
    ["new b.yaml a.urdf", "export fit --to yaml -o b.yaml", "export fit --to c -o b_c", "identify arm.yaml run.csv -o b",
     "check arm.yaml run.csv --write-channels b.yaml", "show arm.yaml -o b.html"],
)  # fmt: skip
def test_a_full_disk_leaves_nothing(line: str, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file takes half of its bytes, then the disk is full."""
    written = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.name == "kernel.c" or (path.suffix in (".so", ".c") and "kernels" in str(path)):
            return written(path, data)  # compiling what no run before has left in the cache
        written(path, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    monkeypatch.setattr(Path, "write_text", lambda path, text, *_, **__: full(path, text.encode()))
    error = run(line)
    assert error.startswith("error: b") and "No space left on device" in error


@pytest.mark.parametrize("line", ["identify arm.yaml run.csv -o b", "check arm.yaml run.csv --write-channels b.yaml"])
def test_ctrl_c_in_the_middle(line: str, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dalembert.signals.filter.signal.sosfiltfilt", interrupted)
    assert run(line, code=130) == "interrupted"


@pytest.mark.slow
def test_ctrl_c_at_a_terminal(made: Path) -> None:
    """The signal itself, sent to a run that has begun to work and would take a minute."""
    command = [*SELF, "excite", "arm.yaml", "--duration", "20", "--budget", "60", "-o", "motion"]
    before = contents(made)
    process = subprocess.Popen(command, cwd=made, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stderr is not None
    begun = process.stderr.readline()  # progress is printed after a second of work
    assert begun.startswith("excite")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130 and out == "" and err.splitlines()[-1] == "interrupted" and "Traceback" not in err
    assert contents(made) == before


@pytest.mark.slow
def test_a_file_system_that_takes_no_more(made: Path) -> None:
    """The operating system itself refuses after 20 kB: a log of a second is longer."""
    before = contents(made)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    environment = {
        **os.environ,
        "DALEMBERT_BACKEND": "numpy",
        "PATH": "/nonexistent",
    }  # no compiler: it writes files too
    for ending in ("csv", "parquet"):
        done = subprocess.run(
            [*SELF, "simulate", "arm.yaml", "motion.yaml", "-o", f"out.{ending}"], cwd=made, preexec_fn=limit,
            capture_output=True, text=True, check=False, env=environment,
        )  # fmt: skip
        assert done.returncode == 2, done.stderr
        assert "out." in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr
    assert contents(made) == before


def test_json_is_no_excuse(run: Callable[..., str]) -> None:
    assert "no such file" in run("identify arm.yaml gone.csv --json")


def test_what_is_right_still_works(made: Path) -> None:
    """The files above are sound, so the errors are those of the mistakes."""
    robot = load_robot(made / "arm.yaml")
    assert np.isfinite(json.loads((made / "fit" / "fit.json").read_text())["condition"])
    assert robot.motor_names == ("pan", "lift", "bend")


@pytest.mark.filterwarnings("always")
def test_warnings_of_the_library_are_notes(
    made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(made)
    monkeypatch.setattr(sys, "argv", ["dalembert", "show", "tilted.urdf"])
    (made / "tilted.urdf").write_text(URDF.replace("<parent", '<origin rpy="1.5708 0 0"/><parent'))
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == 0
    said = capsys.readouterr().err
    assert "tilted.urdf:1: rpy 1.5708 is taken as pi/2, which it is rounded from\n" in said
    assert "UserWarning" not in said and ".py:" not in said
    (made / "tilted.urdf").unlink()
