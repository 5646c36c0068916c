"""The tests of a room."""

load("//ops:liquid.bzl", "liquid_py_test")

def room_tests(name, shard_count = 1, once = [], apart = [], nightly = [], data = [], deps = [], tags = [], **kwargs):
    """Tests of a room: all modules in one process, since importing TensorFlow takes long.

    Args:
      name: of the room.
      shard_count: processes that the tests are dealt out to.
      once: modules that the other TensorFlow need not run: they find the same.
      apart: modules that need a process of their own.
      nightly: modules that take long, and are part of `make nightly` alone.
      data: files that tests read, besides the room's own.
      deps: Python libraries besides what tests share.
      tags: of every test: "once" where the whole room is that.
      **kwargs: passed to each test.
    """
    deps = deps + ["//tests/liquid_tf:shared"]
    sources = native.glob(["*_test.py"])
    data = data + native.glob(["*.py"], exclude = ["*_test.py"])
    together = [source for source in sources if source not in apart + once + nightly]
    liquid_py_test(
        name = name,
        srcs = together + ["//tests/liquid_tf:room_main.py"],
        main = "//tests/liquid_tf:room_main.py",
        args = ["--modules=" + ",".join([native.package_name() + "/" + s for s in together])],
        data = data,
        shard_count = shard_count,
        size = "large",
        tags = tags,
        deps = deps,
        **kwargs
    )
    for source in apart + once + nightly:
        liquid_py_test(
            name = source[:-len(".py")],
            data = data,
            tags = tags + (["once"] if source in once else []) +
                   (["nightly"] if source in nightly else []),
            size = "large",
            deps = deps,
            **kwargs
        )
