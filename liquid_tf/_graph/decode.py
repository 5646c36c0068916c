"""From record blocks to batches of images: `decode_and_batch`."""

from collections.abc import Sequence

import tensorflow as tf

from liquid_tf._cost import budget
from liquid_tf._graph import gpu
from liquid_tf._graph.columns import Columns
from liquid_tf._graph.stages import find_stage
from liquid_tf._native import limits as _limits
from liquid_tf._native import messages, ops
from liquid_tf._native.limits import Limits
from liquid_tf._pipeline import features as _features
from liquid_tf._pipeline import sizes as _sizes
from liquid_tf._pipeline import tuning as _tuning
from liquid_tf._pipeline.boxes import BoxColumns
from liquid_tf._pipeline.format_dataset import FormatDataset
from liquid_tf._pipeline.interleave import (
  InterleaveDataset,
  check_last_batch,
  manifests_of,
  mean_stored_bytes,
)
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._pipeline.tuning import Tuning
from liquid_tf._words import Shown, argument, said, setting
from liquid_tf.errors import WrongArgument
from liquid_tf.transforms import Boxes, Step

# Records in a block of a source by itself, at most.
_SOURCE_RECORDS = 64


class DecodeBatchDataset(tf.data.Dataset):
  """Flat tuples of batch tensors, one per feature; see `decode_and_batch`.

  Args:
    blocks: of records.
    columns: the features.
    message: the op's constants.
    samples: in each batch; None where the last one may have fewer.
    skips: whether samples that cannot be read are left out.
    fills: whether a last batch of fewer samples repeats them.

  Attributes:
    recipe: of the images.
    skips: as given.
    fills: as given.
  """

  def __init__(
    self,
    blocks: tf.data.Dataset,
    columns: Columns,
    message: bytes,
    *,
    samples: int | None,
    skips: bool,
    fills: bool,
  ):
    self.recipe = columns.recipe
    self.skips, self.fills = skips, fills
    self._blocks = blocks
    self._spec = tuple(columns.specs(samples))
    super().__init__(
      ops.lib().liquid_decode_batch_dataset(
        blocks._variant_tensor,
        plan=message,
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
  transforms: Sequence[Step] = (),
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
      tf.RaggedTensor [n, None], as stored. `Boxes` among the names gives several, which
      follow the image.
    transforms: what happens to images while they are decoded: steps of
      `liquid_tf.transforms`. Random ones need shuffled blocks.
    last_batch: what happens to a last batch of fewer samples: "short" gives it as it
      is; "repeat" repeats its own samples in turn until it has `batch_size`; `stats`
      does not count them. `interleave` can leave it out.
    decode: "cpu", or "gpu" for batches in the memory of TensorFlow's first GPU, images
      of l3, l3-compact and raw decoded there, see docs/gpu.md.
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
  sources = mixed.sources if mixed is not None else [source]
  _check(last_batch, decode, on_error, mixed)
  _limits.check(limits)
  _tuning.check(tuning)
  recipe = Recipe.parse(transforms)
  skip = on_error == "skip"
  columns = _columns(sources, features, recipe, decode, skip, limits)
  recipe.check_draws(mixed is not None and mixed.draws)
  if mixed is not None and mixed.snapshot.cache.form == "pixels":
    _check_kept_pixels(columns)
  batch_size = mixed.batch_size if mixed is not None else _SOURCE_RECORDS
  round_batch = last_batch == "repeat"
  whole = round_batch or (mixed is not None and mixed.drops)
  samples = batch_size if whole else None
  # A batch on its way has its records beside its pixels.
  batch_bytes = batch_size * (columns.pixel_bytes + mean_stored_bytes(sources))
  memory = mixed.snapshot.memory if mixed is not None else budget.resolve_memory("auto")
  image = _features.pixel_features(source.manifest)["image"]
  message = messages.decode(
    batch_size=batch_size,
    seed=recipe.seed(mixed.seed if mixed is not None else 0),
    **limits.attributes(),
    lookahead=tuning.lookahead,
    most_lookahead=budget.decoded_batches(memory, batch_bytes, batch_size),
    parallelism=tuning.parallelism,
    features=columns.names,
    masks=[name for name in columns.pixels if name != "image"],
    **columns.boxes.fields(),
    ragged=columns.flat,
    recipe=recipe.lines(),
    image_bits=8 * image.dtype.size,
    skip_errors=skip,
    # Batches that must be whole repeat a sample where one is left out.
    repeat_to_fill=skip
    and mixed is not None
    and (mixed.fill_short_batches or mixed.drops),
    round_batch=round_batch,
  )
  dataset = DecodeBatchDataset(
    blocks, columns, message, samples=samples, skips=skip, fills=round_batch
  )
  if decode == "gpu":
    shaped = gpu.decoded(
      dataset,
      columns.names,
      columns.wanted,
      columns.as_dict,
      recipe,
      image.dtype,
      [samples, *(columns.sizes.one or (0, 0)), image.channels],
      limits.pixels,
    )
  else:
    # The prefetch that tf.data would put after it takes up to eight batches that no
    # budget counts, and that no iterator asked for: an epoch would be over with them.
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    shaped = dataset.map(columns.shaped).with_options(options)
  shaped._is_liquid_output = True
  return shaped


def _check(
  last_batch: str, decode: str, on_error: str, mixed: InterleaveDataset | None
) -> None:
  """Checks what has a few values."""
  if decode not in ("cpu", "gpu"):
    stored = 'give features=["bytes", …] for images as they are stored'
    raise WrongArgument("decode", decode, f'must be "cpu" or "gpu"; {stored}')
  if on_error not in ("raise", "skip"):
    raise WrongArgument("on_error", on_error, 'must be "raise" or "skip"')
  check_last_batch(last_batch, ("short", "repeat"))
  if last_batch == "repeat" and mixed is None:
    raise WrongArgument(
      "last_batch", "repeat", 'must be "short" where blocks are no batches'
    )


def _columns(
  sources: Sequence[FormatDataset],
  features: Sequence[str | Boxes] | None,
  recipe: Recipe,
  decode: str,
  skip: bool,
  limits: Limits,
) -> Columns:
  """Columns decoded of sources; arguments are those of `decode_and_batch`.

  Raises:
    ValueError: features or steps do not go with the dataset, or with each other.
  """
  manifest = sources[0].manifest
  boxes = BoxColumns(manifest, features, recipe.flip, _features.PLAIN)
  wanted = _features.check_names(manifest, features, boxes)
  pixels = _features.decoded(manifest, wanted, decode)
  on_gpu = decode == "gpu"
  if on_gpu:
    if boxes.given is not None:
      raise WrongArgument(
        "features",
        Shown(boxes.given),
        f"must not be given with {setting('decode', 'gpu')}",
      )
    for one in manifests_of(sources):
      gpu.check(one, recipe, wanted, skip)
  if on_gpu or "image" in pixels:
    image = _features.pixel_features(manifest)["image"]
    recipe.check_channels(image.channels)
    recipe.check_colours(image.dtype, image.channels)
  recipe.check_fills(pixels)
  sizes = _sizes.results(
    recipe,
    {source.name: source.rows for source in sources},
    check=bool(pixels or on_gpu) and not skip,
    most=limits.pixels,
  )
  if sizes.one is None and (pixels or on_gpu) and not recipe.ragged:
    if recipe.random_size is not None and recipe.random_size.size is None:
      raise ValueError(
        f"transforms: {recipe.random_size} must have a size, or go with Ragged() for "
        "batches of unequal images"
      )
    raise ValueError(
      f"images of {manifest.directory} differ in size: "
      + said(
        "transforms must have a crop, Resize((height, width)), Pad, or Ragged() for "
        "batches of unequal images"
      )
    )
  as_dict = features is not None
  return Columns(manifest, wanted, as_dict, decode, recipe, sizes, boxes)


def _check_kept_pixels(columns: Columns) -> None:
  """Checks what goes with a cache of pixels."""
  if columns.recipe.drafts:
    raise WrongArgument(
      "Cache: form",
      "pixels",
      'must be "encoded" with draft=True, which decodes less than an image\'s pixels',
    )
  if "image" not in columns.pixels or "bytes" in columns.names:
    names = argument("features", Shown(", ".join(columns.names)))
    raise WrongArgument(
      "Cache: form",
      "pixels",
      f'must be "encoded" where {names} have no decoded image, or the stored bytes',
    )
