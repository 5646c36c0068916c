"""From costs and verified rates to advice in words and rows."""

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

from liquid_tf._cost import model, planner
from liquid_tf._profile import noise
from liquid_tf._profile.measure import describe

# Where runs are further from what was predicted of them, the advice says so.
_EXPECTED = 0.15

_LIMITS = {
  "load": "the disk",
  "decode": "decoding",
  "gpu": "the GPU",
  "bus": "the bus to the GPU",
  "lanes": "the way to the GPU",
}


def what_if(
  costs: model.Costs, machine: model.Machine, advised: planner.Choice, rate: float
) -> list[dict[str, Any]]:
  """The best mix on other machines.

  Args:
    costs: of each format.
    machine: this one.
    advised: the mix for it.
    rate: images per second that are told of that mix; see `corrected`.

  Returns:
    `change`, `mix`, `predicted` images per second, and `gain` over the advised mix on
    this machine.
  """
  changes = [
    ("twice the processors", {"processors": 2 * machine.processors}),
    ("twice the disk", {"disk": 2 * machine.disk}),
    ("half the disk", {"disk": machine.disk / 2}),
  ]
  if machine.cache_share is not None:
    double = min(1.0, 2 * machine.cache_share)
    changes.append((f"{double:.0%} cached", {"cache_share": double}))
  else:
    more = max(machine.cache_bytes, 4 << 30)
    changes.append(
      (
        f"{more / 2**30:.1f} GiB more of memory",
        {"cache_bytes": machine.cache_bytes + more},
      )
    )
  if any(cost.devices for cost in costs.values()):
    changes.append(("twice the GPU and its bus", {"gpu": 2 * machine.gpu}))
  rows = []
  for change, values in changes:
    choice = planner.worthwhile(costs, dataclasses.replace(machine, **values))
    gain = choice.prediction.throughput / advised.prediction.throughput
    rows.append(
      {"change": change, "mix": choice.mix, "predicted": gain * rate, "gain": gain}
    )
  return rows


def memory(costs: model.Costs, machine: model.Machine) -> dict[str, Any] | None:
  """Whether memory is better spent on encoded bytes or on decoded pixels.

  Returns:
    `better` ("encoded" or "pixels"), and for each of them its `mix`, `predicted`
    images per second and `hit_ratio`. None where there is no cache, where it is given
    as a share of the dataset, or where the cost of a copy is not known.
  """
  if not machine.cache_bytes or not machine.copy_seconds:
    return None
  result: dict[str, Any] = {}
  for kind in ("encoded", "pixels"):
    choice = planner.worthwhile(costs, dataclasses.replace(machine, cache_form=kind))
    if choice is None:  # Only pcr has the space, of which memory keeps no pixels.
      return None
    result[kind] = {
      "mix": choice.mix,
      "predicted": choice.prediction.throughput,
      "hit_ratio": choice.prediction.hit_ratio,
    }
  # Encoded where it makes no difference.
  better = (
    result["pixels"]["predicted"] > planner.WORTH * result["encoded"]["predicted"]
  )
  return {"better": "pixels" if better else "encoded", **result}


def keep_pixels(found: dict[str, Any]) -> str:
  """The advice to keep decoded pixels, in one sentence; `found` is of `memory`."""
  pixels, encoded = found["pixels"], found["encoded"]
  return (
    f'Memory is better spent on decoded pixels (Cache(form="pixels")), with '
    f"{describe(pixels['mix'])}: {pixels['predicted']:.0f} images/s predicted, "
    f"{encoded['predicted']:.0f} with encoded bytes."
  )


def converting(
  costs: model.Costs, machine: model.Machine, mix: model.Mix
) -> dict[str, float]:
  """What converting the whole set takes: `bytes` and `seconds`."""
  parts = model.shares(mix)
  seconds = sum(share * costs[name].encode_seconds for name, share in parts.items())
  return {
    "bytes": model.mean_bytes(costs, mix) * machine.samples,
    "seconds": seconds * machine.samples,
  }


@dataclasses.dataclass(frozen=True)
class Gain:
  """How many times faster a mix is than the best single format.

  Attributes:
    interval: with 95% confidence.
    measured: False where processors or other resources are spoken for. Runs know none
      of that, so then it is predicted, with the same relative interval around what was
      measured.
  """

  interval: noise.Interval
  measured: bool


def gain(
  costs: model.Costs,
  machine: model.Machine,
  choice: planner.Choice,
  single: planner.Choice,
  measured: noise.Interval | None,
) -> Gain | None:
  """The gain of a mix; None where it is the single format itself.

  Args:
    costs: of each format.
    machine: with its reserve and resources.
    choice: the mix.
    single: the best single format.
    measured: the ratio of runs, which have none of these.
  """
  if measured is None:
    return None
  if not machine.reserve and not machine.resources:
    return Gain(measured, True)
  runs = [
    model.predict(costs, machine.of_last_runs, c.mix).throughput
    for c in (choice, single)
  ]
  ratio = choice.prediction.throughput / single.prediction.throughput
  # What the model has wrong of the runs, it will have wrong of the training.
  wrong = measured.mean / (runs[0] / runs[1])
  values = (ratio * wrong * v / measured.mean for v in dataclasses.astuple(measured))
  return Gain(noise.Interval(*values), False)


def corrected(
  choice: planner.Choice,
  costs: model.Costs,
  machine: model.Machine,
  runs: Sequence[float],
) -> planner.Choice:
  """A choice with what the model had wrong of its own runs in its prediction.

  The best mix keeps disk and processors equally busy. There each waits for the other
  now and then, the more the less steady they are, and the model knows nothing of it.

  Args:
    choice: what is predicted.
    costs: of each format.
    machine: with its reserve and resources.
    runs: images per second of the same mix, which have none of these.
  """
  modelled = model.predict(costs, machine.of_last_runs, choice.mix).throughput
  wrong = statistics.median(runs) / modelled
  found = choice.prediction
  # What something else allows is no matter of disk and processors.
  load, decode = wrong * found.load, wrong * found.decode
  rates = {"load": load, "decode": decode, **found.others}
  limit = min(rates, key=rates.__getitem__)
  prediction = dataclasses.replace(
    found, load=load, decode=decode, throughput=rates[limit], limit=limit
  )
  return dataclasses.replace(choice, prediction=prediction)


def verdict(
  choice: planner.Choice,
  single: planner.Choice,
  found: Gain | None,
  said: noise.Interval,
  alone: noise.Interval,
) -> str:
  """The advice in one sentence.

  Args:
    choice: the mix in question.
    single: the best single format.
    found: how many times faster the mix is; None where it is the single format.
    said: the interval of the mix's rate, as a share of it.
    alone: that of the single format.
  """
  (name,) = single.mix
  limit = choice.prediction.limit
  limit = _LIMITS.get(limit, limit)
  if found is None:
    return (
      f"{name} alone is best: {_rate(single, alone)} images/s predicted, "
      f"with {limit} as the limit; no mix is predicted to be "
      f"{planner.WORTH - 1:.0%} faster."
    )
  mix, times = describe(choice.mix), found.interval
  how = "measured" if found.measured else "predicted"
  text = f"{times.mean:.2f} times ({times.low:.2f} to {times.high:.2f}, 95%)"
  if times.mean < 1:
    return f"{name} alone is best: the mix {mix} was {how} at {text} its speed."
  if len(choice.mix) == 1:
    return f"{mix} alone is best: {how} at {text} the speed of {name} alone."
  doubt = ", which may be no gain at all" if times.low < 1 else ""
  return (
    f"Mix {mix}: {how} at {text} the speed of {name}, the best single format{doubt}; "
    f"{_rate(choice, said)} images/s predicted."
  )


def _rate(choice: planner.Choice, spread: noise.Interval) -> str:
  """A rate with its interval; "195 (191 to 199)"."""
  rate = choice.prediction.throughput
  return f"{rate:.0f} ({rate * spread.low:.0f} to {rate * spread.high:.0f})"


def another_mix(at_stake: float, rounds: int) -> str:
  """That the best mix is not known well, in one sentence."""
  return (
    f"Formats cost different times in different rounds, so after {rounds} of them "
    f"another mix may be up to {1 / (1 - at_stake) - 1:.0%} faster (95%)."
  )


def context(
  costs: model.Costs,
  machine: model.Machine,
  final: planner.Choice,
  measured: float | None,
  stock: float | None,
  own_format: str | None,
  own_rate: float | None,
) -> str:
  """What the advice assumes of the cache, and compares with, in two sentences.

  Args:
    costs: of each format.
    machine: with its cache.
    final: the mix.
    measured: images per second of its runs with that cache; None if it was not run.
    stock: images per second of stock tf.data, or None.
    own_format: of the source's images, or None.
    own_rate: images per second of that format alone; None if it was not run.
  """
  rate, how = measured, "measured"
  if rate is None:
    rate = model.predict(costs, machine.of_last_runs, final.mix).throughput
    how = "predicted"
  compared = [f"{rate:.0f} images/s"]
  hits = final.prediction.hit_ratio
  if stock is not None:
    # What memory holds all of, stock tf.data has in the page cache.
    bare = " without a cache" if 0 < hits < 1 else ""
    compared.append(f"{rate / stock:.1f} times stock tf.data{bare}")
  if own_format in costs and set(final.mix) != {own_format}:
    alone, of = own_rate, ""
    if alone is None:
      alone = model.predict(costs, machine.of_last_runs, {own_format: 1}).throughput
      of = " as predicted"
    compared.append(
      f"{rate / alone:.1f} times {own_format} alone{of}, the format of the source"
    )
  size = converting(costs, machine, final.mix)["bytes"]
  cache = "no cache"
  if hits:
    cache = f"that memory holds {hits:.0%} of the images from the second epoch on"
  return (
    f"This assumes {cache}; {how} so: {', '.join(compared)}. The dataset takes "
    f"{_size(size)} on disk."
  )


def _size(count: float) -> str:
  """Bytes for people, in two digits."""
  unit, name = (1e9, "GB") if count >= 1e9 else (1e6, "MB")
  return f"{count / unit:.1f} {name}"


def surprise(predicted: float, measured: float) -> str | None:
  """Doubt about costs that do not explain the runs behind them, in one sentence.

  Args:
    predicted: images per second of them; see `model.Machine.of_last_runs`.
    measured: what they gave.
  """
  if abs(measured / predicted - 1) <= _EXPECTED:
    return None
  return (
    f"But these runs gave {measured:.0f} images/s where {predicted:.0f} were predicted "
    "of them: the machine has changed since the formats were measured, or the model "
    "does not fit it; profile once more."
  )


def training(
  consumer: float, choice: planner.Choice, single: planner.Choice, mean: float | None
) -> dict[str, Any]:
  """Whether any of it matters to a training.

  Args:
    consumer: images per second that the training takes by itself.
    choice: what is advised.
    single: the best single format.
    mean: images per second that stock tf.data gives, or None.

  Returns:
    `images_per_s` of the training, `matters`, and `sentence`.
  """
  (name,) = single.mix
  ours, alone = choice.prediction.throughput, single.prediction.throughput
  slowest = min(alone, mean) if mean is not None else alone
  if slowest >= consumer:
    sentence = (
      f"None of it matters: the training takes {consumer:.0f} images/s, and even the "
      f"slowest of these pipelines gives {slowest:.0f}."
    )
  elif ours >= consumer > alone:
    sentence = (
      f"The mix matters: the training takes {consumer:.0f} images/s, {name} alone "
      f"gives {alone:.0f} and would hold it up; the mix gives {ours:.0f}."
    )
  elif alone >= consumer:
    sentence = (
      f"The mix does not matter: the training takes {consumer:.0f} images/s, and "
      f"{name} alone gives {alone:.0f}; stock tf.data's {slowest:.0f} would hold it up."
    )
  else:
    sentence = (
      f"The training takes {consumer:.0f} images/s and is held up in any case: the mix "
      f"gives {ours:.0f}, {name} alone {alone:.0f}."
    )
  return {
    "images_per_s": consumer,
    "matters": slowest < consumer,
    "sentence": sentence,
  }
