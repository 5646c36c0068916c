// The marker by which liquid_tf/_native/library.py knows, without loading a
// library, which TensorFlow it was built for.

#define LIQUID_QUOTE(text) #text
#define LIQUID_EXPAND(macro) LIQUID_QUOTE(macro)

namespace {

const char kMarker[] =
    "liquid_ops built for TensorFlow " LIQUID_EXPAND(LIQUID_TF_VERSION);

// The constructor keeps the marker through the linker's garbage collection.
__attribute__((constructor)) void KeepMarker() {
  asm volatile("" : : "r"(kMarker));
}

}  // namespace
