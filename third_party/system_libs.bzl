"""@system_libs: libraries of the operating system, whose packages `make setup` installs.

Those that the engine holds are linked as static archives, and their names stay hidden
in it: TensorFlow exports some of the same names. The compiler (CC, or `gcc`) says where an
archive lies, so that a compiler for another processor finds that processor's.

  @system_libs//:NAME            a library
  @system_libs//curl             libcurl, compiled from the system's source
  @system_libs//:libraries.json  {NAME: [package, version]} of what the engine holds
"""

# Library: its archives. Later versions of libwebp have a part in an archive of its own.
_STATIC = {
    "deflate": ["libdeflate.a"],
    "jpeg": ["libjpeg.a"],
    "ssl": ["libssl.a", "libcrypto.a"],
    "uring": ["liburing.a"],
    "webp": ["libwebp.a", "libsharpyuv.a"],
}
_OPTIONAL = ["libsharpyuv.a"]

# Headers only: no library is linked.
_INLINE = {
    "protozero": "protozero/pbf_reader.hpp",
    "xxhash": "xxhash.h",
}

_BUILD = """
package(default_visibility = ["//visibility:public"])

exports_files(["libraries.json"])

{static}
cc_library(
    name = "xxhash",
    defines = ["XXH_INLINE_ALL"],
)

cc_library(name = "protozero")

cc_library(
    name = "gtest",
    testonly = True,
    linkopts = ["-lgmock", "-lgtest", "-lgtest_main", "-pthread"],
)

cc_library(
    name = "benchmark",
    testonly = True,
    linkopts = ["-lbenchmark", "-pthread"],
)
"""

_STATIC_BUILD = """
cc_library(
    name = "{name}",
    srcs = {archives},
)
"""

def _archive(ctx, compiler, name):
    """The path of a static archive; None where there is none."""
    result = ctx.execute([compiler, "-print-file-name=" + name])
    path = result.stdout.strip()

    # A compiler that finds nothing gives the name back.
    if result.return_code == 0 and path != name:
        return path
    if name in _OPTIONAL:
        return None
    fail("%s finds no %s; run `make setup`." % (compiler, name))

def _package(ctx, file):
    """[package, version] by Debian's database; ["", ""] where it does not know the file."""
    dpkg = ctx.which("dpkg-query")
    if not dpkg:
        return ["", ""]
    owner = ctx.execute([dpkg, "-S", str(ctx.path(file).realpath)])
    if owner.return_code:
        return ["", ""]
    shown = ctx.execute([
        dpkg,
        "-W",
        "-f",
        "${source:Package} ${source:Version}",
        owner.stdout.split(": ")[0],
    ])
    return shown.stdout.split(" ")

def _curl(ctx):
    """Lays out the source of curl; its [package, version]."""
    cache = ctx.os.environ.get("XDG_CACHE_HOME", ctx.os.environ["HOME"] + "/.cache")
    source = ctx.path(ctx.os.environ.get("LIQUID_CURL", cache + "/liquid_tf/curl"))
    if not source.exists:
        fail("%s is not there; run `make setup`, or tools/fetch_curl.sh." % source)
    for folder in ["include", "lib"]:
        ctx.symlink(source.get_child(folder), "curl/" + folder)
    ctx.symlink(Label("//third_party/curl:curl.BUILD"), "curl/BUILD")
    ctx.symlink(Label("//third_party/curl:curl_config.h"), "curl/curl_config.h")

    # "curl (7.88.1-10) bookworm; ..."
    changes = ctx.read(source.get_child("debian").get_child("changelog"))
    return ["curl", changes.partition("(")[2].partition(")")[0]]

def _system_libs_impl(ctx):
    compiler = ctx.os.environ.get("CC", "gcc")
    libraries = {}
    static = []
    for name, archives in _STATIC.items():
        links = []
        for archive in archives:
            path = _archive(ctx, compiler, archive)
            if path:
                # Debian's archives are position-independent.
                link = archive.replace(".a", ".pic.a")
                ctx.symlink(path, link)
                links.append(link)
                libraries.setdefault(name, _package(ctx, path))
        static.append(_STATIC_BUILD.format(name = name, archives = repr(links)))
    for name, header in _INLINE.items():
        libraries[name] = _package(ctx, "/usr/include/" + header)
    libraries["curl"] = _curl(ctx)
    ctx.file("BUILD", _BUILD.format(static = "".join(static)))
    ctx.file("libraries.json", json.encode(libraries) + "\n")

system_libs = repository_rule(
    implementation = _system_libs_impl,
    configure = True,
    environ = ["CC", "HOME", "LIQUID_CURL", "PATH", "XDG_CACHE_HOME"],
    local = True,
)
