"""The C++ rules, forwarded to those that are built into Bazel.

Bazel's own packages load them from @rules_cc, which it would download.
"""

cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
cc_toolchain_alias = native.cc_toolchain_alias
cc_proto_library = native.cc_proto_library
cc_flags_supplier = getattr(native, "cc_flags_supplier", None)
compiler_flag = getattr(native, "compiler_flag", None)
fdo_prefetch_hints = native.fdo_prefetch_hints
fdo_profile = native.fdo_profile
objc_import = native.objc_import
objc_library = native.objc_library
