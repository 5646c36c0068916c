"""Opens the store of a URL."""

from liquid_tf._convert.stores.file_system_store import FileSystemStore
from liquid_tf._convert.stores.s3_store import S3Store
from liquid_tf._convert.stores.store import Store
from liquid_tf._store import schemes


def open_store(url: str) -> Store:
  """Lists a folder of a store, which need not be there.

  Raises:
    ImportError: a library for it is not installed.
    OSError: the store does not answer, or refuses.
  """
  if schemes.is_s3(url):
    return S3Store(url)
  return FileSystemStore(url)
