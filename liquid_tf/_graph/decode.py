"""From record blocks to batches of images: `decode_and_batch`."""

import functools
from collections.abc import Sequence

import tensorflow as tf

from liquid_tf._graph import gpu
from liquid_tf._graph.format_dataset import FormatDataset
from liquid_tf._graph.interleave import InterleaveDataset
from liquid_tf._graph.join import Join
from liquid_tf._graph.shaped import Shape, repeated
from liquid_tf._graph.stages import find_stage
from liquid_tf._native import ops
from liquid_tf._native.limits import Limits
from liquid_tf._pipeline import decoding as _decoding
from liquid_tf._pipeline.decoding import Decoding
from liquid_tf._pipeline.features import pixel_features
from liquid_tf._pipeline.tuning import Tuning
from liquid_tf._words import Shown, setting
from liquid_tf.errors import WrongArgument
from liquid_tf.transforms import Boxes, Step, Views


class DecodeBatchDataset(tf.data.Dataset):
  """Flat tuples of batch tensors, one per feature; see `decode_and_batch`.

  Args:
    blocks: of records.
    decoding: of them.

  Attributes:
    decoding: of them, as given.
    recipe: of the images.
    skips: whether samples that cannot be read are left out.
    fills: whether a last batch of fewer samples repeats them.
  """

  def __init__(self, blocks: tf.data.Dataset, decoding: Decoding):
    columns = decoding.columns
    self.decoding = decoding
    self.recipe = columns.recipe
    self.skips, self.fills = decoding.skips, decoding.fills
    self._blocks = blocks
    self._spec = tuple(
      tf.TensorSpec(spec.shape, tf.as_dtype(spec.dtype))
      for spec in columns.specs(decoding.samples)
    )
    super().__init__(
      ops.lib().liquid_decode_batch_dataset(
        blocks._variant_tensor,
        plan=decoding.message,
        mean_image=self.recipe.mean_image(),
        output_types=[spec.dtype for spec in self._spec],
        output_shapes=[spec.shape for spec in self._spec],
      )
    )

  def _inputs(self):
    return [self._blocks]

  @property
  def element_spec(self):
    return self._spec


def decode_and_batch(
  blocks: tf.data.Dataset,
  *,
  features: Sequence[str | Boxes] | None = None,
  transforms: Sequence[Step] | Views = (),
  last_batch: str = "short",
  decode: str = "cpu",
  on_error: str = "raise",
  limits: Limits = Limits(),
  tuning: Tuning = Tuning(),
) -> tf.data.Dataset:
  """Decodes blocks of records straight into batch tensors, in parallel.

  Args:
    blocks: what `interleave` of `format_dataset`s gives; a `format_dataset` by
      itself gives blocks of 64 records, or fewer that fill its look-ahead.
    features: None for the supervised tuple, (image, label) or (image, mask); a list
      of names for a dict. Names: "image" [n, h, w, c] uint8 or uint16; "label" int64
      [n], or float32 [n, k]; "mask" [n, h, w, 1]; "id" int64 [n], the
      sample's number; "format" string [n]; "window" int32 [n, 4], (y, x, height, width)
      of what was decoded; "mirrored" bool [n], whether it was mirrored then; "bytes"
      string [n], the image as stored; "orientation" int64 [n], 1 to 8, as the source's
      EXIF states it: pixels are not turned; "example" string [n], a serialized
      tf.train.Example of the other features; each of these by its own name, a
      tf.RaggedTensor [n, None], as stored; each metadata column by its name, [n] int64,
      float64, bool or string, or [n, k] float32. `Boxes` among the names gives several,
      which follow the image.
    transforms: what happens to images while they are decoded: steps of
      `liquid_tf.transforms`, or `Views`. Random ones need shuffled blocks.
    last_batch: what happens to a last batch of fewer samples: "short" gives it as it
      is; "repeat" repeats its own samples in turn until it has `batch_size`; `stats`
      does not count them. `interleave` can leave it out.
    decode: "cpu", or "gpu" for batches in the memory of TensorFlow's first GPU, images
      of l3, l3-compact, raw and jpeg decoded there, see docs/gpu.md; "gpu:1" for its
      second one.
    on_error: "raise", or "skip": a record that cannot be read or decoded, in any format
      that it is stored in, gives its place to the next draw of its format; see `stats`.
    limits: the largest image, and most scans of a JPEG, that are decoded.
    tuning: look-ahead and threads of decoding; by default they tune themselves.

  Returns:
    A dataset of batches. tf.data puts no prefetch after it: batches are decoded ahead
    as it is, as many as the memory allows. What is done to them later, by a `map`,
    needs a `prefetch` of its own to be done ahead.

  Raises:
    ValueError: an argument is wrong, or images differ in size where a batch needs
      one size; the message says which.
  """
  mixed = find_stage(blocks, InterleaveDataset)
  source = find_stage(blocks, FormatDataset)
  if source is None:
    raise ValueError("blocks must come from format_dataset() or interleave() of such")
  made = _decoding.make(
    mixed,
    mixed.sources if mixed is not None else [source],
    features=features,
    transforms=transforms,
    last_batch=last_batch,
    decode=decode,
    on_error=on_error,
    limits=limits,
    tuning=tuning,
    check_gpu=gpu.check,
  )
  dataset = DecodeBatchDataset(blocks, made)
  if decode != "cpu":
    if mixed is not None and mixed.division.gpu_bytes:
      gpu.cache_on_device(
        mixed.snapshot.name, mixed.division.gpu_bytes, gpu.device_of(decode)
      )
    shaped = on_gpu(dataset, made, limits)
  else:
    # The prefetch that tf.data would put after it takes up to eight batches that no
    # budget counts, and that no iterator asked for: an epoch would be over with them.
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    shaped = dataset.map(Shape(made.columns).shaped).with_options(options)
  shaped._is_liquid_output = True
  return shaped


def on_gpu(
  batches: tf.data.Dataset, decoding: Decoding, limits: Limits
) -> tf.data.Dataset:
  """Puts the end of decode="gpu" after batches.

  Args:
    batches: of a `DecodeBatchDataset`, maybe repeated, which what ends on a GPU cannot
      be.
    decoding: of them, for a GPU.
    limits: the largest image that is decoded.

  Returns:
    A dataset of them on the GPU, with images in place of what is stored.

  Raises:
    ValueError: boxes are a `tf.RaggedTensor`.
  """
  columns = decoding.columns
  if columns.boxes.ragged:
    raise WrongArgument(
      "features",
      Shown(columns.boxes.given),
      f"must have pad=N with {setting('decode', columns.decode)}: TensorFlow keeps no "
      "ragged tensors in a GPU's memory; or take liquid_tf.loader",
    )
  device = gpu.device_of(columns.decode)
  gpu.register_records(device)
  image = pixel_features(columns.manifest)["image"]
  return gpu.decoded(
    batches,
    columns.names,
    columns.wanted,
    columns.as_dict,
    columns.recipe,
    tf.as_dtype(image.dtype),
    [
      [decoding.samples, *(size.one or (0, 0)), image.channels]
      for size in columns.sizes
    ],
    limits,
    device,
    Join(columns).of,
    functools.partial(repeated, columns) if columns.recipe.repeats > 1 else dict,
  )
