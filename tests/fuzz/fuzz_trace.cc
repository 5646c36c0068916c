// Where a fuzzer has been, if the compiler is g++: see fuzz_driver.cc.
#include <cstddef>
#include <cstdint>

namespace liquid {

bool reached_new_code = false;

namespace {

// By a hash of its address, whether code was reached.
constexpr size_t kPlaces = 1 << 20;
uint8_t reached[kPlaces];

}  // namespace
}  // namespace liquid

// Each basic block calls it (-fsanitize-coverage=trace-pc).
extern "C" void __sanitizer_cov_trace_pc() {
  const auto address = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  uint8_t& place = liquid::reached[address % liquid::kPlaces];
  if (place != 0) return;
  place = 1;
  liquid::reached_new_code = true;
}
