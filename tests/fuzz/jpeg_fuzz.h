// What the fuzzers of JPEG run, and what they begin with. libFuzzer drives the
// functions (jpeg_*_fuzz.cc); so does a short test without it.
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

// Takes the bytes as what lies behind the checksum of an index, and decodes a
// file of the seeds by it, whole and in a window. Aborts where sets of vectors
// disagree. Returns whether the file was decoded.
bool FuzzJpegIndex(const uint8_t* data, size_t size);

// Files of all samplings.
std::vector<std::string> JpegSeeds();
// What FuzzJpegIndex takes: the number of each file, and its index.
std::vector<std::string> JpegIndexSeeds();

}  // namespace liquid

#endif  // LIQUID_TESTS_FUZZ_JPEG_FUZZ_H_
