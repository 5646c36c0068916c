"""Data sets in folders and the caches of Hugging Face's libraries, read as they are.

  DATASETS/ORG___NAME/CONFIG/VERSION/HASH/  what `datasets` prepared: NAME-SPLIT.arrow
                                            or its parts, and dataset_info.json
  HUB/datasets--ORG--NAME/snapshots/REVISION/  what was downloaded: Parquet files

Their environment variables say where both are. Nothing is downloaded. Folders are read
where they are, too: those of `save_to_disk`, and clones of the hub.

  FOLDER/  state.json, which names its files, and dataset_info.json
  FOLDER/  dataset_dict.json, which names splits, each a folder as above
"""

import json
import os
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from liquid_tf._convert.sources import image_files
from liquid_tf._convert.sources.arrow import arrow_rows
from liquid_tf._convert.sources.arrow_rows import Rows
from liquid_tf._convert.sources.examples import ExampleNames
from liquid_tf._convert.sources.iterable import Unlisted
from liquid_tf._convert.sources.left_out import missing_parts
from liquid_tf._convert.sources.parquet import EXTENSIONS, ParquetFile
from liquid_tf._convert.sources.samples import DEFAULT_SPLIT, SPLITS, splits_of_files
from liquid_tf._store import text_file
from liquid_tf._words import argument, few
from liquid_tf.errors import ConvertError

PREFIX = "hf:"
INFO = "dataset_info.json"

_DICT, _STATE = "dataset_dict.json", "state.json"
_DEFAULT = "default"
# What says nothing of a split, as "train+test" and "train[:10%]".
_SPLIT = re.compile(r"\w+")
_PART = re.compile(r"(\w+)-\d+-of-\d+.*")


class Cached(NamedTuple):
  """A data set in a cache.

  Attributes:
    folder: of all its files.
    paths: of the files of rows.
    splits: the split of each.
    counts: how many rows each split must have, where that is known.
  """

  folder: str
  paths: list[str]
  splits: list[str]
  counts: dict[str, int]


def _caches() -> tuple[str, str]:
  """The folders of what was prepared, and of what was downloaded."""
  environment = os.environ
  caches = environment.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
  home = environment.get("HF_HOME") or os.path.join(caches, "huggingface")
  prepared = environment.get("HF_DATASETS_CACHE") or os.path.join(home, "datasets")
  hub = environment.get("HF_HUB_CACHE") or os.path.join(home, "hub")
  expanded = (os.path.expanduser(os.path.expandvars(path)) for path in (prepared, hub))
  return tuple(map(os.path.abspath, expanded))


def _folders(path: str) -> list[str]:
  """Names of the folders in one, sorted; none where there is none."""
  try:
    return sorted(entry.name for entry in os.scandir(path) if entry.is_dir())
  except (FileNotFoundError, NotADirectoryError):
    return []


def _choose(name: str, folder: str, given: str | None, configs: Sequence[str]) -> str:
  """The configuration that is meant: the given one, or the only one, or `default`."""
  if given is None and len(configs) == 1:
    return configs[0]
  wanted = _DEFAULT if given is None else given
  if wanted in configs:
    return wanted
  raise ConvertError(
    f"{argument('source', PREFIX + name)}: {folder} has the configurations "
    f"{few(configs, 10)}: choose one, as {PREFIX}{name}/{configs[0]}"
  )


def _version(name: str) -> list[int]:
  return [int(number) for number in re.findall(r"\d+", name)]


def _find_prepared(cache: str, name: str, config: str | None) -> Cached | None:
  """Finds what `datasets` prepared; None where there is none."""

  def plain(text: str) -> str:
    # Its folders are in lower case, with underscores between words.
    return text.lower().replace("_", "")

  wanted = plain(name.replace("/", "___"))
  every = [entry for entry in _folders(cache) if plain(entry) == wanted]
  found: dict[str, list[tuple[list[int], int, str]]] = {}
  for one in every:
    for chosen in _folders(os.path.join(cache, one)):
      for version in _folders(os.path.join(cache, one, chosen)):
        below = os.path.join(cache, one, chosen, version)
        for made in _folders(below):
          path = os.path.join(below, made)
          if os.path.isfile(os.path.join(path, INFO)):
            time = os.stat(path).st_mtime_ns
            found.setdefault(chosen, []).append((_version(version), time, path))
  if not found:
    return None
  chosen = _choose(name, os.path.join(cache, every[0]), config, sorted(found))
  return _prepared(max(found[chosen])[2])


def _prepared(folder: str) -> Cached:
  """The files of a prepared data set."""
  path = os.path.join(folder, INFO)
  try:
    info = json.loads(text_file.read(path))
    prefix = info.get("dataset_name") or info["builder_name"]
    splits = {name: int(one["num_examples"]) for name, one in info["splits"].items()}
  except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
    raise ConvertError(
      f"{path} cannot be read ({type(error).__name__}: {error}): prepare the data set "
      "again"
    ) from error
  result = Cached(folder, [], [], splits)
  for split, count in splits.items():
    name = re.compile(re.escape(f"{prefix}-{split}") + r"(-\d+-of-\d+)?\.arrow")
    files = sorted(entry for entry in os.listdir(folder) if name.fullmatch(entry))
    if count and not files:
      raise ConvertError(
        f"{folder} has no file {prefix}-{split}.arrow, which {INFO} names: prepare the "
        "data set again"
      )
    result.paths.extend(os.path.join(folder, file) for file in files)
    result.splits.extend([split] * len(files))
  return result


def _find_downloaded(cache: str, name: str, config: str | None) -> Cached | None:
  """Finds what was downloaded from the hub; None where there is none."""
  folder = os.path.join(cache, "--".join(["datasets", *name.split("/")]))
  below = os.path.join(folder, "snapshots")
  every = _folders(below)
  if not every:
    return None
  main = os.path.join(folder, "refs", "main")
  revision = text_file.read(main).strip() if os.path.isfile(main) else ""
  if revision not in every:
    revision = max(every, key=lambda one: os.stat(os.path.join(below, one)).st_mtime_ns)
  root = os.path.join(below, revision)
  configs = _configurations(root)
  if not configs:
    raise ConvertError(
      f"{argument('source', PREFIX + name)}: {root} has no Parquet files; "
      f'datasets.load_dataset("{name}") prepares what it has'
    )
  paths = configs[_choose(name, root, config, sorted(configs))]
  return Cached(root, paths, _splits(paths), {})


def _configurations(root: str) -> dict[str, list[str]]:
  """The Parquet files below a folder, by the configuration that they are of."""
  configs: dict[str, list[str]] = {}
  for path, folders, files in os.walk(root):
    folders[:] = sorted(name for name in folders if not name.startswith("."))
    for file in sorted(files):
      if file.lower().endswith(EXTENSIONS):
        configs.setdefault(_config_of(os.path.relpath(path, root)), []).append(
          os.path.join(path, file)
        )
  return configs


def _config_of(folder: str) -> str:
  """The configuration that a folder is of."""
  parts = folder.split(os.sep)
  if parts[-1] in SPLITS:
    parts = parts[:-1]
  return _DEFAULT if parts in ([], ["."], ["data"]) else "/".join(parts)


def _splits(paths: Sequence[str]) -> list[str]:
  """The split of each file: by its name, as SPLIT-00000-of-00002, or its folder."""
  names = []
  for path in paths:
    folder, name = os.path.split(path)
    split = os.path.basename(folder)
    names.append(f"{split}-{name}" if split in SPLITS else name)
  parts = [_PART.fullmatch(name) for name in names]
  if None not in parts:
    return [match[1] for match in parts]
  splits, split_of = splits_of_files(paths, in_folders=True)
  return [splits[number] for number in split_of]


def find(name: str) -> Cached:
  """Finds NAME, ORG/NAME, or either with /CONFIG behind it.

  What was prepared goes before what was downloaded.

  Raises:
    ConvertError: no cache has it, or a configuration must be chosen.
  """
  parts = name.split("/")
  if not 1 <= len(parts) <= 3 or not all(parts) or {".", ".."} & set(parts):
    raise ConvertError(
      f"{argument('source', PREFIX + name)} must be {PREFIX}NAME or {PREFIX}ORG/NAME, "
      "with or without /CONFIG"
    )
  prepared, hub = _caches()
  meant = [(name, None)] if len(parts) < 3 else []
  meant += [("/".join(parts[:-1]), parts[-1])] if len(parts) > 1 else []
  for whole, config in meant:
    for look, cache in ((_find_prepared, prepared), (_find_downloaded, hub)):
      found = look(cache, whole, config)
      if found is not None:
        return found
  raise ConvertError(
    f"{argument('source', PREFIX + name)} is neither in {prepared} nor in {hub}: "
    f'prepare it with datasets.load_dataset("{meant[0][0]}"), or say where it is with '
    "the environment variable HF_HOME"
  )


def find_in(folder: str) -> Cached | None:
  """Finds what `save_to_disk` wrote into a folder, or a clone of the hub's files.

  Args:
    folder: a local one.

  Returns:
    The data set, or None where the folder is neither.

  Raises:
    ConvertError: files that it names cannot be read, or are not there.
  """
  path = os.path.join(folder, _DICT)
  if os.path.isfile(path):
    splits = _read_json(path, lambda told: list(map(str, told["splits"])))
    result = Cached(folder, [], [], {})
    for split in splits:
      paths, _ = _saved(os.path.join(folder, split))
      result.paths.extend(paths)
      result.splits.extend([split] * len(paths))
    return _with_files(result)
  if all(os.path.isfile(os.path.join(folder, name)) for name in (_STATE, INFO)):
    paths, split = _saved(folder)
    return _with_files(Cached(folder, paths, [split] * len(paths), {}))
  if not _is_of_parquet(folder):
    return None
  configs = _configurations(folder)
  if len(configs) > 1:
    raise ConvertError(
      f"{argument('source', folder)} has the configurations "
      f"{few(sorted(configs), 10)}: give the files of one, as "
      f'"{os.path.dirname(min(configs.values())[0])}/*.parquet"'
    )
  (paths,) = configs.values()
  return Cached(folder, paths, _splits(paths), {})


def _read_json(path: str, take: Callable[[Any], Any]) -> Any:
  try:
    return take(json.loads(text_file.read(path)))
  except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
    raise ConvertError(
      f"{path} cannot be read ({type(error).__name__}: {error}): save the data set "
      "again"
    ) from error


def _with_files(found: Cached) -> Cached:
  if not found.paths:
    raise ConvertError(f"{argument('source', found.folder)} has no rows")
  return found


def _saved(folder: str) -> tuple[list[str], str]:
  """The files that `save_to_disk` lists in a folder, and their split."""

  def take(told: Any) -> tuple[list[str], str]:
    names = [one["filename"] for one in told["_data_files"]]
    for name in names:
      if name != os.path.basename(name):
        raise ValueError(f"{name!r} is no name of a file")
    split = told.get("_split") or ""
    named = os.path.basename(folder)
    other = named if named in SPLITS else DEFAULT_SPLIT
    return names, split if _SPLIT.fullmatch(split) else other

  state = os.path.join(folder, _STATE)
  names, split = _read_json(state, take)
  lacking = [n for n in names if not os.path.isfile(os.path.join(folder, n))]
  if lacking:
    raise ConvertError(
      f"{folder} has no file {lacking[0]}, which {_STATE} names: save the data set "
      "again"
    )
  return [os.path.join(folder, name) for name in names], split


def _is_of_parquet(folder: str) -> bool:
  """Whether a folder has Parquet files below it, and no images."""
  found, left = False, [folder]
  while left:
    try:
      with os.scandir(left.pop()) as entries:
        for entry in entries:
          if entry.name.startswith("."):
            continue
          if entry.is_dir(follow_symlinks=False):
            left.append(entry.path)
            continue
          # The first image of a large folder ends the search.
          if image_files.is_named_so(os.fsencode(entry.name)):
            return False
          name = entry.name.lower()
          # A table beside images has a name that says so.
          found |= name.endswith(EXTENSIONS) and not name.startswith("metadata.")
    except OSError:
      # Who lists images says which folder cannot be read.
      return False
  return found


def list_hugging_face(cached: Cached, named: str, names: ExampleNames) -> Unlisted:
  """Lists a data set in a cache.

  Args:
    cached: its files.
    named: the source, for people.
    names: of columns that the user chose.

  Raises:
    ConvertError: a file cannot be read, or what its columns are is not clear.
    ImportError: pyarrow is not installed.
  """
  if not cached.paths[0].lower().endswith(EXTENSIONS):
    rows = arrow_rows(cached.paths, names, cached.splits, named)
  else:
    files = [ParquetFile(path) for path in cached.paths]
    rows = Rows(files, names, cached.splits, named)
  for split, count in cached.counts.items():
    both = zip(rows.files, cached.splits)
    found = sum(file.rows for file, of in both if of == split)
    if found != count:
      raise ConvertError(
        f"{cached.folder} has {found} rows of {split}, and its {INFO} says {count}: "
        "prepare the data set again"
      )
  result = rows.unlisted("huggingface")
  count = -(-rows.count // len(cached.paths))
  result.skipped.extend(missing_parts(cached.paths, count))
  return result
