#include "ops/gpu/driver/l3_module.h"

#include <cstdint>

extern "C" {
// Made by device_module() of module.bzl.
extern const uint8_t liquid_l3_module[];
extern const uint8_t liquid_l3_module_end[];
extern const uint32_t liquid_l3_module_is_source;
}

namespace liquid {

DeviceModule L3DeviceModule() {
  return {ByteSpan(liquid_l3_module, static_cast<size_t>(liquid_l3_module_end -
                                                         liquid_l3_module)),
          liquid_l3_module_is_source != 0};
}

}  // namespace liquid
