"""A progress bar that can be absent."""

import sys

import tqdm

# Seconds between two states of the bar; a log file keeps every one of them.
_INTERVAL = 0.1
_INTERVAL_IN_A_LOG = 10.0


class Progress:
  """Shows on stderr how much of a pass is done, the rate and the time left.

  Args:
    visible: whether to show anything.
  """

  def __init__(self, visible: bool):
    self._visible = visible
    self._bar: tqdm.tqdm | None = None

  def start(
    self, name: str, total: int | None, done: int = 0, unit: str = "img"
  ) -> None:
    """Begins a pass.

    Args:
      name: of the pass.
      total: images, or other units; None where it is not known yet.
      done: of them by an earlier run.
      unit: of what there are `total`.
    """
    self.close()
    if self._visible and total != 0:
      self._bar = tqdm.tqdm(
        desc=name,
        total=total,
        initial=done,
        unit=unit,
        dynamic_ncols=True,
        mininterval=_INTERVAL if sys.stderr.isatty() else _INTERVAL_IN_A_LOG,
      )

  def step(self, count: int = 1) -> None:
    if self._bar is not None:
      self._bar.update(count)

  def close(self) -> None:
    if self._bar is not None:
      self._bar.close()
      self._bar = None


HIDDEN = Progress(False)
