// What the fuzzers of RecordIO run, and what they begin with. libFuzzer drives
// these functions (recordio_*_fuzz.cc); so does a short test without it. Each
// aborts where something is not as it should be.
#ifndef LIQUID_TESTS_FUZZ_RECORDIO_FUZZ_H_
#define LIQUID_TESTS_FUZZ_RECORDIO_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace liquid {

// Byte 0: bytes that arrive at once; byte 1: parts; the rest is a file. Reads
// it with and without repair, and in parts: all agree, and nothing of the file
// is neither read nor reported.
void FuzzRecordIOScan(const uint8_t* data, size_t size);

// Parses an index; what parses is written, parses to the same, and splits.
void FuzzRecordIOIndex(const uint8_t* data, size_t size);

std::vector<std::string> RecordIOScanSeeds();
std::vector<std::string> RecordIOIndexSeeds();

}  // namespace liquid

#endif  // LIQUID_TESTS_FUZZ_RECORDIO_FUZZ_H_
