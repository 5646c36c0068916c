"""Batches of the engine in the structure that was asked for."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from liquid_tf import _extras
from liquid_tf._loader.device_array import DeviceArray
from liquid_tf._loader.ragged import RaggedArray
from liquid_tf._native import direct_store
from liquid_tf._native.direct_loader import Batch, Strings
from liquid_tf._pipeline import gpu as _gpu
from liquid_tf._pipeline.columns import RECORDS, Columns
from liquid_tf._pipeline.features import in_structure
from liquid_tf._pipeline.spec import Spec
from liquid_tf._store.schema import LISTS
from liquid_tf.errors import RecordError

Value = np.ndarray | DeviceArray | RaggedArray | tuple[np.ndarray, ...]


class Batches:
  """Makes batches of what the engine gives.

  Args:
    columns: of its arrays.

  Raises:
    ModuleNotFoundError: an array is of bfloat16, which NumPy has not, and the library
      that has it is not installed.
  """

  def __init__(self, columns: Columns):
    self._columns = columns
    self._gpu = _gpu.number(columns.decode)
    self._bfloat16: np.dtype | None = None
    dtypes = {spec.dtype for spec in columns.specs(None)}
    if "bfloat16" in dtypes:
      with _extras.explained():
        import ml_dtypes
      self._bfloat16 = np.dtype(ml_dtypes.bfloat16)
    specs = dict(zip(columns.names, columns.specs(None)))
    self._as_bfloat16 = [n for n, spec in specs.items() if spec.dtype == "bfloat16"]

  def shaped(self, batch: Batch) -> Any:
    """A batch in the structure that was asked for.

    Raises:
      RecordError: a record does not hold what the manifest says of it.
    """
    return self._in_structure(self._values(batch))

  def samples(self, batch: Batch, planar: bool) -> Iterator[Any]:
    """Yields the samples of a batch, of dense arrays.

    Args:
      batch: of the engine.
      planar: whether the channels of images that are ragged come before their rows.
    """
    values = self._values(batch)
    first = next(iter(values.values()))
    for i in range(len(first[0] if isinstance(first, tuple) else first)):
      sample = {name: _of_sample(value, i) for name, value in values.items()}
      if planar and isinstance(values.get("image"), RaggedArray):
        sample["image"] = np.ascontiguousarray(sample["image"].transpose(2, 0, 1))
      yield self._in_structure(sample)

  def _in_structure(self, values: dict[str, Any]) -> Any:
    return in_structure(values, self._columns.wanted, self._columns.as_dict)

  def _values(self, batch: Batch) -> dict[str, Value]:
    columns = self._columns
    given: dict[str, Any] = dict(zip(columns.names, batch.outputs))
    if self._gpu is not None:
      arrays = [DeviceArray(*one, self._gpu) for one in given.pop(RECORDS)]
      given |= zip(columns.views or ["image"], arrays)
    for name in self._as_bfloat16:
      given[name] = given[name].view(self._bfloat16)
    values = {n: self._value(n, given) for n in columns.wanted if n in given}
    for name, spec in columns.parsed.items():
      values[name] = self._parsed(name, spec, given["example"])
    if columns.joined:
      places = given["id"]
      if "source" in columns.places.needed:
        places = places + columns.places.begins[given["source"]]
      values |= {name: joined.of(places) for name, joined in columns.joined.items()}
    if columns.views:
      values["image"] = tuple(given[name] for name in columns.views)
    wanted = {name: values[name] for name in columns.wanted}
    return wanted if columns.recipe.repeats == 1 else self._repeated(wanted)

  def _repeated(self, values: dict[str, Value]) -> dict[str, Value]:
    """The features of each view of each image."""
    found, repeats = {}, self._columns.recipe.repeats
    for name, value in values.items():
      if isinstance(value, DeviceArray):
        found[name] = value  # It has all of them.
      elif name in self._columns.of_views:
        found[name] = value.reshape(-1, *value.shape[2:])
      elif isinstance(value, RaggedArray):
        found[name] = value.repeated(repeats)
      else:
        found[name] = np.repeat(value, repeats, axis=0)
    return found

  def _value(self, name: str, given: dict[str, Any]) -> Value:
    columns, value = self._columns, given[name]
    if isinstance(value, Strings):
      value = value.array()
    if name in columns.boxes.ragged:
      return RaggedArray.of_lengths(value, given["num_boxes"])
    if name not in columns.pixels:
      return value
    if columns.flat:
      heights, widths = given["size"].T
      rows = RaggedArray.of_lengths(value, np.repeat(widths, heights))
      return RaggedArray.of_lengths(rows, heights)
    if columns.recipe.ragged:
      n, height, width, channels = value.shape
      pixels = value.reshape(-1, channels)
      rows = RaggedArray.of_lengths(pixels, np.full(n * height, width))
      return RaggedArray.of_lengths(rows, np.full(n, height))
    return value

  def _parsed(self, name: str, spec: Spec, examples: Strings) -> Value:
    """A feature of examples: [n, sides...], or a row of [None, sides...] of each."""
    key = self._columns.manifest["features"][name]["example"]
    wanted = LISTS[spec.dtype]
    try:
      found = direct_store.examples(examples.data, examples.offsets, key, wanted)
    except direct_store.WrongExample as error:
      raise RecordError(f"sample {error.number} of the batch: {error}") from None
    kinds = [direct_store.KINDS[kind] for kind in found.kinds.tolist()]
    for i, kind in enumerate(kinds):
      if kind not in (None, wanted):
        raise RecordError(
          f'sample {i} of the batch has a {kind} of "{key}" in its tf.train.Example, '
          f"but the dtype of features.{name} is {spec.dtype}"
        )
    values = found.numbers
    if values is None:
      values = np.empty(len(found.places), object)
      for i, (begin, size) in enumerate(found.places.tolist()):
        values[i] = examples.data[begin : begin + size].tobytes()
    if None not in spec.shape:
      each = math.prod(spec.shape)
      wrong = np.flatnonzero(found.counts != each)
      if len(wrong):
        raise RecordError(
          f"sample {wrong[0]} of the batch has {found.counts[wrong[0]]} values of "
          f'"{key}" in its tf.train.Example, not {each}'
        )
      return values.reshape(-1, *spec.shape)
    each = math.prod(spec.shape[1:])
    rows = found.counts // each
    return RaggedArray.of_lengths(values.reshape(-1, *spec.shape[1:]), rows)


def _of_sample(value: Value, number: int) -> Any:
  """Sample `number` of a batch's value, of each view."""
  if isinstance(value, tuple):
    return tuple(view[number] for view in value)
  return value[number]
