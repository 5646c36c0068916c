"""@local_tf: a TensorFlow, and the Python that runs tools and tests.

PYTHON_BIN_PATH names the interpreter; without it, `.venv` of the checkout, then
`python3`. LIQUID_TENSORFLOW names a folder that holds the package `tensorflow`, as an
unpacked wheel does; without it, the interpreter's TensorFlow is taken. TensorFlow is only
read, never imported: it may be one for another processor. It decides the lane, because an
op library built for one minor version does not load in another.

  @local_tf//:headers       compile against TensorFlow (include path and defines)
  @local_tf//:framework     link against TensorFlow
  @local_tf//:config.bzl    PYTHON, TF_VERSION
  @local_tf//:py_toolchain  runs py_binary and py_test
"""

# What tf.sysconfig.get_compile_flags() gives for every version that is served, beside
# C++17. The wheels do not state it in a file; tests/tf_configure_test.py compares.
_DEFINES = ["_GLIBCXX_USE_CXX11_ABI=1", "EIGEN_MAX_ALIGN_BYTES=64"]

_BUILD = """
load("@bazel_tools//tools/python:toolchain.bzl", "py_runtime_pair")

package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(
        ["include/**/*"],
        exclude = ["include/**/*.bin", "include/**/*.proto"],
    ),
    defines = {defines},
    includes = ["include"],
)

cc_library(
    name = "framework",
    linkopts = {linkopts},
)

py_runtime(
    name = "py3_runtime",
    interpreter_path = "{python}",
    stub_shebang = "#!/usr/bin/env python3",
    python_version = "PY3",
)

py_runtime_pair(
    name = "py_runtime_pair",
    py3_runtime = ":py3_runtime",
)

toolchain(
    name = "py_toolchain",
    toolchain = ":py_runtime_pair",
    toolchain_type = "@bazel_tools//tools/python:toolchain_type",
)
"""

def _python(ctx):
    path = ctx.os.environ.get("PYTHON_BIN_PATH", "")
    if path:
        if not ctx.path(path).exists:
            fail(("PYTHON_BIN_PATH (\"%s\") must name a Python interpreter " +
                  "that has TensorFlow; run `make setup`.") % path)
        return path
    checkout = ctx.path(Label("//:WORKSPACE")).dirname
    local = checkout.get_child(".venv").get_child("bin").get_child("python")
    if local.exists:
        return str(checkout) + "/.venv/bin/python"
    found = ctx.which("python3")
    if not found:
        fail("No Python found; run `make setup` or set PYTHON_BIN_PATH.")
    return str(found)

def _tf_configure_impl(ctx):
    python = _python(ctx)
    script = str(ctx.path(Label("//third_party:find_tensorflow.py")))
    folder = ctx.os.environ.get("LIQUID_TENSORFLOW", "")
    result = ctx.execute([python, script] + ([folder] if folder else []))
    if result.return_code:
        fail(("No TensorFlow found; run `make setup`, set PYTHON_BIN_PATH to an " +
              "interpreter that has it, or LIQUID_TENSORFLOW to the folder of an " +
              "unpacked wheel.\n%s") % result.stderr[-2000:])
    tf = json.decode(result.stdout)

    # The C++ library holds what the framework library leaves out (name_utils).
    libraries = ["libtensorflow_cc.so.2", "libtensorflow_framework.so.2"]
    linkopts = ["-L" + tf["package"]] + ["-l:" + name for name in libraries]

    ctx.symlink(tf["package"] + "/include", "include")
    ctx.file("BUILD", _BUILD.format(
        defines = repr(_DEFINES),
        linkopts = repr(linkopts),
        python = python,
    ))
    ctx.file("config.bzl", "PYTHON = %r\nTF_VERSION = %r\n" %
                           (python, tf["version"]))

tf_configure = repository_rule(
    implementation = _tf_configure_impl,
    configure = True,
    environ = ["LIQUID_TENSORFLOW", "PYTHON_BIN_PATH"],
    local = True,
)
