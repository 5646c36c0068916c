"""The tf.data pipelines of a conversion: many samples at once, in order."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf._convert import exif, pillow
from liquid_tf._convert.geometry import Geometry
from liquid_tf._convert.graph import by_python, first_error
from liquid_tf._convert.sources import masks, reading
from liquid_tf._convert.sources.samples import SampleSource
from liquid_tf._native import ops
from liquid_tf._native.encoders import JPEG_INDEX
from liquid_tf._native.limits import Limits
from liquid_tf._store.manifest import FORMATS
from liquid_tf._store.mix import REMADE
from liquid_tf.transforms import Bits, Channels, Step

# Samples whose paths, or places, go into a pipeline at a time.
_CHUNK = 1024

# Samples that leave a pipeline together, at most, since to ask for each takes longer
# than to copy its file; and the bytes that they may take.
_TOGETHER = 32
_TOGETHER_BYTES = 16 << 20
# Of a file's bytes, those of its pixels, roughly.
_DECODED = 16

# Fields of an `Encoding`, and the format and option of each.
_OPTIONS = (
  ("jpeg_quality", "jpeg", "quality"),
  ("jpeg_index", "jpeg", "index"),
  ("jpeg_progressive", "jpeg", "progressive"),
  ("png_level", "png", "level"),
  ("webp_quality", "webp-lossy", "quality"),
  ("l3_effort", "l3-compact", "effort"),
)


@dataclasses.dataclass(frozen=True)
class Encoding:
  """Arguments of the encoders.

  Attributes:
    channels: of every stored image; None keeps each one's.
    bits: 8 or 16, likewise.
    jpeg_quality: 1 to 100.
    jpeg_index: "row", 16, 8 or "none", the entry points of a JPEG.
    jpeg_progressive: "keep", or "baseline" where progressive files become sequential.
    png_level: zlib's, 0 to 9.
    webp_quality: 0 to 100, of lossy WebP.
    l3_effort: "fast", "default" or "best", of L3's compact profile.
    geometry: where pixels are moved to before that.
    check: "pixels" where all images are decoded; "headers" where files are copied, of
      which only headers are read.
  """

  channels: int | None
  bits: int | None
  jpeg_quality: int
  jpeg_index: int | str
  jpeg_progressive: str
  png_level: int
  webp_quality: int
  l3_effort: str
  geometry: Geometry = Geometry()
  check: str = "pixels"

  @classmethod
  def of(
    cls,
    steps: Mapping[str, Step],
    options: Mapping[str, Mapping[str, Any]],
    geometry: Geometry | None = None,
    check: str = "pixels",
  ) -> "Encoding":
    """Takes what `transforms.by_slot` and `encoders.resolve` found."""
    channels, bits = steps.get("channels"), steps.get("bits")
    return cls(
      channels=channels and channels.count,
      bits=None if bits is None or bits.depth == "skip" else bits.depth,
      geometry=geometry or Geometry(),
      check=check,
      **{field: options[name][option] for field, name, option in _OPTIONS},
    )

  @property
  def record(self) -> dict[str, int | str | None]:
    """The encoders' arguments, as manifests and profiles say them."""
    result = dataclasses.asdict(self)
    del result["geometry"], result["check"]
    return result

  @property
  def transforms(self) -> tuple[Step, ...]:
    """As `convert` takes them."""
    pairs = ((Channels, self.channels), (Bits, self.bits))
    return tuple(step(value) for step, value in pairs if value is not None)

  @property
  def encoders(self) -> dict[str, dict[str, int | str]]:
    """As `convert` takes them."""
    result: dict[str, dict[str, int | str]] = {}
    for field, name, option in _OPTIONS:
      result.setdefault(name, {})[option] = getattr(self, field)
    return result

  @property
  def joins_scans(self) -> bool:
    """Whether JPEG files of several scans become files of one."""
    return self.jpeg_progressive == "baseline"


def _knows_pixels(source: SampleSource, encoding: Encoding) -> bool:
  """Whether the source says what images are after all that happens to them."""
  known = source.knows_pixels(encoding.channels, encoding.bits)
  return known and not encoding.geometry.moves and encoding.check == "pixels"


def _parallel(
  source: SampleSource, data: tf.data.Dataset, function: Callable, workers: int
) -> tf.data.Dataset:
  """Maps samples, loaded, and what comes with them; several at a time, in order.

  Args:
    source: where they are. A store's answers are waited for together.
    data: of columns of the source, and what else `function` takes.
    function: of a loaded sample.
    workers: samples at a time.
  """

  def load(columns, *more):
    return source.load(*columns), *more

  def whole(columns, *more):
    return function(*load(columns, *more))

  # There is nothing in them to convert, and of some AutoGraph has no source.
  load, whole, function = map(
    tf.autograph.experimental.do_not_convert, (load, whole, function)
  )
  threads = workers
  if source.is_remote:
    reads = reading.reads_at_once(int(source.sizes.max()))
    threads += reads
    data = data.map(load, num_parallel_calls=reads, deterministic=True)
    whole = function
  return _at_once(data, whole, workers, threads)


def _at_once(
  data: tf.data.Dataset, function: Callable, workers: int, threads: int
) -> tf.data.Dataset:
  """Maps elements, several at a time, in order."""
  options = tf.data.Options()
  options.autotune.enabled = False
  # One image inside one kernel is the unit of work; more threads than that only queue.
  options.threading.max_intra_op_parallelism = 1
  options.threading.private_threadpool_size = threads
  data = data.map(function, num_parallel_calls=workers, deterministic=True)
  return data.prefetch(1).with_options(options)


def _together(largest: int) -> int:
  """How many samples leave a pipeline together.

  Args:
    largest: bytes that one takes, at most.
  """
  return max(1, min(_TOGETHER, _TOGETHER_BYTES // max(largest, 1)))


def _each(data: tf.data.Dataset, together: int) -> Iterator[dict[str, Any]]:
  """Runs a pipeline, and yields its samples one by one, as NumPy has them.

  Args:
    data: of dicts.
    together: how many leave it together.
  """
  shapes = (spec.shape for spec in tf.nest.flatten(data.element_spec))
  # A ragged batch maps its samples, and tracing that takes longer than a few images do.
  equal = all(shape.is_fully_defined() for shape in shapes)
  batched = data.batch(together) if equal else data.ragged_batch(together)
  for batch in batched.as_numpy_iterator():
    for i in range(len(batch["error"])):
      yield {name: values[i] for name, values in batch.items()}


def _samples(
  source: SampleSource, positions: Sequence[int], targets: Sequence[str] | None, *more
) -> tf.data.Dataset:
  """Elements are what `source.load` needs, a tuple, and of `more` one each.

  Python is asked for a chunk of them at a time, so that few are in memory.
  """

  def chunk(begin: int, count: int = _CHUNK) -> tuple:
    part = slice(begin, begin + count)
    given = None if targets is None else targets[part]
    rest = tf.nest.map_structure(lambda one: one[part], more)
    return source.columns(positions[part], given), *rest

  if len(positions) <= _CHUNK:
    return tf.data.Dataset.from_tensor_slices(chunk(0))
  # What the columns are is seen by those of one sample.
  like = tf.data.Dataset.from_tensor_slices(chunk(0, 1)).element_spec
  flat = tf.nest.flatten(like)

  def arrays(begin: np.ndarray) -> list[np.ndarray]:
    return tf.nest.flatten(chunk(int(begin)))

  def tensors(begin: tf.Tensor) -> tuple:
    found = tf.numpy_function(arrays, [begin], [spec.dtype for spec in flat])
    for tensor, spec in zip(found, flat):
      tensor.set_shape([None, *spec.shape])
    return tf.nest.pack_sequence_as(like, found)

  chunks = tf.data.Dataset.range(0, len(positions), _CHUNK)
  tensors = tf.autograph.experimental.do_not_convert(tensors)
  return chunks.map(tensors).prefetch(1).unbatch()


def _with_orientation(loaded: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
  """A loaded sample, and its `orientation`, 1 to 8, inside a tf.data graph."""
  if "orientation" in loaded:
    return loaded
  orientation, example = ops.lib().liquid_orientation(
    contents=loaded["image"], example=loaded["example"]
  )
  return loaded | {"orientation": orientation, "example": example}


def _decodable(
  source: SampleSource, loaded: dict[str, tf.Tensor], encoding: Encoding
) -> dict[str, tf.Tensor]:
  """A sample as codecs and records take it, inside a tf.data graph.

  What `source.load` gives; and where pixels are asked for, and the source does not know
  them, an image that the codecs do not decode is a raw encoding of Pillow's pixels, and
  `by_pillow`.
  """
  if encoding.check == "headers" or _knows_pixels(source, encoding):
    return loaded | {"by_pillow": tf.constant(False)}
  image, by_pillow, error = pillow.decodable(loaded["image"], source.limits)
  error = first_error(loaded["error"], error)
  return loaded | {"image": image, "by_pillow": by_pillow, "error": error}


def _pages(contents: bytes) -> np.int64:
  return np.int64(pillow.pages(contents))


def scan(
  source: SampleSource, positions: Sequence[int], encoding: Encoding, workers: int
) -> Iterator[dict[str, Any]]:
  """Reads, identifies and decodes samples, or reads the headers alone.

  Args:
    source: where they are.
    positions: which.
    encoding: its geometry, channels and bits are those at which pixels are hashed.
    workers: samples at a time.

  Returns:
    Dicts, in the order of `positions`: `format` string, `shape` int64[3] and `bits` of
    the source's image, `changed_shape` int64[3] and `pixels_hash` of what becomes of
    it, 0 if it was not decoded, `orientation` of the source's, `by_pillow`, `pages` of
    a file that Pillow read, `labels` float32[k], `crc32c`, with masks `mask_shape`
    int64[3], `mask_bits`, `mask_hash`, `mask_crc32c`, and `error`, which is empty where
    the rest is right.
  """
  lib = ops.lib()
  limits = source.limits.attributes()
  geometry = encoding.geometry

  def scan_one(loaded):
    contents = loaded["image"]
    loaded = _decodable(source, _with_orientation(loaded), encoding)
    names = ("labels", "crc32c", "orientation", "by_pillow", "error")
    result = {key: loaded[key] for key in names}
    result["pages"] = tf.cond(
      loaded["by_pillow"] & tf.equal(loaded["error"], ""),
      lambda: by_python(_pages, [contents], tf.int64)[0],
      lambda: tf.constant(1, tf.int64),
    )
    if _knows_pixels(source, encoding):
      known = ("format", "shape", "bits", "pixels_hash")
      result |= {key: loaded[key] for key in known}
      result["changed_shape"] = loaded["shape"]
    else:
      found = lib.liquid_scan_image(
        contents=loaded["image"],
        **geometry.inputs(loaded["orientation"]),
        channels=encoding.channels or 0,
        target_bits=encoding.bits or 0,
        decode=encoding.check == "pixels",
        **limits,
      )
      error = first_error(loaded["error"], found.error)
      result |= found._asdict() | {"error": error}
    if source.has_masks:
      mask = lib.liquid_scan_image(
        contents=loaded["mask"],
        **geometry.inputs(loaded["orientation"], mask=True),
        **limits,
      )
      result |= {
        "mask_shape": mask.shape,
        "mask_bits": mask.bits,
        "mask_hash": mask.pixels_hash,
        "mask_crc32c": loaded["mask_crc32c"],
        "error": first_error(result["error"], mask.error),
      }
    return result

  data = _parallel(source, _samples(source, positions, None), scan_one, workers)
  # As few that an interrupted scan loses little.
  return _each(data, _together(_DECODED * int(source.sizes[positions].mean())))


def first_bytes(
  source: SampleSource, positions: Sequence[int], target: str, count: int, workers: int
) -> tf.data.Dataset:
  """Reads how encoded images begin.

  Args:
    source: where they are.
    positions: which.
    target: format, as in a mix, that each is wanted in where a source has several.
    count: bytes of each.
    workers: samples at a time.

  Returns:
    A dataset of scalar strings, in the order of `positions`; empty ones of images that
    cannot be read.
  """

  def begin(loaded):
    image = tf.where(tf.equal(loaded["error"], ""), loaded["image"], "")
    return tf.strings.substr(image, 0, count)

  samples = _samples(source, positions, [target] * len(positions))
  return _parallel(source, samples, begin, workers)


def _stored_as(
  loaded: dict[str, tf.Tensor],
  target: tf.Tensor,
  encoding: Encoding,
  limits: Limits,
  known: bool,
) -> tuple[tf.Tensor, ...]:
  """The image in the format `target`: (encoded, shape, bits, pixels_hash, error)."""

  def transcode():
    return tuple(
      ops.lib().liquid_transcode_image(
        contents=loaded["image"],
        target=target,
        **encoding.geometry.inputs(loaded["orientation"]),
        channels=encoding.channels or 0,
        target_bits=encoding.bits or 0,
        png_level=encoding.png_level,
        jpeg_quality=encoding.jpeg_quality,
        jpeg_one_scan=encoding.joins_scans,
        webp_quality=encoding.webp_quality,
        l3_effort=encoding.l3_effort,
        **limits.attributes(),
      )
    )

  if not known:
    return transcode()

  # Its record's checksum was right, so its pixels are what the index says.
  def copy():
    known = ("image", "shape", "bits", "pixels_hash", "error")
    return tuple(loaded[key] for key in known)

  same = tf.equal(loaded["format"], target) & tf.reduce_all(
    tf.not_equal(target, REMADE)
  )
  return tf.cond(same & _stays(loaded["image"], target, encoding), copy, transcode)


def _stays(image: tf.Tensor, target: tf.Tensor, encoding: Encoding) -> tf.Tensor:
  """Whether a file of the format that it is to have stays as it is."""
  if not encoding.joins_scans:
    return tf.constant(True)
  scans = ops.lib().liquid_has_jpeg_scans(contents=image)
  return tf.not_equal(target, "jpeg") | tf.logical_not(scans)


def copies(
  scanned: np.ndarray, targets: Sequence[str], encoding: Encoding
) -> dict[str, np.ndarray]:
  """Says which files are copied while they are what was scanned, and what they are.

  Args:
    scanned: shape [n], SCAN_DTYPE.
    targets: name of each record's format.
    encoding: with what happens to images before they are stored.

  Returns:
    Arrays of n: `may` be copied, and `crc32c`, `shape`, `bits` and `pixels_hash`.
  """
  may = ~scanned["by_pillow"] & (not encoding.geometry.moves)
  may &= np.array(FORMATS)[scanned["format"]] == np.array(targets)
  may &= ~np.isin(targets, REMADE)
  for field in ("channels", "bits"):
    may &= scanned[field] == scanned[f"source_{field}"]
  sides = [scanned[side].astype(np.int64) for side in ("height", "width", "channels")]
  return {
    "may": may,
    "crc32c": scanned["crc32c"].astype(np.int64),
    "shape": np.stack(sides, axis=-1),
    "bits": scanned["bits"].astype(np.int32),
    "pixels_hash": scanned["pixels_hash"].astype(np.int64),
  }


def reindexed(
  path: str, rows: np.ndarray, index: int | str, workers: int
) -> Iterator[dict[str, Any]]:
  """Reads records of jpeg and makes them anew with other entry points.

  Args:
    path: of their shard.
    rows: shape [n], INDEX_DTYPE, their rows of the dataset's index.
    index: "row", 16, 8 or "none".
    workers: samples at a time.

  Returns:
    Dicts, in the order of `rows`: `stored`, `stored_crc32c` and `index_bytes` as of
    `encode`; `crc32c` of what was read, and `error`, which is empty where the rest is
    right.
  """

  def reindex(row):
    read = ops.lib().liquid_read_sample(
      path=path, offset=row["offset"], length=row["length"]
    )
    sample = row["sample"]
    framed = _framed(read.image, read.labels, sample, read.example, index, Limits())
    return framed | {"crc32c": read.crc32c, "error": read.error}

  columns = {
    name: rows[name].astype(np.int64) for name in ("offset", "length", "sample")
  }
  data = tf.data.Dataset.from_tensor_slices(columns)
  function = tf.autograph.experimental.do_not_convert(reindex)
  data = _at_once(data, function, workers, workers)
  return _each(data, _together(int(rows["length"].max(initial=0))))


def _framed(
  image: tf.Tensor,
  labels: tf.Tensor,
  sample: tf.Tensor,
  example: tf.Tensor,
  index: int | str,
  limits: Limits,
) -> dict[str, tf.Tensor]:
  """A record: `stored`, `stored_crc32c` and `index_bytes` as of `encode`."""
  packed = ops.lib().liquid_pack_record(
    image=image,
    labels=labels,
    id=sample,
    example=example,
    jpeg_index=JPEG_INDEX[index],
    **limits.attributes(),
  )
  return {
    "stored": packed.framed,
    "stored_crc32c": ops.lib().liquid_crc32c(contents=packed.framed, crc=0),
    "index_bytes": packed.index_bytes,
  }


def encode(
  source: SampleSource,
  positions: Sequence[int],
  targets: Sequence[str],
  ids: np.ndarray,
  encoding: Encoding,
  workers: int,
  scanned: np.ndarray | None = None,
) -> Iterator[dict[str, Any]]:
  """Reads samples and makes records of them.

  A file that is in its format already is copied: its bytes have the checksum of those
  that were scanned, so they decode to the same pixels.

  Args:
    source: where they are.
    positions: which.
    targets: name of each record's format, as in a mix.
    ids: shape [n], sample numbers.
    encoding: what the encoders are given.
    workers: samples at a time.
    scanned: shape [n], SCAN_DTYPE, what the scan found; None where there was none.

  Returns:
    Dicts, in the order of `positions`: `stored` string, a framed record, or for pcr a
    progressive JPEG file whose `example` goes elsewhere, `stored_crc32c`, and the
    `index_bytes` in a record; `labels`
    float32[k]; `shape` int64[3], `bits` and `pixels_hash` of what the encoding decodes
    to; `crc32c` and `mask_crc32c` of what was read, `mask_hash`; and `error`.
  """
  lib = ops.lib()
  known = _knows_pixels(source, encoding)
  geometry = encoding.geometry

  def transcoded(loaded, target):
    *made, error = _stored_as(loaded, target, encoding, source.limits, known)
    return *made, first_error(loaded["error"], error)

  def copied(loaded, copy):
    seen = (copy[name] for name in ("shape", "bits", "pixels_hash"))
    return loaded["image"], *seen, loaded["error"]

  def encode_one(loaded, target, sample, copy=None):
    loaded = _with_orientation(loaded)
    if copy is None:
      loaded = _decodable(source, loaded, encoding)
      made = transcoded(loaded, target)
    else:
      made = tf.cond(
        copy["may"]
        & tf.equal(loaded["crc32c"], copy["crc32c"])
        & _stays(loaded["image"], target, encoding),
        lambda: copied(loaded, copy),
        lambda: transcoded(_decodable(source, loaded, encoding), target),
      )
    encoded, shape, bits, pixels_hash, error = made
    example, example_error = geometry.moved(
      loaded["example"], loaded["image"], loaded["orientation"], source.limits
    )
    result = {
      "labels": loaded["labels"],
      "shape": shape,
      "bits": bits,
      "pixels_hash": pixels_hash,
      "crc32c": loaded["crc32c"],
      "error": first_error(error, example_error),
    }
    if source.has_masks:
      # Class numbers are flat: mostly the first one is smaller, and it is faster.
      compact, png = (
        lib.liquid_transcode_image(
          contents=loaded["mask"],
          target=target,
          **geometry.inputs(loaded["orientation"], mask=True),
          png_level=encoding.png_level,
          l3_effort=encoding.l3_effort,
          **source.limits.attributes(),
        )
        for target in masks.FORMATS
      )
      sizes = tf.strings.length([compact.encoded, png.encoded])
      smaller = tf.where(sizes[0] <= sizes[1], compact.encoded, png.encoded)
      [mask] = by_python(masks.mask_example, [smaller], tf.string)
      # Serialized messages one after another are their union.
      example = mask + example
      result |= {
        "mask_crc32c": loaded["mask_crc32c"],
        "mask_hash": png.pixels_hash,
        "error": first_error(result["error"], compact.error, png.error),
      }
    # A failed sample has no image, and a record without one no example.
    example = tf.where(tf.equal(result["error"], ""), example, b"")
    result |= _framed(
      encoded, loaded["labels"], sample, example, encoding.jpeg_index, source.limits
    )
    if "pcr" in targets:
      is_pcr = tf.equal(target, "pcr")
      result["stored"] = tf.where(is_pcr, encoded, result["stored"])
      result["stored_crc32c"] = lib.liquid_crc32c(contents=result["stored"], crc=0)
      result["example"] = example
    return result

  more = [np.array(targets, object), ids]
  # One that is too long for a record ends a pipeline: it is alone, so that it is known.
  largest = _TOGETHER_BYTES
  if scanned is not None:
    may_copy = copies(scanned, targets, encoding)
    pixel_bytes = may_copy["shape"].prod(axis=-1) * may_copy["bits"] // 8
    largest = int((source.sizes[positions] + pixel_bytes).max())
    if may_copy["may"].any() and not known:
      more.append(may_copy)
  data = _samples(source, positions, targets, *more)
  data = _parallel(source, data, encode_one, workers)
  return _each(data, _together(largest))


def _oriented(image: tf.Tensor, name: tf.Tensor, orientation: tf.Tensor) -> tf.Tensor:
  """The file with its orientation in EXIF, where it states another and has room."""
  stated = ops.lib().liquid_orientation(contents=image, example=b"").orientation
  has_room = tf.reduce_any(tf.equal(name, exif.FORMATS)) & tf.not_equal(image, b"")

  def add():
    [added] = by_python(
      lambda file, name, value: exif.with_orientation(file, name.decode(), int(value)),
      [image, name, orientation],
      tf.string,
    )
    return added

  return tf.cond(has_room & tf.not_equal(stated, orientation), add, lambda: image)


def export(
  source: SampleSource,
  positions: Sequence[int],
  image_format: str | None,
  encoding: Encoding,
  workers: int,
) -> tf.data.Dataset:
  """Reads samples of a dataset and gives their images formats that others read.

  Args:
    source: a dataset's, which knows its pixels.
    positions: which.
    image_format: of every image; None copies PNG and JPEG, also the JPEG files of the
      format pcr, and makes PNG of all others.
    encoding: what the encoders are given.
    workers: samples at a time.

  Returns:
    A dataset of dicts, in the order of `positions`: `image` and `format` string,
    `shape` int64[3], `labels` float32[k], `example` string, `orientation`, which an
    image states in its EXIF where its format has room, and `error`, which is empty
    where the rest is right.
  """

  def export_one(loaded):
    loaded = _decodable(source, _with_orientation(loaded), encoding)
    if image_format is None:
      stored = loaded["format"]
      kept = tf.reduce_any(tf.equal(stored, ["png", "jpeg"]))
      other = tf.where(tf.equal(stored, "pcr"), "jpeg", "png")
      target = tf.where(kept, stored, other)
    else:
      target = tf.constant(image_format)
    image, shape, _, _, error = _stored_as(
      loaded, target, encoding, source.limits, known=True
    )
    orientation = loaded["orientation"]
    return {
      "image": _oriented(image, target, orientation),
      "format": target,
      "shape": shape,
      "labels": loaded["labels"],
      "example": loaded["example"],
      "orientation": orientation,
      "error": first_error(loaded["error"], error),
    }

  # Of several encodings, PNG needs the least work.
  wanted = [image_format or "png"] * len(positions)
  return _parallel(source, _samples(source, positions, wanted), export_one, workers)
