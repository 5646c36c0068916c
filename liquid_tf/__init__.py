"""Image datasets that keep each sample in the format that suits the machine.

One dataset holds its samples in several formats at once, in a mix that balances
disk and processors; a native tf.data pipeline draws every batch with the same
composition and the same number of cache hits (Liquid, APSys '23).
"""

import lazy_loader

from liquid_tf import _extras

# __init__.pyi has the names, for type checkers too. Each is imported when it is used,
# since TensorFlow takes seconds to import, and a command's --help needs none of it.
_attribute, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
  with _extras.explained():
    return _attribute(name)
