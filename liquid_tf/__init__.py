"""Image datasets that keep each sample in the format that suits the machine.

One dataset holds its samples in several formats at once, in a mix that balances
disk and processors; a native tf.data pipeline draws every batch with the same
composition and the same number of cache hits (Liquid, APSys '23).

  liquid_tf.convert("photos", "photos.liquid", "l3")
  train = liquid_tf.dataset("photos.liquid", 32, transforms=[…])
  model.fit(train, epochs=3)
  print(liquid_tf.stats(train).verdict())

`help(liquid_tf.dataset)`, and so on, describes each of these:

  make datasets    convert, copy, Source
  look into them   inspect, verify, open
  change them      append, remove, annotate, compact
  export them      export
  mix them         mixture
  choose formats   profile
  train            dataset, loader, Cache, position
  see what limits  stats
  modules          transforms, keras, codecs, errors, gpu
  by themselves    graph, pcr, recordio, pil
"""

import lazy_loader

from liquid_tf import _extras

# __init__.pyi has the names, for type checkers too. Each is imported when it is used,
# since TensorFlow takes seconds to import, and a command's --help needs none of it.
# There is no __all__, since `help` would print all of each name in it.
_attribute, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
  with _extras.explained():
    return _attribute(name)
