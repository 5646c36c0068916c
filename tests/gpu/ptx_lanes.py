"""What lanes of a warp do together: they exchange values, and wait for each other."""

import numpy as np
from ptx_math import LANE, TYPES
from ptx_memory import LANES, Fault

_ALL = np.uint32(0xFFFFFFFF)
_BITS = np.uint32(1) << LANE.astype(np.uint32)

# What there is of it; what is not here has not been thought about.
KNOWN = (
  r"shfl\.sync\.(up|down|bfly|idx)\.b32|vote\.sync\.(ballot\.b32|(any|all|uni)\.pred)"
  r"|match\.(any|all)\.sync\.b(32|64)|redux\.sync\.((add|min|max)\.[su]32|(and|or|xor)\.b32)"
  r"|bar\.warp\.sync"
)
_REDUCE = {
  "add": np.add,
  "min": np.minimum,
  "max": np.maximum,
  "and": np.bitwise_and,
  "or": np.bitwise_or,
  "xor": np.bitwise_xor,
}


def _together(warp, members, what: str):
  """Which lanes do it together: arrays of lanes, by the masks that they give.

  Raises:
    Fault: a lane is named that is elsewhere, or that names others.
  """
  masks = np.unique(members[warp.mask])
  here = _BITS[warp.mask].sum(dtype=np.uint32)
  groups = []
  for mask in masks:
    lanes = np.flatnonzero(warp.mask & (members == mask))
    of_group = _BITS[lanes].sum(dtype=np.uint32)
    if of_group == mask:
      groups.append(lanes)
    elif mask & ~here:
      raise Fault(f"{what} while lanes of warp {warp.index} are apart")
    else:
      raise Fault(f"{what}: lanes of warp {warp.index} name lanes that name others")
  return groups


class Lanes:
  """Steps by the names of instructions; `_read` is the kernel's."""

  def _shfl(self, parts, operands):
    to, _, told = operands[0].partition("|")
    source, by, last, members = (self._read(text, "u32") for text in operands[1:])
    mode = parts[2]

    def step(warp):
      groups = _together(warp, members(warp), "shfl.sync")
      value, count, limits = source(warp), by(warp).astype(np.int64), last(warp)
      count &= 31
      clamp, segment = limits & 31, limits >> np.uint32(8) & 31
      first = LANE & segment
      most = first | clamp & ~segment & 31
      if mode == "up":
        lane = LANE - count
        valid = lane >= most
      else:
        lane = {"down": LANE + count, "bfly": LANE ^ count}.get(
          mode, first | count & ~segment & 31
        )
        valid = lane <= most
      lane = np.where(valid, lane, LANE)
      for group in groups:
        if not np.isin(lane[group], group).all():
          raise Fault("shfl.sync asks lanes that are not named")
      warp.set(to, value[lane])
      if told:
        warp.set(told, valid)

    return step

  def _vote(self, parts, operands):
    says, members = self._read(operands[1], "pred"), self._read(operands[2], "u32")
    mode = parts[2]

    def step(warp):
      result = np.zeros(LANES, np.uint32 if mode == "ballot" else bool)
      value = says(warp)
      for group in _together(warp, members(warp), "vote.sync"):
        said = value[group]
        if mode == "ballot":
          result[group] = _BITS[group[said]].sum(dtype=np.uint32)
        elif mode == "any":
          result[group] = said.any()
        else:
          result[group] = said.all() or mode == "uni" and not said.any()
      warp.set(operands[0], result)

    return step

  def _match(self, parts, operands):
    to, _, told = operands[0].partition("|")
    source = self._read(operands[1], parts[-1])
    members = self._read(operands[2], "u32")

    def step(warp):
      result, same = np.zeros(LANES, np.uint32), np.zeros(LANES, bool)
      value = source(warp)
      for group in _together(warp, members(warp), "match.sync"):
        alike = value[group][:, None] == value[group]
        masks = np.where(alike, _BITS[group], 0).sum(1, dtype=np.uint32)
        if parts[1] == "all":
          same[group] = alike.all()
          masks = np.where(same[group], masks, 0)
        result[group] = masks
      warp.set(to, result)
      if told:
        warp.set(told, same)

    return step

  def _redux(self, parts, operands):
    source = self._read(operands[1], parts[-1])
    members = self._read(operands[2], "u32")
    function = _REDUCE[parts[2]]

    def step(warp):
      value = source(warp)
      result = np.zeros(LANES, TYPES[parts[-1]])
      for group in _together(warp, members(warp), "redux.sync"):
        result[group] = function.reduce(value[group], dtype=value.dtype)
      warp.set(operands[0], result)

    return step

  def _bar(self, parts, operands):
    members = self._read(operands[0], "u32")

    def step(warp):
      for group in _together(warp, members(warp), "bar.warp.sync"):
        warp.block.shared.warp_barrier(warp.index, group)

    return step
