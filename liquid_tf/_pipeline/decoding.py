"""Decoding: what a decoder of batches is told, and what comes out of it."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from liquid_tf._cost import budget
from liquid_tf._cost.cache import Cache
from liquid_tf._native import limits as _limits
from liquid_tf._native import messages
from liquid_tf._native.limits import Limits
from liquid_tf._pipeline import features as _features
from liquid_tf._pipeline import gpu as _gpu
from liquid_tf._pipeline import joined as _joined
from liquid_tf._pipeline import sizes as _sizes
from liquid_tf._pipeline import tuning as _tuning
from liquid_tf._pipeline.boxes import BoxColumns
from liquid_tf._pipeline.columns import Columns
from liquid_tf._pipeline.draws import (
  Draws,
  check_last_batch,
  manifests_of,
  mean_stored_bytes,
)
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._pipeline.sizes import Sizes
from liquid_tf._pipeline.source import Source
from liquid_tf._pipeline.spec import value_bytes
from liquid_tf._pipeline.tuning import Tuning
from liquid_tf._store import contents
from liquid_tf._store.manifest import Manifest
from liquid_tf._words import Shown, argument, said, setting
from liquid_tf.errors import WrongArgument
from liquid_tf.transforms import Boxes, Step, Views

# Records in a block of a source by itself, at most.
_SOURCE_RECORDS = 64

# Checks, for `decode=` as given: a dataset, its recipe, its features, and whether
# damaged records are left out.
CheckGpu = Callable[[str, Manifest, Recipe, Sequence[str], bool], None]

# Batches decoded ahead where nothing tunes that. Each has memory of its own, which the
# processor's caches hold of few: with 16 of 224x224 pixels L3 was a sixth slower than
# with 2 or 4, and JPEG a twentieth.
_AHEAD = 4


@dataclasses.dataclass(frozen=True, eq=False)
class Decoding:
  """Inputs of a decoder of batches, and the columns that come out of it.

  Attributes:
    columns: the features.
    message: the constants, as the op takes them.
    samples: in each batch; None where the last one may have fewer.
    skips: whether samples that cannot be read are left out.
    fills: whether a last batch of fewer samples repeats them.
  """

  columns: Columns
  message: bytes
  samples: int | None
  skips: bool
  fills: bool


def make(
  draws: Draws | None,
  sources: Sequence[Source],
  *,
  features: Sequence[str | Boxes] | None,
  transforms: Sequence[Step] | Views,
  last_batch: str,
  decode: str,
  on_error: str,
  limits: Limits,
  tuning: Tuning,
  check_gpu: CheckGpu,
  autotuned: bool = True,
) -> Decoding:
  """Checks how batches are decoded; arguments are those of `decode_and_batch`.

  Args:
    draws: of the batches; None where a source gives its records by itself.
    sources: of the records.
    features: as given, like the others.
    transforms: likewise.
    last_batch: likewise.
    decode: likewise.
    on_error: likewise.
    limits: likewise.
    tuning: likewise.
    check_gpu: raises ValueError where a dataset is not decoded on a GPU.
    autotuned: whether the look-ahead that `tuning` leaves open is found while it runs;
      else it is all that the memory allows.

  Raises:
    ValueError: an argument is wrong, or images differ in size where a batch needs
      one size; the message says which.
  """
  _check(last_batch, decode, on_error, draws)
  _limits.check(limits)
  _tuning.check(tuning)
  recipe = Recipe.of(transforms)
  skip = on_error == "skip"
  columns = _columns(sources, features, recipe, decode, skip, limits, check_gpu)
  for one in recipe.each:
    one.check_draws(draws is not None and draws.draws)
  if draws is not None and draws.snapshot.cache.form == "pixels":
    _check_kept_pixels(columns)
  if draws is not None and draws.snapshot.cache.gpu_bytes:
    _check_gpu_cache(draws.snapshot.cache, columns, sources)
  batch_size = draws.batch_size if draws is not None else _SOURCE_RECORDS
  round_batch = last_batch == "repeat"
  whole = round_batch or (draws is not None and draws.drops)
  samples = batch_size if whole else None
  # A batch on its way has its records beside its pixels.
  batch_bytes = batch_size * (columns.pixel_bytes + mean_stored_bytes(sources))
  memory = draws.snapshot.memory if draws is not None else budget.resolve_memory("auto")
  image = _features.pixel_features(sources[0].manifest)["image"]
  most_ahead = budget.decoded_batches(memory, batch_bytes, batch_size)
  ahead = tuning.lookahead
  if ahead == _tuning.AUTOTUNE and not autotuned:
    ahead = min(_AHEAD, most_ahead)
  seed = draws.seed if draws is not None else 0
  message = messages.decode(
    batch_size=batch_size,
    seed=recipe.seed(seed),
    **limits.attributes(),
    lookahead=ahead,
    most_lookahead=most_ahead,
    parallelism=tuning.parallelism,
    features=columns.names,
    masks=[name for name in columns.pixels if name != "image"],
    **columns.boxes.fields(),
    ragged=columns.flat,
    recipe=recipe.lines(_members(sources)),
    image_bits=8 * value_bytes(image.dtype),
    skip_errors=skip,
    # Batches that must be whole repeat a sample where one is left out.
    repeat_to_fill=skip
    and draws is not None
    and (draws.fill_short_batches or draws.drops),
    round_batch=round_batch,
    views=[
      messages.view(
        feature=f"image[{i}]", seed=one.seed(seed), recipe=one.lines(first=False)
      )
      for i, one in enumerate(recipe.views)
      if i and (columns.stacked or columns.views)
    ],
    stacked=columns.stacked,
  )
  return Decoding(columns, message, samples, skip, round_batch)


def _check(last_batch: str, decode: str, on_error: str, draws: Draws | None) -> None:
  """Checks what has a few values."""
  _gpu.number(decode)
  if on_error not in ("raise", "skip"):
    raise WrongArgument("on_error", on_error, 'must be "raise" or "skip"')
  check_last_batch(last_batch, ("short", "repeat"))
  if last_batch == "repeat" and draws is None:
    raise WrongArgument(
      "last_batch", "repeat", 'must be "short" where blocks are no batches'
    )


def _check_gpu_cache(cache: Cache, columns: Columns, sources: Sequence[Source]) -> None:
  """Raises ValueError where a GPU's memory cannot have what is kept."""
  if columns.decode == "cpu":
    raise WrongArgument(
      "Cache: gpu", cache.gpu, f"must be 0 with {setting('decode', columns.decode)}"
    )
  if "bytes" in columns.wanted:
    raise WrongArgument(
      "Cache: gpu",
      cache.gpu,
      'must be 0 where features have "bytes", which would come back from the GPU',
    )
  if all(
    source.format == "jpeg"
    and not (contents.jpeg_index(source.manifest.data) or {}).get("records")
    for source in sources
  ):
    raise WrongArgument(
      "Cache: gpu",
      cache.gpu,
      "must be 0 where JPEG files have no entry points, since processors decode them: "
      "`liquid-tf edit --jpeg_index=16` adds these",
    )


def _places(
  pixels: Iterable[str], boxes: BoxColumns, wanted: Iterable[str]
) -> Iterator[str]:
  """Features that have places in the image, beside it."""
  yield from (name for name in pixels if name != "image")
  yield from ("boxes",) if boxes.given is not None else ()
  yield from (name for name in wanted if name == "affine")


def _columns(
  sources: Sequence[Source],
  features: Sequence[str | Boxes] | None,
  recipe: Recipe,
  decode: str,
  skip: bool,
  limits: Limits,
  check_gpu: CheckGpu,
) -> Columns:
  """Columns decoded of sources; arguments are those of `make`.

  Raises:
    ValueError: features or steps do not go with the dataset, or with each other.
  """
  manifest = sources[0].manifest
  boxes = BoxColumns(manifest, features, recipe.flip, _features.PLAIN)
  wanted = _features.check_names(manifest, features, boxes, recipe.mix)
  pixels = _features.decoded(manifest, wanted, decode)
  on_gpu = decode != "cpu"
  if recipe.views:
    _check_views(wanted, boxes, pixels)
  if on_gpu:
    others = [name for name in wanted if name not in boxes.numbers]
    for one in manifests_of(sources):
      check_gpu(decode, one, recipe, others, skip)
  if on_gpu or "image" in pixels:
    image = _features.pixel_features(manifest)["image"]
    for one in recipe.each:
      one.check_channels(image.channels)
      one.check_colours(image.dtype, image.channels)
  sizes = []
  for one in recipe.each:
    one.check_fills(pixels)
    one.check_moved(_places(pixels, boxes, wanted))
    found = _sizes.results(
      one,
      {source.name: source.rows for source in sources},
      check=bool(pixels or on_gpu) and not skip,
      most=limits.pixels,
    )
    if found.one is None and (pixels or on_gpu) and not one.ragged:
      raise _unequal(one, manifest, bool(recipe.views))
    sizes.append(found)
  if recipe.as_samples:
    _check_alike(recipe, sizes)
  as_dict = features is not None
  every = [source.manifest for source in sources]
  manifests = list({id(one): one for one in every}.values())
  joined = _joined.find(manifests, wanted)
  _check_mix(recipe, wanted, boxes, joined, manifest)
  places = _joined.Places.among(manifests, every)
  return Columns(
    manifest, wanted, as_dict, decode, recipe, tuple(sizes), boxes, joined, places
  )


def _members(sources: Sequence[Source]) -> list[int]:
  """Numbers of the datasets of a mixture, by source; [] where there is one."""
  views = list({id(source.view): source.view for source in sources}.values())
  return [views.index(source.view) for source in sources] if len(views) > 1 else []


def _check_mix(
  recipe: Recipe,
  wanted: Sequence[str],
  boxes: BoxColumns,
  joined: Mapping[str, _joined.Joined],
  manifest: Manifest,
) -> None:
  """Checks what goes with `Mix`."""
  if recipe.mix is None:
    return
  if "label" in joined:
    raise ValueError(
      f"transforms: {recipe.mix} takes labels from records, and those of "
      f"{manifest.directory} were corrected since: convert it anew, or give features "
      'without "label", with "partner" and "lam"'
    )
  if not recipe.mixes:
    return
  unlike = [name for name in ("bytes", "mask", *boxes.names) if name in wanted]
  if unlike:
    raise WrongArgument(
      "features",
      unlike[0],
      f"must not be given with {recipe.mix}, which mixes images and labels alone",
    )
  if "image" not in wanted:
    raise WrongArgument(
      "features", Shown(", ".join(wanted)), f'must have "image" with {recipe.mix}'
    )


def _unequal(recipe: Recipe, manifest: Manifest, in_views: bool) -> ValueError:
  """The error that images have no common size."""
  if in_views:
    return ValueError(
      f"images of {manifest.directory} differ in size: each of Views must have a crop "
      f"of one size, Resize((height, width)) or Pad, unlike {list(recipe.given)}"
    )
  if recipe.random_size is not None and recipe.random_size.size is None:
    return ValueError(
      f"transforms: {recipe.random_size} must have a size, or go with Ragged() for "
      "batches of unequal images"
    )
  return ValueError(
    f"images of {manifest.directory} differ in size: "
    + said(
      "transforms must have a crop, Resize((height, width)), Pad, or Ragged() for "
      "batches of unequal images"
    )
  )


def _check_views(
  wanted: Sequence[str], boxes: BoxColumns, pixels: Iterable[str]
) -> None:
  """Checks what goes with views.

  Args:
    wanted: features that are asked for.
    boxes: likewise.
    pixels: images and masks among them.

  Raises:
    ValueError: something does not; the message names it.
  """
  one = ["window", "mirrored", "size", "affine"]
  refused: list[str] = []
  if boxes.given is not None:
    refused.append(Shown(boxes.given))
  refused += [name for name in wanted if name in one or name in set(pixels) - {"image"}]
  if refused:
    raise WrongArgument(
      "features",
      refused[0],
      "must not be given with Views, each of which has its own: make each a dataset "
      "of its own with a Seed",
    )


def _check_alike(recipe: Recipe, sizes: Sequence[Sizes]) -> None:
  """Raises ValueError where views are of no one size, type and layout."""
  first, *others = (
    (size.one, one.dtype, one.channels_first) for one, size in zip(recipe.views, sizes)
  )
  for i, other in enumerate(others, 1):
    if other != first:
      raise WrongArgument(
        "Views: as_samples",
        True,
        "must be False where views differ in size, type or layout, as "
        f"{list(recipe.views[i].given)} and {list(recipe.views[0].given)} do",
      )


def _check_kept_pixels(columns: Columns) -> None:
  """Checks what goes with a cache of pixels."""
  if any(one.drafts for one in columns.recipe.each):
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
