"""The tests of a room."""

load("//ops:liquid.bzl", "liquid_py_test")

def room_tests(name, faces = None, apart = [], nightly = [], at_night = {}, shard_count = 1, data = [], deps = [], **kwargs):
    """Tests of a room: all modules in one process, since importing TensorFlow takes long.

    The second TensorFlow runs only what meets it: Dataset ops, checkpoints, Keras, file
    systems. All else finds the same there. So a room has up to two processes: NAME, of
    the modules that face TensorFlow, and NAME_once, of those that do not.

    Args:
      name: of the room.
      faces: modules that face TensorFlow; by default all do.
      apart: modules that need a process of their own.
      nightly: modules that take long, and are part of `make nightly` alone.
      at_night: what a module does more of in `make nightly`: `env`, variables that say how
        much, and `args`, the cases that read them, as {"rest_test.py": {"args":
        ["RestTest.test_random_cases"], "env": {"LIQUID_TEST_CASES": "50"}}}. Other cases
        would only do again what they do by day.
      shard_count: processes that the modules that face TensorFlow are dealt out to, and
        again those that do not.
      data: files that tests read, besides the room's own.
      deps: Python libraries besides what tests share.
      **kwargs: passed to each test.
    """
    deps = deps + ["//tests/liquid_tf:shared"]
    sources = native.glob(["*_test.py"])
    data = data + native.glob(["*.py"], exclude = ["*_test.py"])
    if faces == None:
        faces = sources
    for named in faces + apart + nightly + at_night.keys():
        if named not in sources:
            fail("%s is no module of the room" % named)
    together = [source for source in sources if source not in apart + nightly]
    facing = [source for source in together if source in faces]
    others = [source for source in together if source not in faces]
    rooms = [(name, facing, [])] if facing else []
    if others:
        rooms.append((name + "_once" if facing else name, others, ["once"]))
    for room, modules, tags in rooms:
        liquid_py_test(
            name = room,
            srcs = modules + ["//tests/liquid_tf:room_main.py"],
            main = "//tests/liquid_tf:room_main.py",
            args = ["--modules=" + ",".join([native.package_name() + "/" + m for m in modules])],
            data = data,
            shard_count = min(shard_count, len(modules)),
            size = "large",
            tags = tags,
            deps = deps,
            **kwargs
        )
    for source in apart + nightly:
        liquid_py_test(
            name = source[:-len(".py")],
            data = data,
            tags = ([] if source in faces else ["once"]) +
                   (["nightly"] if source in nightly else []),
            size = "large",
            deps = deps,
            **kwargs
        )
    for source, more in at_night.items():
        liquid_py_test(
            name = source[:-len("_test.py")] + "_at_night_test",
            srcs = [source],
            args = more["args"],
            data = data,
            env = more["env"],
            size = "large",
            tags = [
                "nightly",
                "once",
            ],
            deps = deps,
            **kwargs
        )
