"""Chooses the samples that a gallery shows."""

from typing import NamedTuple

import numpy as np

from liquid_tf._store import labels
from liquid_tf._view.view import View

# Pictures of a page, so that a page of 1000 classes still opens.
MOST = 2000


class Group(NamedTuple):
  """Samples under one heading.

  Attributes:
    name: the heading.
    count: how many samples there are.
    positions: in the view, of those that are shown, ascending.
  """

  name: str
  count: int
  positions: list[int]


def groups(view: View, each: int) -> list[Group]:
  """Groups by class, or one of all where samples have no class.

  Args:
    view: the samples.
    each: pictures of a class at most. All classes together have at most MOST; where
      there are more classes than that, the later ones have none.

  Returns:
    The groups that have samples, in the order of class numbers. Pictures are spread
    over a group's samples.
  """
  every = np.arange(len(view))
  label = view.manifest["features"].get("label")
  if label is None or label["dtype"] != "int64":
    return [Group("All samples", len(every), _spread(every, min(each, MOST)))]
  numbers = labels.load(view.manifest)[view.numbers]
  order = np.argsort(numbers, kind="stable")
  found, begins = np.unique(numbers[order], return_index=True)
  parts = np.split(order, begins[1:])
  each = min(each, max(1, MOST // len(found)))
  classes = label.get("classes")
  result = []
  for i, (number, part) in enumerate(zip(found.tolist(), parts)):
    name = f"Label {number}"
    if classes is not None and 0 <= number < len(classes):
      name = classes[number]
    positions = _spread(part, each if i < MOST else 0)
    result.append(Group(name, len(part), positions))
  return result


def _spread(positions: np.ndarray, count: int) -> list[int]:
  """At most `count` of some positions, from the first to the last."""
  if len(positions) <= count:
    return positions.tolist()
  places = np.arange(count) * (len(positions) - 1) // max(1, count - 1)
  return positions[places].tolist()
