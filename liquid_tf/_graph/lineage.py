"""Finds this package's datasets below a user's dataset, and the steps between."""

import dataclasses
from collections.abc import Iterable

import tensorflow as tf

from liquid_tf._graph.decode import DecodeBatchDataset
from liquid_tf._graph.interleave import InterleaveDataset
from liquid_tf._graph.stages import CountedDataset, find_stage
from liquid_tf._words import Shown
from liquid_tf.errors import WrongArgument

# Steps after which a batch is still one batch, the n-th still the n-th, and which hold
# nothing that a later process would have to know.
_KEEPS_PLACE = {
  "assertcardinality",
  "copytodevice",
  "map",
  "mapongpu",
  "options",
  "prefetch",
  "repeat",
  "restructured",
  "zip",
}

# The op of an InterleaveDataset, as graphs name it.
_OP = "Liquid>InterleaveDataset"


@dataclasses.dataclass(frozen=True)
class Origin:
  """A dataset of ours that another one is made of.

  Attributes:
    dataset: as `liquid_tf.dataset` gave it.
    blocks: below it.
  """

  dataset: tf.data.Dataset
  blocks: InterleaveDataset


def step(dataset: tf.data.Dataset) -> str:
  """Name of the last step to a dataset, such as "map"."""
  kind = type(dataset).__name__.strip("_").removesuffix("Dataset")
  return kind.removeprefix("Parallel").lower()


def is_ours(dataset: tf.data.Dataset) -> bool:
  """Whether a dataset is as we gave it, without a step of a user's."""
  return getattr(dataset, "_is_liquid_output", False) or isinstance(
    dataset, InterleaveDataset
  )


def only_blocks(dataset: tf.data.Dataset, advice: str) -> InterleaveDataset:
  """The interleave that all batches of a dataset come from, whatever the steps are.

  Args:
    dataset: of a user.
    advice: what to do where it is made of several, to end an error.

  Raises:
    ValueError: there is none, or there are several.
  """
  found, queue, hidden = {}, [dataset], False
  while queue:
    one = queue.pop(0)
    if not isinstance(one, tf.data.Dataset):
      break
    if isinstance(one, InterleaveDataset):
      found[id(one)] = one
      continue
    if not is_ours(one):
      hidden = hidden or _hides_ours(one)
    queue.extend(one._inputs())
  if not found:
    raise _not_ours(dataset)
  if len(found) > 1 or hidden:
    raise ValueError(
      f"dataset must be made of one liquid_tf.dataset(), not of several: {advice}"
    )
  (blocks,) = found.values()
  return blocks


def origins(dataset: tf.data.Dataset, advice: str) -> list[Origin]:
  """The datasets of ours, of each of which the n-th batch is part of the n-th element.

  Args:
    dataset: of a user, by steps that keep this so: `map`, `prefetch`, `repeat`, `zip`.
    advice: what else to do, to end an error.

  Raises:
    ValueError: it has other steps; or one that cannot go on, since it is not ours, or
      no batches, or stands there twice, or may end earlier than another one.
  """
  if not isinstance(dataset, tf.data.Dataset):
    raise _not_ours(dataset)
  if "unbatch" in map(step, _all(dataset)):
    raise ValueError(
      "dataset must have batches: with batch_size=None a batch that you make is none "
      "of its own, whose place could be saved"
    )
  found = list(_origins(dataset, advice))
  if len({id(origin.blocks) for origin in found}) < len(found):
    raise ValueError(
      "dataset must not have the same liquid_tf.dataset() twice, whose iterators share "
      "one place: map it once"
    )
  decoded = [find_stage(origin.dataset, DecodeBatchDataset) for origin in found]
  if len(found) > 1 and any(one is not None and one.skips for one in decoded):
    raise ValueError(
      'dataset zips datasets of which one has on_error="skip", whose epoch is shorter '
      'than the others\' where something is damaged: give on_error="raise"'
    )
  return found


def _not_ours(dataset: object, more: str = "") -> WrongArgument:
  """The error about what is no dataset of ours; `more` ends its sentence."""
  must = f"must come from liquid_tf.dataset() or interleave(){more}"
  return WrongArgument("dataset", Shown(f"{dataset!r:.200}"), must)


def _all(dataset: tf.data.Dataset) -> Iterable[tf.data.Dataset]:
  """A dataset and all below it."""
  yield dataset
  for one in dataset._inputs():
    yield from _all(one)


def _origins(dataset: tf.data.Dataset, advice: str) -> Iterable[Origin]:
  inputs = dataset._inputs()
  # What is counted and not as we gave it is that of epochs().
  if is_ours(dataset) or not inputs or isinstance(dataset, CountedDataset):
    blocks = find_stage(dataset, InterleaveDataset)
    if blocks is None:
      raise _not_ours(
        dataset, f": no other dataset can be told where to go on. {advice}"
      )
    yield Origin(dataset, blocks)
    return
  name = step(dataset)
  if name == "directedinterleave":
    raise ValueError(
      "dataset must not be of sample_from_datasets() or choose_from_datasets(), whose "
      "draws are lost with their process: liquid_tf.mixture() draws from several so "
      "that it goes on"
    )
  if name not in _KEEPS_PLACE:
    raise ValueError(
      "dataset must have the batches of liquid_tf.dataset(), one for one, but has "
      f"{name}(): what that draws, gathers, leaves out or keeps is lost with its "
      f"process. {advice}"
    )
  if _hides_ours(dataset) or _takes_from_iterator(dataset):
    raise ValueError(
      f"dataset has a {name}() whose function takes elements of another dataset, whose "
      f"place would be lost: give both to tf.data.Dataset.zip(). {advice}"
    )
  for one in inputs:
    yield from _origins(one, advice)
  lengths = [int(one.cardinality()) for one in inputs]
  if len(set(lengths)) > 1:
    raise ValueError(
      f"dataset zips datasets of {' and '.join(map(_said, lengths))} batches, of which "
      "the longer ones are left inside of their epoch, and begin it again: give each "
      "repeat(), and fit steps_per_epoch"
    )


def _said(length: int) -> str:
  return {
    tf.data.INFINITE_CARDINALITY: "endless",
    tf.data.UNKNOWN_CARDINALITY: "an unknown number of",
  }.get(length, str(length))


def _hides_ours(dataset: tf.data.Dataset) -> bool:
  """Whether the function of a step makes a dataset of ours, or captures one."""
  for wrapper in dataset._functions():
    if _OP in _ops(wrapper.function.graph.as_graph_def()):
      return True
    for captured in wrapper.function.captured_inputs:
      if captured.dtype == tf.variant and _OP in _ops_of_captured(captured):
        return True
  return False


def _takes_from_iterator(dataset: tf.data.Dataset) -> bool:
  """Whether the function of a step asks an iterator made elsewhere."""
  return any(
    "IteratorGetNext" in ops and "MakeIterator" not in ops
    for ops in (_ops(w.function.graph.as_graph_def()) for w in dataset._functions())
  )


def _ops_of_captured(variant: tf.Tensor) -> set[str]:
  try:
    graph = tf.raw_ops.DatasetToGraphV2(
      input_dataset=variant, external_state_policy=1, strip_device_assignment=True
    )
    return _ops(tf.compat.v1.GraphDef.FromString(graph.numpy()))
  except (tf.errors.InvalidArgumentError, tf.errors.FailedPreconditionError):
    return set()  # No dataset, but a list of tensors or the like.


def _ops(graph: tf.compat.v1.GraphDef) -> set[str]:
  """The names of all ops in a graph and its functions."""
  inside = (node for f in graph.library.function for node in f.node_def)
  return {node.op for nodes in (graph.node, inside) for node in nodes}
