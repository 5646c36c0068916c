// What the fuzzers of L3 run, and what they begin with. libFuzzer drives these
// functions (l3_*_fuzz.cc); so does a short test without it.
#ifndef LIQUID_TESTS_FUZZ_L3_FUZZ_H_
#define LIQUID_TESTS_FUZZ_L3_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace liquid {

// Decodes the bytes with every target, whole and in a window, and aborts where
// two disagree.
void FuzzL3Decode(const uint8_t* data, size_t size);

// Makes an image of the bytes, encodes it and aborts where it does not come
// back. Byte 0: version and profile; 1: patch or effort; 2: channels and bits;
// 3, 4: sides; the rest are samples, repeated as often as needed.
void FuzzL3RoundTrip(const uint8_t* data, size_t size);

// Files of both versions and profiles, and inputs of FuzzL3RoundTrip.
std::vector<std::string> L3DecodeSeeds();
std::vector<std::string> L3RoundTripSeeds();

}  // namespace liquid

#endif  // LIQUID_TESTS_FUZZ_L3_FUZZ_H_
