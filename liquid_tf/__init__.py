"""Image datasets that keep each sample in the format that suits the machine.

One dataset holds its samples in several formats at once, in a mix that balances
disk and processors; a native tf.data pipeline draws every batch with the same
composition and the same number of cache hits (Liquid, APSys '23).
"""

import lazy_loader

# __init__.pyi has the names, for type checkers too. Each is imported when it is used,
# since TensorFlow takes seconds to import, and a command's --help needs none of it.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
