"""Macros that give every target of the project the same flags.

Layers: core <- codecs, containers, http, image, message, sampler, reader <- engine <- direct, kernels <- liquid_tf <- tools.
Only kernels see TensorFlow's headers.
"""

# The engine's exports are chosen by engine.lds. Within the engine a call is as direct as
# that of a hidden function: the linker binds it there (-Bsymbolic).
_COPTS = [
    "-O3",
    "-Wall",
    "-Wextra",
    "-fno-semantic-interposition",
    "-fvisibility-inlines-hidden",
]

# GoogleTest's templates take the compiler longer to improve than most cases run.
_TEST_COPTS = [
    "-O0",
    "-Wall",
    "-Wextra",
    "-fvisibility=hidden",
]

# For tests that compute much themselves.
COMPUTES = ["-O1"]

# TensorFlow's headers warn under -Wextra, and hold checks that differ from the
# wheel's own build unless NDEBUG is set.
KERNEL_COPTS = [
    "-O3",
    "-Wall",
    "-Wno-sign-compare",
    # One source serves both lanes; the newer one deprecates what the older lacks.
    "-Wno-deprecated-declarations",
    "-DNDEBUG",
    "-fvisibility=hidden",
]

def liquid_core_library(name, copts = [], **kwargs):
    """A C++17 library without TensorFlow."""
    native.cc_library(
        name = name,
        copts = _COPTS + copts,
        **kwargs
    )

def liquid_kernel_library(name, copts = [], deps = [], **kwargs):
    """Ops and kernels: TensorFlow's headers, and static registration kept."""
    native.cc_library(
        name = name,
        copts = KERNEL_COPTS + copts,
        alwayslink = True,
        deps = deps + ["@local_tf//:headers"],
        **kwargs
    )

def liquid_kernels(name, srcs, deps = [], **kwargs):
    """Ops and kernels of a folder, which liquid_joined_kernels compiles."""
    native.cc_library(
        name = name,
        textual_hdrs = srcs,
        deps = deps + ["@local_tf//:headers"],
        **kwargs
    )

def _joined_source_impl(ctx):
    sources = [f.short_path for f in ctx.files.srcs]
    for dep in ctx.attr.deps:
        headers = dep[CcInfo].compilation_context.direct_textual_headers
        sources += [f.short_path for f in headers if f.extension == "cc"]
    lines = ["#include \"%s\"\n" % source for source in sorted(sources)]
    ctx.actions.write(ctx.outputs.out, "".join(lines))

_joined_source = rule(
    doc = "A source `out` that includes `srcs`, and the sources of the liquid_kernels `deps`.",
    implementation = _joined_source_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cc"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "out": attr.output(),
    },
)

def liquid_joined_kernels(name, deps):
    """The sources of several liquid_kernels, compiled as one.

    To read TensorFlow's headers takes four fifths of the time that a folder's sources
    take, so they are read once: names in the unnamed namespaces of all of them differ.
    """
    out = name + ".joined.cc"
    _joined_source(
        name = name + "_source",
        out = out,
        deps = deps,
    )
    liquid_kernel_library(
        name = name,
        srcs = [out],
        deps = deps,
    )

def _shared_library(name, exports, linkopts, inputs = [], **kwargs):
    """A shared object; the linker's script `exports` says what it exports."""
    native.cc_binary(
        name = name,
        additional_linker_inputs = [exports] + inputs,
        linkopts = linkopts + [
            "-Wl,--version-script,$(location %s)" % exports,
            "-Wl,-z,defs",
        ],
        linkshared = True,
        **kwargs
    )

def liquid_engine_library(name, **kwargs):
    """The shared object that every framework of a process works with."""
    _shared_library(
        name = name,
        linkopts = [
            "-Wl,--as-needed",
            "-Wl,-Bsymbolic",
            # By this name an op library finds the one that is loaded.
            "-Wl,-soname," + name,
        ],
        **kwargs
    )

def liquid_op_library(name, engine = None, deps = [], data = [], **kwargs):
    """A shared object that tf.load_op_library loads; the `engine` that it needs lies beside it."""
    engines = [engine] if engine else []
    _shared_library(
        name = name,
        data = data + engines,
        exports = "//ops:exports.lds",
        inputs = engines,
        linkopts = ["-Wl,--as-needed"] + [
            flag
            for one in engines
            for flag in ["$(location %s)" % one, "-Wl,-rpath,$$ORIGIN"]
        ],
        deps = deps + ["@local_tf//:framework"],
        **kwargs
    )

def liquid_cc_tests(name, apart = [], copts = [], deps = [], size = "medium", shard_count = None, **kwargs):
    """The GoogleTests of a folder: every *_test.cc in one binary, compiled, linked and started as one.

    A test finds the headers of its folder. GoogleTest's flags choose among the cases, as in
    `bazel test //tests/ops/reader --test_filter='TierTest.*'`.

    Args:
      name: of the binary, and that of the folder.
      apart: files that need a process of their own; each is a target of its own name.
      copts: flags for the compiler besides those of the libraries.
      deps: libraries.
      size: of each target.
      shard_count: processes that the cases of `name` are dealt out to.
      **kwargs: passed to each cc_test.
    """
    together = native.glob(["*_test.cc"], exclude = apart, allow_empty = False)
    targets = [(name, together, shard_count)]
    targets += [(source[:-len(".cc")], [source], None) for source in apart]
    for target, sources, shards in targets:
        # GoogleTest's headers are read once: each file has a namespace of its own.
        joined = target + ".joined.cc"
        _joined_source(
            name = target + "_source",
            testonly = True,
            out = joined,
            srcs = sources,
        )
        native.cc_library(
            name = target + "_sources",
            testonly = True,
            textual_hdrs = sources,
        )
        native.cc_test(
            name = target,
            size = size,
            srcs = [joined] + native.glob(["*.h"]),
            copts = _TEST_COPTS + copts,
            # One file is linked, and not a shared library for each target.
            linkstatic = True,
            shard_count = shards,
            deps = deps + [target + "_sources", "@system_libs//:gtest"],
            **kwargs
        )

def liquid_py_test(name, srcs = None, main = None, data = [], deps = [], size = "medium", **kwargs):
    """A Python test that sees liquid_tf; `srcs` is by default the .py of the same name."""
    srcs = srcs or [name + ".py"]
    native.py_test(
        name = name,
        size = size,
        srcs = srcs,
        data = data,
        main = main or srcs[0],
        python_version = "PY3",
        deps = deps + ["//liquid_tf"],
        **kwargs
    )

def liquid_py_tool(name, module, deps = [], **kwargs):
    """A command that runs `module` as `python -m` does.

    A script's own folder comes first on Python's path, where tools/inspect.py
    and tools/profile.py would hide the standard modules of the same name.

    Args:
      name: name of the command.
      module: dotted name of the module, such as "tools.inspect".
      deps: Python libraries; one of them holds the module.
      **kwargs: passed to py_binary.
    """
    main = name + "_main.py"
    native.genrule(
        name = name + "_main",
        outs = [main],
        cmd = ("echo 'import runpy; runpy.run_module(\"%s\", " +
               "run_name=\"__main__\", alter_sys=True)' > $@") % module,
    )
    native.py_binary(
        name = name,
        srcs = [main],
        main = main,
        python_version = "PY3",
        deps = deps + ["//liquid_tf"],
        **kwargs
    )
