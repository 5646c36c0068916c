#include "ops/gpu/driver/l3_module.h"

#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"

namespace liquid::l3_module_test {

TEST(L3ModuleTest, IsWhatTheSourcesAreNow) {
  const DeviceModule module = L3DeviceModule();
  if (!module.is_source) GTEST_SKIP() << "the kernels are compiled";
  std::ifstream file("ops/gpu/liquid_l3_module.cu", std::ios::binary);
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(source.empty());
  const char* const bytes = reinterpret_cast<const char*>(module.bytes.data);
  EXPECT_EQ(source, std::string(bytes, module.bytes.size));
}

}  // namespace liquid::l3_module_test
