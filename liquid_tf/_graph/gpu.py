"""Images decoded on TensorFlow's GPU: by themselves, and at the end of a dataset.

An op of the processor plans a batch, copies it to the GPU and has it decoded there, on
a stream of its own; it ends when the pixels are complete and checked, and gives a
scalar variant that stands for them. An op of the GPU makes a tensor of that, without a
copy.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

# There is no public way to run a function of a dataset on a GPU.
from tensorflow.python.data.experimental.ops import prefetching_ops

from liquid_tf._native import direct_gpu, ops
from liquid_tf._native.limits import Limits
from liquid_tf._pipeline import gpu as _gpu
from liquid_tf._pipeline.columns import STORED
from liquid_tf._pipeline.features import MIXED, PLAIN, in_structure
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._store.manifest import Manifest
from liquid_tf._words import setting
from liquid_tf.errors import WrongArgument

# TensorFlow's name of the first one.
_FIRST = "GPU:0"

# Batches that are copied and decoded at once: one's copy beside the other's kernel.
_AT_ONCE = 2


def problem(number: int = 0) -> str | None:
  """Why TensorFlow cannot decode on GPU `number` here, with what to do; or None."""
  found = len(tf.config.list_logical_devices("GPU"))
  if found > number:
    return None
  if found:
    return (
      f"TensorFlow has no GPU {number}: "
      f'tf.config.list_logical_devices("GPU") has {found}, numbered from 0'
    )
  return (
    'TensorFlow has no GPU (tf.config.list_logical_devices("GPU") is empty): install '
    "tensorflow[and-cuda] where nvidia-smi shows one"
  )


def device_of(decode: str) -> str:
  """TensorFlow's name of the GPU that `decode=` names."""
  return f"GPU:{_gpu.number(decode)}"


class Totals(NamedTuple):
  """Time and memory that `start` has taken so far, in this process.

  Attributes:
    images: that were decoded.
    copied_bytes: that crossed the bus for them.
    copy_seconds: of the bus, by the GPU's clock; of batches at once, the sum.
    decode_seconds: of the GPU's kernels, likewise.
  """

  images: int
  copied_bytes: int
  copy_seconds: float
  decode_seconds: float


def totals() -> Totals:
  """Totals of decoding on GPUs so far."""
  found = ops.lib().liquid_l3_device_totals()
  return Totals(*(value.numpy().item() for value in found))


def register_records(device: str) -> None:
  """Has records read, from now on, to memory that GPUs read by themselves.

  Args:
    device: whose driver is asked.

  Raises:
    tf.errors.OpError: there is no driver.
  """
  with tf.init_scope(), tf.device("CPU:0"):
    ops.lib().liquid_register_records(device=device)


def cache_on_device(snapshot: str, size: int, device: str) -> None:
  """Takes a GPU's memory for what a snapshot keeps; it goes with the snapshot.

  Args:
    snapshot: its name.
    size: bytes of memory.
    device: the GPU.

  Raises:
    ValueError: the GPU has no room for them, or another one decodes these draws, too.
  """
  try:
    with tf.init_scope(), tf.device("CPU:0"):
      ops.lib().liquid_cache_on_device(snapshot, size, device=device)
  except tf.errors.ResourceExhaustedError:
    raise ValueError(
      f"Cache: gpu must be at most what TensorFlow has free on {device}, which has no "
      f"room for {size} bytes: give less, or have others on that GPU take less"
    ) from None
  except tf.errors.InvalidArgumentError as error:
    raise ValueError(error.message) from None


def start(
  files: tf.Tensor,
  samples: tf.Tensor,
  *,
  windows: tf.Tensor | None = None,
  recipe: Sequence[str] = (),
  dtype: tf.DType,
  mean: Sequence[float] | None,
  std: Sequence[float] | None,
  planar: bool,
  max_pixels: int,
  max_scans: int = Limits().scans,
  device: str = _FIRST,
) -> tf.Tensor:
  """Decodes one view of a batch; as `start_views` does, of which see the arguments."""
  return start_views(
    files,
    samples,
    windows=windows,
    recipes=[recipe],
    dtypes=[dtype],
    mean=mean,
    std=std,
    planar=planar,
    max_pixels=max_pixels,
    max_scans=max_scans,
    device=device,
  )[0]


def start_views(
  files: tf.Tensor,
  samples: tf.Tensor,
  *,
  windows: tf.Tensor | None = None,
  recipes: Sequence[Sequence[str]],
  dtypes: Sequence[tf.DType],
  stacked: bool = False,
  mean: Sequence[float] | None,
  std: Sequence[float] | None,
  mean_image: np.ndarray | tf.Tensor | None = None,
  planar: bool,
  max_pixels: int,
  max_scans: int = Limits().scans,
  device: str = _FIRST,
) -> list[tf.Tensor]:
  """Decodes a batch into the GPU's memory.

  Args:
    files: string [n], files of L3, of either profile, or raw; or a scalar variant:
      the records of a batch, of these formats or jpeg, which are not copied.
    samples: int64 [n], numbers that errors give, or [0].
    windows: of strings, int32 [n, 4], y, x, height, width; a height of 0 is the whole
      image, and so is None.
    recipes: of records, lines that say what becomes of each view, as `Recipe.lines` has
      them.
    dtypes: of the pixels of each view.
    stacked: whether all views are of one array, image by image, each view by view.
    mean: of the first view, as what follows: numbers, one or one for each channel; None
      for 0.
    std: likewise, None for 1.
    mean_image: of records, float32 [height, width, channels] in place of `mean`, which
      stays in the GPU's memory; None or empty for none.
    planar: whether channels come before rows.
    max_pixels: of a whole image, at most.
    max_scans: of a JPEG file, at most.
    device: the GPU.

  Returns:
    A scalar variant for `images`, of each view, or of all together.

  Raises:
    tf.errors.OpError: as `liquid_tf.gpu.decode` raises them.
  """
  direct_gpu.offer_nvrtc()
  with tf.device("CPU:0"):
    if windows is None:
      n = 0 if files.dtype == tf.variant else tf.size(files)
      windows = tf.zeros([n, 4], tf.int32)
    return ops.lib().liquid_decode_l3_device(
      files,
      windows,
      samples,
      mean=tf.constant([0.0] if mean is None else mean, tf.float32),
      std=tf.constant([1.0] if std is None else std, tf.float32),
      mean_image=tf.zeros([0, 0, 0])
      if mean_image is None
      else tf.convert_to_tensor(mean_image),
      arrays=1 if stacked else len(recipes),
      dtype=dtypes[0],
      planar=planar,
      recipe=list(recipes[0]),
      views=["\n".join(lines) for lines in recipes[1:]],
      view_types=list(dtypes[1:]),
      stacked=stacked,
      device=device,
      max_pixels=max_pixels,
      max_scans=max_scans,
    )


def images(
  pixels: tf.Tensor,
  dtype: tf.DType,
  shape: Sequence[int | None],
  device: str = _FIRST,
) -> tf.Tensor:
  """The images that `start` decoded, as a tensor of that GPU and of that shape."""
  with tf.device(device):
    return ops.lib().liquid_l3_device_pixels(pixels, dtype=dtype, shape=shape)


def check(
  decode: str, manifest: Manifest, recipe: Recipe, features: Sequence[str], skip: bool
) -> None:
  """Checks what goes with images on TensorFlow's GPU; see `_pipeline.gpu.check`.

  Raises:
    ValueError: something does not; the message names it, its value and what it must be.
  """
  found = problem(_gpu.number(decode))
  if found is not None:
    raise WrongArgument(
      "decode",
      decode,
      f'must be "cpu" here: {found}; liquid_tf.loader and liquid_tf.gpu.decode need no '
      "TensorFlow for GPUs",
    )
  _gpu.check(decode, manifest, recipe, features, skip)
  numbers = {"image", "label", "mask", *MIXED}
  numbers |= {name for name, (dtype, _) in PLAIN.items() if dtype != "string"}
  columns = manifest["columns"].items()
  numbers |= {name for name, column in columns if column["dtype"] != "string"}
  strings = [name for name in features if name not in numbers]
  if strings:
    raise WrongArgument(
      "features",
      strings[0],
      f"must be of {', '.join(sorted(numbers))} with {setting('decode', decode)}: "
      "others are not kept in a GPU's memory",
    )


def decoded(
  dataset: tf.data.Dataset,
  names: Sequence[str],
  features: Sequence[str],
  as_dict: bool,
  recipe: Recipe,
  stored: tf.DType,
  shapes: Sequence[Sequence[int | None]],
  limits: Limits,
  device: str = _FIRST,
  join: Callable[[Mapping[str, tf.Tensor]], Mapping[str, tf.Tensor]] = lambda _: {},
  repeat: Callable[[Mapping[str, tf.Tensor]], Mapping[str, tf.Tensor]] = dict,
) -> tf.data.Dataset:
  """A dataset whose elements lie on the GPU, its images decoded there.

  It has the number of batches that `dataset` has.

  Args:
    dataset: of flat tuples; `STORED` are among its features.
    names: of their features.
    features: those that are given out, with "image" for what is made of the bytes.
    as_dict: whether they are a dict, or a tuple, of one without it.
    recipe: of the images.
    stored: type of the images' samples.
    shapes: n, height, width and channels of each view; n may be None, and is that of
      the batches.
    limits: of a whole image.
    device: the GPU.
    join: gives features that samples' numbers tell, of a batch's arrays.
    repeat: where views are samples, gives their features, of those of a batch.
  """
  dtypes = [tf.as_dtype(one.dtype) if one.dtype else stored for one in recipe.each]
  lines = [one.lines(first=i == 0) for i, one in enumerate(recipe.each)]
  mean_image = recipe.mean_image()
  stacked = recipe.repeats > 1
  whole = [_shape(recipe, *args) for args in zip(recipe.each, shapes)]

  def begin(*tensors: tf.Tensor) -> dict[str, Any]:
    values = dict(zip(names, tensors))
    arrays = start_views(
      *(values[name] for name in STORED),
      recipes=lines,
      dtypes=dtypes,
      stacked=stacked,
      mean=recipe.mean,
      std=recipe.std,
      mean_image=mean_image,
      planar=recipe.channels_first,
      device=device,
      **limits.attributes(),
    )
    values |= join(values)
    found = repeat({name: values[name] for name in features if name != "image"})
    is_one = recipe.as_samples or not recipe.views
    return {**found, "image": arrays[0] if is_one else tuple(arrays)}

  def end(values: dict[str, Any]) -> Any:
    found = _images(values["image"], dtypes, whole, device)
    return in_structure({**values, "image": found}, features, as_dict)

  started = dataset.map(begin, num_parallel_calls=_AT_ONCE, deterministic=True)
  quiet = tf.data.Options()
  quiet.experimental_optimization.inject_prefetch = False
  placed = started.with_options(quiet).apply(
    tf.data.experimental.copy_to_device(f"/{device}")
  )
  # Its iterators are where it is.
  with tf.device(device):
    ended = placed.apply(prefetching_ops.map_on_gpu(end))
    return _CountedDataset(ended, dataset).prefetch(1)


def _images(
  pixels: tf.Tensor | tuple[tf.Tensor, ...],
  dtypes: Sequence[tf.DType],
  shapes: Sequence[Sequence[int | None]],
  device: str,
) -> tf.Tensor | tuple[tf.Tensor, ...]:
  """As `images`, of one variant for all views, or of one for each view."""
  if not isinstance(pixels, tuple):
    return images(pixels, dtypes[0], shapes[0], device)
  return tuple(images(*view, device) for view in zip(pixels, dtypes, shapes))


def _shape(
  recipe: Recipe, view: Recipe, sides: Sequence[int | None]
) -> list[int | None]:
  """Shape of the array of a view, of a batch's n, height, width and channels."""
  n, height, width, channels = sides
  n = None if n is None else n * recipe.repeats
  if view.channels_first:
    return [n, channels, height, width]
  return [n, height, width, channels]


class _CountedDataset(tf.data.Dataset):
  """A dataset whose number of elements TensorFlow does not know, and another one does.

  What comes from a GPU is of unknown cardinality. Keras then takes the batches of the
  first epoch of a `fit` for those of every one, also where that was gone on with.

  Args:
    dataset: whose elements these are.
    counted: has as many.
  """

  def __init__(self, dataset: tf.data.Dataset, counted: tf.data.Dataset):
    self._dataset = dataset
    self._counted = counted
    super().__init__(dataset._variant_tensor)

  def _inputs(self):
    return [self._dataset]

  @property
  def element_spec(self):
    return self._dataset.element_spec

  def cardinality(self):
    return self._counted.cardinality()

  # All that can be put after a dataset on a GPU.

  def prefetch(self, buffer_size, name=None):
    return self._again(self._dataset.prefetch(buffer_size, name))

  def with_options(self, options, name=None):
    return self._again(self._dataset.with_options(options, name))

  def _again(self, dataset: tf.data.Dataset) -> tf.data.Dataset:
    made = _CountedDataset(dataset, self._counted)
    made._is_liquid_output = getattr(self, "_is_liquid_output", False)
    return made
