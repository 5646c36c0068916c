"""The steps by which a folder of a store becomes a dataset.

A store cannot exchange two folders. So a mark, an object of the journal's name, says
that a dataset is unfinished; the old manifests go before the first file comes, and the
new one comes last.
"""

from collections.abc import Iterable

from liquid_tf._convert import output as outputs
from liquid_tf._convert.stores.store import Store
from liquid_tf._store import versions
from liquid_tf._store.manifest import JOURNAL
from liquid_tf._words import setting
from liquid_tf.errors import ConvertError

_MARK = b"A conversion or a copy is under way.\n"


def check(store: Store, resume: bool, overwrite: bool) -> bool:
  """Looks whether a folder may become a dataset; changes nothing.

  Returns:
    Whether it holds a finished dataset already, with `resume`.

  Raises:
    ConvertError: it holds something that must not be touched.
  """
  names = store.files.keys()
  finished = bool(_manifests(names))
  if names and not (resume or overwrite):
    if finished:
      raise ConvertError(
        f"{store.url} already holds a dataset: {setting('existing', 'replace')} "
        "replaces it"
      )
    raise ConvertError(
      f"{store.url} must not exist, be empty, or with "
      f"{setting('existing', 'resume')} hold what an interrupted conversion or copy "
      f"left, but holds {min(names)}: choose another"
    )
  foreign = sorted(name for name in names if not outputs.is_ours(name))
  if foreign:
    raise ConvertError(
      f"{store.url} holds {foreign[0]}, which is of no dataset: choose another"
    )
  return finished and resume


def is_finished(store: Store) -> bool:
  """Whether a folder holds a dataset."""
  return bool(_manifests(store.files))


def begin(store: Store, replaces: bool) -> None:
  """Makes an unfinished dataset of a folder that was checked.

  Args:
    store: the folder.
    replaces: whether a dataset that is there may go.

  Raises:
    ConvertError: one is there that may not.
    OSError: the store refuses.
  """
  old = _manifests(store.files)
  if old and not replaces:
    raise holds_another(store.url)
  if JOURNAL not in store.files:
    store.put(_MARK, JOURNAL)
  # The newest last, which opens until then.
  for name in old:
    store.remove(name)


def end(store: Store, names: Iterable[str], name: str, manifest: bytes) -> None:
  """Makes a dataset of a folder that has its files, and removes all others.

  Args:
    store: the folder.
    names: of the files.
    name: of the manifest.
    manifest: its text.

  Raises:
    OSError: the store refuses.
  """
  version = versions.of_manifest(name)
  keep = {*names, name, JOURNAL}
  if version != 1:
    keep.add(versions.LIST)
  for other in sorted((store.files.keys() | store.begun) - keep):
    if outputs.is_ours(other):
      store.remove(other)
  if name not in store.files:
    if version != 1:
      store.put(versions.encode_list([version]), versions.LIST)
    store.put(manifest, name)
  if JOURNAL in store.files:
    store.remove(JOURNAL)


def holds_another(url: str) -> ConvertError:
  """The error for a dataset that is there and is not this one."""
  return ConvertError(
    f"{url} already holds another dataset: {setting('existing', 'replace')} replaces it"
  )


def _manifests(names: Iterable[str]) -> list[str]:
  """Manifests among names, the newest last."""
  found = filter(None, map(versions.of_manifest, names))
  return [versions.manifest_file(version) for version in sorted(found)]
