// What the fuzzer of JPEG runs, and what it begins with. libFuzzer drives the
// function (jpeg_decode_fuzz.cc); so does a short test without it.
#ifndef LIQUID_TESTS_FUZZ_JPEG_FUZZ_H_
#define LIQUID_TESTS_FUZZ_JPEG_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace liquid {

// Decodes the bytes by the decoder of our own, with every vector set, whole and
// in a window. Aborts where two disagree, or the library refuses the file, or
// gives other pixels. Returns whether our own decoder took the whole.
bool FuzzJpegDecode(const uint8_t* data, size_t size);

// Files of all samplings.
std::vector<std::string> JpegSeeds();

}  // namespace liquid

#endif  // LIQUID_TESTS_FUZZ_JPEG_FUZZ_H_
