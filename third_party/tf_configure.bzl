"""@local_tf: the TensorFlow and the Python of one virtual environment.

PYTHON_BIN_PATH names the interpreter; without it, `.venv` of the checkout, then
`python3`. Its TensorFlow decides the lane, because an op library built for one
minor version does not load in another.

  @local_tf//:headers       compile against TensorFlow (include path and defines)
  @local_tf//:framework     link against TensorFlow
  @local_tf//:version       the marker by which liquid_tf/_native/ops.py knows a library
  @local_tf//:config.bzl    TF_VERSION, TF_COPTS, PYTHON
  @local_tf//:py_toolchain  runs py_binary and py_test
"""

_QUERY = """
import json
import tensorflow as tf
print("liquid:" + json.dumps({
    "version": tf.__version__,
    "include": tf.sysconfig.get_include(),
    "lib": tf.sysconfig.get_lib(),
    "compile": tf.sysconfig.get_compile_flags(),
}))
"""

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

cc_library(
    name = "version",
    srcs = ["version.cc"],
    alwayslink = True,
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

# The constructor keeps the marker through the linker's garbage collection.
_VERSION_CC = """
namespace {{

const char kMarker[] = "liquid_ops built for TensorFlow {version}";

__attribute__((constructor)) void KeepMarker() {{
  asm volatile("" : : "r"(kMarker));
}}

}}  // namespace
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
    result = ctx.execute(
        [python, "-c", _QUERY],
        environment = {"TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    lines = [
        line
        for line in result.stdout.splitlines()
        if line.startswith("liquid:")
    ]
    if result.return_code or not lines:
        fail(("TensorFlow cannot be imported by %s; run `make setup`, or set " +
              "PYTHON_BIN_PATH to an interpreter that has it.\n%s") %
             (python, result.stderr[-2000:]))
    tf = json.decode(lines[-1][len("liquid:"):])

    # The C++ library holds what the framework library leaves out (name_utils).
    libraries = ["libtensorflow_cc.so.2", "libtensorflow_framework.so.2"]
    linkopts = ["-L" + tf["lib"]] + ["-l:" + name for name in libraries]
    compile_flags = [f for f in tf["compile"] if not f.startswith("-I")]
    defines = [f[2:] for f in compile_flags if f.startswith("-D")]
    copts = [f for f in compile_flags if not f.startswith("-D")]

    ctx.symlink(tf["include"], "include")
    ctx.file("BUILD", _BUILD.format(
        defines = repr(defines),
        linkopts = repr(linkopts),
        python = python,
    ))
    ctx.file("version.cc", _VERSION_CC.format(version = tf["version"]))
    ctx.file("config.bzl", "TF_VERSION = %r\nTF_COPTS = %r\nPYTHON = %r\n" %
                           (tf["version"], copts, python))

tf_configure = repository_rule(
    implementation = _tf_configure_impl,
    configure = True,
    environ = ["PYTHON_BIN_PATH"],
    local = True,
)
