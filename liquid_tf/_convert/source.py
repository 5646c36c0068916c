"""Which files a source consists of, and what folders say about them."""

import dataclasses
import os
from collections.abc import Iterator

from liquid_tf._convert.errors import ConvertError

# Top folders of these names, and no others, are splits. In this order.
SPLITS = ("train", "val", "valid", "validation", "test")
DEFAULT_SPLIT = "train"


@dataclasses.dataclass(frozen=True)
class SourceFile:
  """One image file.

  Attributes:
    path: below the source, with "/" between folders.
    size: bytes.
    mtime_ns: when it was last changed.
    split: name of its split.
    label: position of its class in `Source.classes`; -1 without classes.
    mask: path of its mask below the masks; "" without masks.
    mask_size: bytes of the mask.
    mask_mtime_ns: when the mask was last changed.
  """

  path: str
  size: int
  mtime_ns: int
  split: str
  label: int = -1
  mask: str = ""
  mask_size: int = 0
  mask_mtime_ns: int = 0


@dataclasses.dataclass(frozen=True)
class Source:
  """A listed source.

  Attributes:
    root: its folder.
    masks: the folder of the masks, or None.
    kind: "folders", "masks" or "images".
    classes: sorted names, or None.
    splits: names in order.
    files: ascending by the bytes of `path`.
    skipped: (path, reason) of files that cannot be samples.
  """

  root: str
  masks: str | None
  kind: str
  classes: list[str] | None
  splits: list[str]
  files: list[SourceFile]
  skipped: list[tuple[str, str]]


@dataclasses.dataclass(frozen=True)
class _Entry:
  path: str
  size: int
  mtime_ns: int


def _bytes(path: str) -> bytes:
  return os.fsencode(path)


def _scan(folder: str) -> list[os.DirEntry]:
  try:
    with os.scandir(folder) as entries:
      return sorted(entries, key=lambda entry: _bytes(entry.name))
  except OSError as error:
    raise ConvertError(f"cannot list {folder}: {error.strerror}") from error


def _walk(
  root: str, below: str, skipped: list[tuple[str, str]], parents: tuple[str, ...] = ()
) -> Iterator[_Entry]:
  """Yields every visible file under root/below; follows links, but not in circles."""
  folder = os.path.join(root, below)
  real = os.path.realpath(folder)
  if real in parents:
    skipped.append((below, "is a link to a folder above it"))
    return
  for entry in _scan(folder):
    path = f"{below}/{entry.name}" if below else entry.name
    if entry.name.startswith("."):
      skipped.append((path, "is hidden"))
    elif entry.is_dir():
      yield from _walk(root, path, skipped, (*parents, real))
    elif entry.is_file():
      stat = entry.stat()
      yield _Entry(path, stat.st_size, stat.st_mtime_ns)
    else:
      skipped.append((path, "is not a file"))


def _is_inside(path: str, folder: str) -> bool:
  return os.path.commonpath([path, folder]) == folder


def check_places(source: str, masks: str | None, output: str) -> None:
  """Raises ConvertError unless source, masks and output are apart from each other."""
  for name, folder in (("source", source), ("masks", masks)):
    if folder is None:
      continue
    if not os.path.isdir(folder):
      raise ConvertError(f'{name} ("{folder}") must be an existing folder')
    real, real_output = os.path.realpath(folder), os.path.realpath(output)
    if _is_inside(real_output, real):
      raise ConvertError(f'output ("{output}") must not be inside {name} ("{folder}")')
    if _is_inside(real, real_output):
      raise ConvertError(f'{name} ("{folder}") must not be inside output ("{output}")')
  if masks is not None:
    real, real_masks = os.path.realpath(source), os.path.realpath(masks)
    if _is_inside(real_masks, real) or _is_inside(real, real_masks):
      raise ConvertError(
        f'masks ("{masks}") and source ("{source}") must be folders side by side'
      )


def _folders(entries: list[os.DirEntry]) -> list[str]:
  return [e.name for e in entries if e.is_dir() and not e.name.startswith(".")]


def _pair_masks(
  files: list[tuple[str, _Entry]], masks: str, skipped: list[tuple[str, str]]
) -> list[SourceFile]:
  """Gives each image the mask of the same path, extension aside."""
  by_stem: dict[str, _Entry] = {}
  for entry in _walk(masks, "", skipped):
    stem = os.path.splitext(entry.path)[0]
    if stem in by_stem:
      raise ConvertError(
        f'masks ("{masks}") must hold one mask an image, but has '
        f"{by_stem[stem].path} and {entry.path}"
      )
    by_stem[stem] = entry
  result, used = [], set()
  for split, image in files:
    stem = os.path.splitext(image.path)[0]
    mask = by_stem.get(stem)
    if mask is None:
      skipped.append((image.path, "has no mask"))
      continue
    used.add(stem)
    result.append(
      SourceFile(
        path=image.path,
        size=image.size,
        mtime_ns=image.mtime_ns,
        split=split,
        mask=mask.path,
        mask_size=mask.size,
        mask_mtime_ns=mask.mtime_ns,
      )
    )
  for stem, mask in by_stem.items():
    if stem not in used:
      name = os.path.basename(os.path.abspath(masks))
      skipped.append((f"{name}/{mask.path}", "is a mask without an image"))
  return result


def list_source(root: str, masks: str | None = None) -> Source:
  """Lists a folder of class folders, of images, or of images with masks.

  Args:
    root: the folder. If it holds folders named as in SPLITS and nothing else visible,
      each of them is a split.
    masks: a folder with a mask for each image, at the same path with any extension.

  Returns:
    The source. Files that cannot be samples are in `skipped`, none is left out.

  Raises:
    ConvertError: a folder cannot be read, or its layout is ambiguous.
  """
  skipped: list[tuple[str, str]] = []
  top = [entry for entry in _scan(root) if not entry.name.startswith(".")]
  names = [entry.name for entry in top]
  has_splits = bool(names) and all(
    entry.is_dir() and entry.name in SPLITS for entry in top
  )
  splits = [name for name in SPLITS if name in names] if has_splits else [DEFAULT_SPLIT]
  below = {name: name if has_splits else "" for name in splits}

  classes = None
  if masks is None:
    found = {
      split: _folders(_scan(os.path.join(root, folder)))
      for split, folder in below.items()
    }
    if any(found.values()):
      without = [split for split, folders in found.items() if not folders]
      if without:
        raise ConvertError(
          f'source ("{root}"): every split must hold class folders, but '
          f"{', '.join(without)} holds none"
        )
      classes = sorted(
        {name for folders in found.values() for name in folders}, key=_bytes
      )
  labels = {name: label for label, name in enumerate(classes or [])}

  files: list[tuple[str, _Entry]] = []
  result: list[SourceFile] = []
  for split, folder in below.items():
    for entry in _walk(root, folder, skipped):
      inner = entry.path[len(folder) + 1 :] if folder else entry.path
      if classes is None:
        files.append((split, entry))
      elif "/" not in inner:
        skipped.append((entry.path, "is in no class folder"))
      else:
        result.append(
          SourceFile(
            path=entry.path,
            size=entry.size,
            mtime_ns=entry.mtime_ns,
            split=split,
            label=labels[inner.split("/", 1)[0]],
          )
        )
  if masks is not None:
    result = _pair_masks(files, masks, skipped)
  elif classes is None:
    result = [
      SourceFile(entry.path, entry.size, entry.mtime_ns, split)
      for split, entry in files
    ]
  if not result:
    reasons = "; ".join(f"{path} {reason}" for path, reason in skipped[:3])
    raise ConvertError(
      f'source ("{root}") holds no image files{": " + reasons if reasons else ""}'
    )
  kind = "masks" if masks is not None else "images" if classes is None else "folders"
  return Source(
    root=root,
    masks=masks,
    kind=kind,
    classes=classes,
    splits=splits,
    files=sorted(result, key=lambda file: _bytes(file.path)),
    skipped=skipped,
  )
