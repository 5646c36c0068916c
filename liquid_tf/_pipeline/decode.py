"""From record blocks to batches of images: `decode_and_batch`."""

from collections.abc import Sequence

import tensorflow as tf

from liquid_tf._cost import budget
from liquid_tf._native import limits as _limits
from liquid_tf._native import ops
from liquid_tf._native.limits import Limits
from liquid_tf._pipeline import features as _features
from liquid_tf._pipeline import gpu
from liquid_tf._pipeline import sources as _sources
from liquid_tf._pipeline import tuning as _tuning
from liquid_tf._pipeline.interleave import (
  InterleaveDataset,
  check_last_batch,
  mean_pixel_bytes,
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
    *,
    batch_size: int,
    recipe: Recipe,
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
    height, width = recipe.window or (0, 0)
    resize_height, resize_width = recipe.size or (0, 0)
    random_size = recipe.random_size
    super().__init__(
      ops.lib().liquid_decode_batch_dataset(
        blocks._variant_tensor,
        batch_size=batch_size,
        crop_height=height,
        crop_width=width,
        resize_height=resize_height,
        resize_width=resize_width,
        seed=seed,
        **limits.attributes(),
        lookahead=lookahead,
        most_lookahead=most_lookahead,
        parallelism=parallelism,
        features=names,
        masks=masks,
        ragged=ragged,
        random_crop=recipe.random_place,
        random_area=random_size.scale if random_size else [],
        random_aspect=random_size.ratio if random_size else [],
        mirror=recipe.mirror,
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


def sizes_differ(sources: list[_sources.FormatDataset]) -> bool:
  filled = [source.rows for source in sources if len(source.rows)]
  return any(
    bool((rows[side] != filled[0][side][0]).any())
    for rows in filled
    for side in ("height", "width")
  )


def _check_crop(
  sources: list[_sources.FormatDataset], crop: tuple[int, int], skip: bool
) -> None:
  for source in sources:
    rows = source.rows
    small = (rows["height"] < crop[0]) | (rows["width"] < crop[1])
    if small.any() and not skip:
      row = rows[small.argmax()]
      raise ValueError(
        f"crop {crop} must fit into every image, but {int(small.sum())} of "
        f"{source.format} are smaller: sample {row['sample']} has "
        f"{row['height']}x{row['width']} pixels"
      )


def decode_and_batch(
  blocks: tf.data.Dataset,
  *,
  features: Sequence[str] | None = None,
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
      tf.RaggedTensor [n, None].
    transforms: what happens to images while they are decoded: steps of
      `liquid_tf.transforms`. Random ones need shuffled blocks.
    last_batch: what happens to a last batch of fewer samples: "short" gives it as it
      is; "repeat" repeats its own samples in turn until it has `batch_size`; `stats`
      does not count them. `interleave` can leave it out.
    decode: "cpu"; "gpu" for batches in the memory of TensorFlow's first GPU, images of
      l3 and raw decoded there, see docs/gpu.md; or "none" for the stored bytes in place
      of the image.
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
  recipe.check_draws(mixed is not None and mixed.shuffle, decode)
  check_last_batch(last_batch, ("short", "repeat"))
  round_batch = last_batch == "repeat"
  if round_batch and mixed is None:
    raise ValueError(
      'last_batch ("repeat") must be "short" where blocks are no batches'
    )
  wanted = _features.check_names(manifest, features)
  names = ["bytes" if decode != "cpu" and name == "image" else name for name in wanted]
  known = _features.pixel_features(manifest)
  pixels = {k: v for k, v in known.items() if k in names}
  on_gpu = decode == "gpu"
  if on_gpu:
    gpu.check(manifest, recipe, wanted, on_error == "skip")
  if on_gpu or "image" in pixels:
    recipe.check_images(known["image"].channels)
  keeps_pixels = mixed is not None and mixed.snapshot.cache.form == "pixels"
  if keeps_pixels and ("image" not in pixels or "bytes" in names):
    raise ValueError(
      'Cache: form ("pixels") must be "encoded" where features '
      f"({', '.join(names)}) have no decoded image, or the stored bytes"
    )
  skip = on_error == "skip"
  unequal = recipe.random_size is not None
  if unequal and recipe.size is None and not recipe.ragged:
    raise ValueError(
      f"transforms: {recipe.crop} must have a size, or go with Ragged() for batches of "
      "unequal images"
    )
  if (pixels or on_gpu) and recipe.window:
    _check_crop(sources, recipe.window, skip)
  elif (pixels or on_gpu) and sizes_differ(sources):
    if recipe.size is None and not recipe.ragged:
      raise ValueError(
        f"images of {manifest.directory} differ in size: transforms must have a crop, "
        "Resize, or Ragged() for batches of unequal images"
      )
    unequal = True
  flat = bool(pixels) and (unequal or recipe.ragged) and recipe.size is None
  parsed = _features.in_examples(manifest, names)
  # What a flat batch is put together from, and what features are parsed from.
  needed = (["window"] if flat else []) + (["example"] if parsed else [])
  needed += gpu.STORED if on_gpu else []
  stored = [name for name in names if name not in parsed]
  stored += [name for name in needed if name not in stored]
  rows = max((source.rows for source in sources), key=len)  # some may have none
  one_size = (int(rows["height"][0]), int(rows["width"][0])) if len(rows) else (1, 1)
  height, width = recipe.size or recipe.window or one_size
  batch_size = mixed.batch_size if mixed is not None else _SOURCE_RECORDS
  samples = batch_size if round_batch else None
  specs = []
  for name in stored:
    if name in pixels:
      channels, dtype = pixels[name].channels, pixels[name].dtype
      shape = [None, channels] if flat else [samples, height, width, channels]
    elif name == "label":
      specs.append(_features.label_spec(manifest, samples))
      continue
    else:
      dtype, shape = _features.PLAIN[name][0], [samples, *_features.PLAIN[name][1]]
    specs.append(tf.TensorSpec(shape, dtype))
  pixel_bytes = (
    sum(height * width * p.channels * p.dtype.size for p in pixels.values())
    if not flat
    else mean_pixel_bytes(manifest)
  )
  # A batch on its way has its records beside its pixels.
  batch_bytes = batch_size * (pixel_bytes + mean_stored_bytes(sources))
  memory = mixed.snapshot.memory if mixed is not None else budget.resolve_memory("auto")
  dataset = DecodeBatchDataset(
    blocks,
    stored,
    specs,
    [name for name in pixels if name != "image"],
    batch_size=batch_size,
    recipe=recipe,
    seed=mixed.seed if mixed is not None else 0,
    ragged=flat,
    skip_errors=skip,
    repeat_to_fill=skip and mixed is not None and mixed.fill_short_batches,
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
  shape = _Shaper(stored, wanted, pixels, parsed, flat, recipe, as_dict)
  shaped = dataset.map(shape)
  if recipe.finishes:
    # One is finished while the consumer has the one before.
    shaped = shaped.prefetch(1)
  # The prefetch that tf.data would put after it takes up to eight batches that no
  # budget counts, and that nobody has asked for: some epoch would be over with them.
  options = tf.data.Options()
  options.experimental_optimization.inject_prefetch = False
  shaped = shaped.with_options(options)
  shaped.is_liquid_output = True
  return shaped


class _Shaper:
  """Gives a flat tuple of tensors the structure that was asked for."""

  def __init__(self, stored, wanted, pixels, parsed, flat, recipe, as_dict):
    self._stored = stored
    self._wanted = wanted
    self._pixels = pixels
    self._parsed = parsed
    self._flat = flat
    self._recipe = recipe
    self._as_dict = as_dict

  def __call__(self, *tensors):
    values = dict(zip(self._stored, tensors))
    if "bytes" in values and "image" not in values:
      values.setdefault("image", values["bytes"])
    for name in self._pixels:
      if self._flat:
        values[name] = _to_ragged(values[name], values["window"])
      elif self._recipe.ragged:
        values[name] = tf.RaggedTensor.from_tensor(values[name], ragged_rank=2)
    if "image" in self._pixels:
      values["image"] = self._recipe.finish(values["image"])
    if self._parsed:
      values |= tf.io.parse_example(values["example"], self._parsed)
    if self._as_dict:
      return {name: values[name] for name in self._wanted}
    result = tuple(values[name] for name in self._wanted)
    return result[0] if len(result) == 1 else result


def _to_ragged(flat: tf.Tensor, window: tf.Tensor) -> tf.RaggedTensor:
  """[pixels, c] of several images to a ragged [n, h, w, c]."""
  heights, widths = window[:, 2], window[:, 3]
  rows = tf.repeat(widths, heights)
  return tf.RaggedTensor.from_nested_row_lengths(
    flat, [tf.cast(heights, tf.int64), tf.cast(rows, tf.int64)], validate=False
  )
