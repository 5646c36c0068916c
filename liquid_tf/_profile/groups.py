"""The scan groups of pcr as formats of a profile: fewer bytes, and less of an image."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from liquid_tf._convert import fidelity
from liquid_tf._cost import model, planner, similarity
from liquid_tf._native.limits import Limits
from liquid_tf._profile import names
from liquid_tf._profile.sample import Encoded
from liquid_tf._store import manifest as manifests
from liquid_tf._store.manifest import Manifest
from liquid_tf.errors import WrongArgument

# What is compared of many groups, beside the last: those between them are similar to
# one of these (PCR, section 4.3).
_COMPARED = (1, 2, 5)

# Images whose similarity is measured, if the sample has as many.
_LOOKED_AT = 32


def split(
  encoded: Encoded,
  manifest: Manifest,
  pcr: Mapping[str, Any] | None,
  least_mssim: float | None,
) -> Encoded:
  """Puts the scan groups that are to be compared in the place of the format pcr.

  These are all groups where they were chosen for the encoder. Else they are 1, 2, 5 and
  the last one. With a least MSSIM they are the lowest group that has it, and those of
  them above it.

  Args:
    encoded: what encoding the sample showed.
    manifest: of the sample.
    pcr: options of its encoder; None where pcr is not profiled.
    least_mssim: that a group must have to be advised; None: whole images only.

  Raises:
    ValueError: `least_mssim` is given, and the images are too small to be compared.
  """
  if pcr is None:
    return encoded
  measured = _measured(manifest)
  last = len(measured)
  mssim = {group: row["mssim"] for group, row in enumerate(measured, start=1)}
  least = 1
  if least_mssim is not None:
    if None in mssim.values():
      raise WrongArgument(
        "least_mssim",
        least_mssim,
        "needs images of at least 11x11 pixels, which MSSIM compares",
      )
    least = similarity.lowest_group(mssim, least_mssim)
  compared = {*_COMPARED, least, last} if pcr["groups"] is None else set(mssim)
  size = float(np.mean(encoded.stored_bytes[names.PCR]))
  scans = {
    names.name(None if group == last else group): model.ScanGroup(
      group=group,
      of=last,
      read_bytes=size * measured[group - 1]["bytes"] / measured[-1]["bytes"],
      mssim=mssim[group],
      enough=group == last or (least_mssim is not None and mssim[group] >= least_mssim),
    )
    for group in sorted(compared, reverse=True)
    if least <= group <= last
  }

  def spread(values: Mapping[str, Any]) -> dict[str, Any]:
    others = {name: value for name, value in values.items() if name != names.PCR}
    return others | dict.fromkeys(scans, values[names.PCR])

  return dataclasses.replace(
    encoded,
    stored_bytes=spread(encoded.stored_bytes),
    seconds=spread(encoded.seconds),
    scans=scans,
  )


def _measured(manifest: Manifest) -> list[dict[str, Any]]:
  """Bytes and MSSIM of each group: as a manifest has them, of more images."""
  entries = manifests.load_pcr_index(manifest)
  shard = manifests.load_index(manifest)["shard"]
  images = [int((shard == number).sum()) for number in entries]
  return fidelity.measure(
    manifest.directory,
    list(entries.values()),
    images,
    seed=0,
    limits=Limits(),
    images_each=-(-_LOOKED_AT // len(entries)),
  )


def lossless(encoded: Encoded, manifest: Manifest) -> dict[str, bool]:
  """Says of each format of the profile whether it keeps the source's pixels."""
  formats = manifest["formats"]
  return {
    name: names.group(name) is None and formats[names.stored(name)]["lossless"]
    for name in encoded.stored_bytes
  }


def read_bytes(name: str, manifest: Manifest) -> float:
  """Bytes that are read of an image of a dataset, on average."""
  entry, group = manifest["formats"][names.stored(name)], names.group(name)
  size = entry["bytes"]
  if group is not None:
    size = manifest["pcr"]["fidelity"][group - 1]["bytes"]
  return size / entry["samples"]


def resources(
  given: Mapping[str, model.Resource], costs: model.Costs
) -> dict[str, model.Resource]:
  """Gives each scan group the resources of pcr."""
  return {
    key: dataclasses.replace(
      resource,
      seconds=dict(resource.seconds)
      | {
        name: resource.seconds.get(names.PCR, 0.0)
        for name, cost in costs.items()
        if cost.scans is not None
      },
    )
    for key, resource in given.items()
  }


def described(costs: model.Costs, mix: model.Mix) -> str | None:
  """Says in one sentence how much detail a mix loses; None if it has whole images."""
  for name in mix:
    scans = costs[name].scans
    if scans is not None and scans.group < scans.of:
      return (
        f"{name} is pcr read through scan group {scans.group} of {scans.of}, by "
        f"dataset(fidelity={scans.group}): {scans.read_bytes / 1e3:.1f} of "
        f"{costs[name].stored_bytes / 1e3:.1f} KB an image, which loses detail (MSSIM "
        f"{scans.mssim:.4f})."
      )
  return None


def not_advised(
  costs: model.Costs, machine: model.Machine, advised: planner.Choice
) -> str | None:
  """Says in one sentence what a scan group below the bound would gain, or None.

  It is the one with the most of an image, of those that gain as much as is worth it.
  """
  for name, cost in costs.items():
    scans = cost.scans
    if scans is None or scans.enough or scans.mssim is None:
      continue
    enough = dataclasses.replace(cost, scans=dataclasses.replace(scans, enough=True))
    choice = planner.best_mix({**costs, name: enough}, machine)
    gain = choice.prediction.throughput / advised.prediction.throughput
    if gain > planner.WORTH:
      return (
        f"With least_mssim={scans.mssim} or less, pcr read through scan group "
        f"{scans.group} is predicted to give {gain:.2f} times as many images/s; it "
        "loses detail."
      )
  return None
