"""``dalembert validate``: a fit on logs it has never seen."""

from __future__ import annotations

from typing import Annotated

import typer

from dalembert.cli.console import AsJson, emit, steps
from dalembert.cli.options import ChannelsOption, LogReader, PayloadOption, RepairOption

__all__ = ["validate"]


def validate(
    fit: Annotated[str, typer.Argument(metavar="FIT", help="fit.json, or the folder 'dalembert identify' wrote")],
    logs: Annotated[list[str], typer.Argument(metavar="LOG...", help="logs the fit was not made from")],
    payload: PayloadOption = None,
    channels: ChannelsOption = None,
    repair: RepairOption = None,
    as_json: AsJson = False,
) -> None:
    """Predict the torque of other logs with a fit, and check its mass matrix and bodies along them."""
    from dalembert.identification.fit_files import read_fit
    from dalembert.identification.fitted import fitted
    from dalembert.validation import validate as score

    found = read_fit(fit)
    with steps("validate") as progress:
        progress("rebuilding the model")
        model = fitted(found)
        progress("reading the logs")
        sources = LogReader(model.described, channels or (), repair or ()).read(logs, payload or ())
        progress("predicting torques")
        scored = score(found, sources)
    emit(as_json, scored.to_dict(), str(scored))
