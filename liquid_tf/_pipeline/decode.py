"""From record blocks to batches of images: `decode_and_batch`."""

from collections.abc import Sequence

import tensorflow as tf

from liquid_tf._cost import budget
from liquid_tf._native import limits as _limits
from liquid_tf._native import ops
from liquid_tf._native.limits import Limits
from liquid_tf._pipeline import features as _features
from liquid_tf._pipeline import gpu
from liquid_tf._pipeline import sizes as _sizes
from liquid_tf._pipeline import sources as _sources
from liquid_tf._pipeline import tuning as _tuning
from liquid_tf._pipeline.boxes import BoxColumns, Boxes
from liquid_tf._pipeline.interleave import (
  InterleaveDataset,
  check_last_batch,
  manifests_of,
  mean_stored_bytes,
)
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._pipeline.tuning import Tuning
from liquid_tf.transforms import Step

# Records in a block of a source by itself, at most.
_SOURCE_RECORDS = 64


class DecodeBatchDataset(tf.data.Dataset):
  """Flat tuples of batch tensors, one per feature; see `decode_and_batch`."""

  def __init__(
    self,
    blocks: tf.data.Dataset,
    names: list[str],
    specs: list[tf.TensorSpec],
    masks: list[str],
    boxes: BoxColumns,
    *,
    batch_size: int,
    recipe: Recipe,
    image_bits: int,
    seed: int,
    ragged: bool,
    skip_errors: bool,
    repeat_to_fill: bool,
    round_batch: bool,
    limits: Limits,
    lookahead: int,
    most_lookahead: int,
    parallelism: int,
  ):
    self.recipe = recipe
    self._blocks = blocks
    self._spec = tuple(specs)
    super().__init__(
      ops.lib().liquid_decode_batch_dataset(
        blocks._variant_tensor,
        batch_size=batch_size,
        seed=seed,
        **limits.attributes(),
        lookahead=lookahead,
        most_lookahead=most_lookahead,
        parallelism=parallelism,
        mean_image=recipe.mean_image(),
        features=names,
        masks=masks,
        **boxes.attributes(),
        ragged=ragged,
        recipe=recipe.lines(),
        image_bits=image_bits,
        skip_errors=skip_errors,
        repeat_to_fill=repeat_to_fill,
        round_batch=round_batch,
        output_types=[spec.dtype for spec in specs],
        output_shapes=[spec.shape for spec in specs],
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
    decode: "cpu"; "gpu" for batches in the memory of TensorFlow's first GPU, images of
      l3, l3-compact and raw decoded there, see docs/gpu.md; or "none" for the stored
      bytes in place of the image.
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
  mixed = _sources.find_part(blocks, InterleaveDataset)
  source = _sources.find_part(blocks, _sources.FormatDataset)
  if source is None:
    raise ValueError("blocks must come from format_dataset() or interleave() of such")
  sources = mixed.sources if mixed is not None else [source]
  manifest = source.manifest
  _limits.check(limits)
  _tuning.check(tuning)
  if decode not in ("cpu", "gpu", "none"):
    raise ValueError(f'decode ("{decode}") must be "cpu", "gpu" or "none"')
  if on_error not in ("raise", "skip"):
    raise ValueError(f'on_error ("{on_error}") must be "raise" or "skip"')
  recipe = Recipe.parse(transforms)
  recipe.check_draws(mixed is not None and mixed.draws, decode)
  check_last_batch(last_batch, ("short", "repeat"))
  round_batch = last_batch == "repeat"
  if round_batch and mixed is None:
    raise ValueError(
      'last_batch ("repeat") must be "short" where blocks are no batches'
    )
  boxes = BoxColumns(manifest, features, recipe.flip, _features.PLAIN)
  wanted = _features.check_names(manifest, features, boxes)
  names = ["bytes" if decode != "cpu" and name == "image" else name for name in wanted]
  known = _features.pixel_features(manifest)
  pixels = {k: v for k, v in known.items() if k in names}
  on_gpu = decode == "gpu"
  if on_gpu and boxes.given is not None:
    raise ValueError(f'features ({boxes.given}) must not be given with decode="gpu"')
  if on_gpu:
    for one in manifests_of(sources):
      gpu.check(one, recipe, wanted, on_error == "skip")
  if on_gpu or "image" in pixels:
    recipe.check_channels(known["image"].channels)
    recipe.check_colours(known["image"].dtype, known["image"].channels)
  recipe.check_fills(pixels)
  keeps_pixels = mixed is not None and mixed.snapshot.cache.form == "pixels"
  if keeps_pixels and recipe.drafts:
    raise ValueError(
      'Cache: form ("pixels") must be "encoded" with draft=True, which decodes less '
      "than an image's pixels"
    )
  if keeps_pixels and ("image" not in pixels or "bytes" in names):
    raise ValueError(
      'Cache: form ("pixels") must be "encoded" where features '
      f"({', '.join(names)}) have no decoded image, or the stored bytes"
    )
  skip = on_error == "skip"
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
      f"images of {manifest.directory} differ in size: transforms must have a crop, "
      "Resize((height, width)), Pad, or Ragged() for batches of unequal images"
    )
  flat = bool(pixels) and sizes.one is None
  parsed = _features.in_examples(manifest, [n for n in names if n not in boxes.names])
  # What a flat batch is put together from, and what features are parsed from.
  needed = (["size"] if flat else []) + (["example"] if parsed else [])
  needed += gpu.STORED if on_gpu else []
  stored = [name for name in names if name not in parsed]
  stored += [name for name in needed if name not in stored]
  height, width = sizes.one or (0, 0)
  batch_size = mixed.batch_size if mixed is not None else _SOURCE_RECORDS
  whole = round_batch or (mixed is not None and mixed.drops)
  samples = batch_size if whole else None
  specs = []
  pixel_bytes = 0.0
  for name in stored:
    if name in pixels:
      channels, dtype = pixels[name].channels, pixels[name].dtype
      if name == "image":
        dtype = recipe.dtype or dtype
      sides = [height, width, channels]
      if name == "image" and recipe.channels_first:
        sides = [channels, height, width]
      shape = [None, channels] if flat else [samples, *sides]
      pixel_bytes += sizes.pixels * channels * dtype.size
    elif name == "label":
      specs.append(_features.label_spec(manifest, samples))
      continue
    elif name in boxes.names:
      specs.append(boxes.spec(name, samples))
      continue
    else:
      dtype, shape = _features.PLAIN[name][0], [samples, *_features.PLAIN[name][1]]
    specs.append(tf.TensorSpec(shape, dtype))
  # A batch on its way has its records beside its pixels.
  batch_bytes = batch_size * (pixel_bytes + mean_stored_bytes(sources))
  memory = mixed.snapshot.memory if mixed is not None else budget.resolve_memory("auto")
  dataset = DecodeBatchDataset(
    blocks,
    stored,
    specs,
    [name for name in pixels if name != "image"],
    boxes,
    batch_size=batch_size,
    recipe=recipe,
    image_bits=8 * known["image"].dtype.size,
    seed=mixed.seed if mixed is not None else 0,
    ragged=flat,
    skip_errors=skip,
    # Batches that must be whole repeat a sample where one is left out.
    repeat_to_fill=skip
    and mixed is not None
    and (mixed.fill_short_batches or mixed.drops),
    round_batch=round_batch,
    limits=limits,
    lookahead=tuning.lookahead,
    most_lookahead=budget.decoded_batches(memory, batch_bytes, batch_size),
    parallelism=tuning.parallelism,
  )
  as_dict = features is not None
  if on_gpu:
    shape = [samples, height, width, known["image"].channels]
    return gpu.decoded(
      dataset,
      stored,
      wanted,
      as_dict,
      recipe,
      known["image"].dtype,
      shape,
      limits.pixels,
    )
  shape = _Shaper(
    manifest, stored, wanted, pixels, parsed, boxes, flat, recipe, as_dict
  )
  shaped = dataset.map(shape)
  # The prefetch that tf.data would put after it takes up to eight batches that no
  # budget counts, and that nobody has asked for: some epoch would be over with them.
  options = tf.data.Options()
  options.experimental_optimization.inject_prefetch = False
  shaped = shaped.with_options(options)
  shaped._is_liquid_output = True
  return shaped


class _Shaper:
  """Gives a flat tuple of tensors the structure that was asked for."""

  def __init__(
    self, manifest, stored, wanted, pixels, parsed, boxes, flat, recipe, as_dict
  ):
    self._manifest = manifest
    self._stored = stored
    self._wanted = wanted
    self._pixels = pixels
    self._parsed = parsed
    self._boxes = boxes
    self._flat = flat
    self._recipe = recipe
    self._as_dict = as_dict

  def __call__(self, *tensors):
    values = dict(zip(self._stored, tensors))
    if "bytes" in values and "image" not in values:
      values.setdefault("image", values["bytes"])
    for name in self._pixels:
      if self._flat:
        values[name] = _to_ragged(values[name], values["size"])
      elif self._recipe.ragged:
        values[name] = tf.RaggedTensor.from_tensor(values[name], ragged_rank=2)
    values |= self._boxes.shaped(values)
    if self._parsed:
      parsed = tf.io.parse_example(values["example"], self._parsed)
      for name, value in parsed.items():
        values[name] = _features.in_shape(self._manifest, name, value)
    if self._as_dict:
      return {name: values[name] for name in self._wanted}
    result = tuple(values[name] for name in self._wanted)
    return result[0] if len(result) == 1 else result


def _to_ragged(flat: tf.Tensor, sizes: tf.Tensor) -> tf.RaggedTensor:
  """[pixels, c] of several images of `sizes` [n, 2] to a ragged [n, h, w, c]."""
  heights, widths = sizes[:, 0], sizes[:, 1]
  rows = tf.repeat(widths, heights)
  return tf.RaggedTensor.from_nested_row_lengths(
    flat, [tf.cast(heights, tf.int64), tf.cast(rows, tf.int64)], validate=False
  )
