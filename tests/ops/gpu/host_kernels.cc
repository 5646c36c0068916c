// The kernels as a library for the host, by the names that they have on a
// device, so that a test can stand in for one.
#include <cstring>

#include "tests/ops/gpu/host_device.h"

namespace liquid {
namespace {

template <typename Sample, typename Out, typename Variant>
void Run(const L3DeviceOutput* output, const L3DeviceTask* tasks,
         uint32_t count, const uint8_t* bytes, void* pixels, uint32_t* results,
         uint32_t threads, uint32_t shared_bytes) {
  HostBlock block(threads, HostOrder::kForward);
  const HostMemory memory(shared_bytes);
  for (uint32_t i = 0; i < count; ++i) {
    L3DoTask<Sample, Out, Variant>(block, tasks[i], bytes, *output,
                                   static_cast<Out*>(pixels), memory.data(),
                                   &results[i]);
  }
}

using Kernel = decltype(&Run<uint8_t, uint8_t, L3FastV1>);

struct Named {
  const char* name;
  Kernel kernel;
};

const Named kKernels[] = {
    {"liquid_l3_u8_u8", Run<uint8_t, uint8_t, L3FastV1>},
    {"liquid_l3_u8_f32", Run<uint8_t, float, L3FastV1>},
    {"liquid_l3_u8_bf16", Run<uint8_t, L3BFloat16, L3FastV1>},
    {"liquid_l3_u16_u16", Run<uint16_t, uint16_t, L3FastV1>},
    {"liquid_l3_u16_f32", Run<uint16_t, float, L3FastV1>},
    {"liquid_l3_u16_bf16", Run<uint16_t, L3BFloat16, L3FastV1>},
    {"liquid_l3_u8_u8_sequential",
     Run<uint8_t, uint8_t, L3VariantV1<false, false>>},
    {"liquid_l3_u8_u8_unpack", Run<uint8_t, uint8_t, L3VariantV1<true, false>>},
    {"liquid_l3_u8_u8_predict",
     Run<uint8_t, uint8_t, L3VariantV1<false, true>>},
};

}  // namespace
}  // namespace liquid

// Runs the kernel of that name. Returns 0, or 1 where there is none.
extern "C" __attribute__((visibility("default"))) int liquid_run_on_host(
    const char* name, const void* output, const void* tasks, uint32_t count,
    const uint8_t* bytes, void* pixels, uint32_t* results, uint32_t threads,
    uint32_t shared_bytes) {
  for (const liquid::Named& named : liquid::kKernels) {
    if (std::strcmp(named.name, name) != 0) continue;
    named.kernel(static_cast<const liquid::L3DeviceOutput*>(output),
                 static_cast<const liquid::L3DeviceTask*>(tasks), count, bytes,
                 pixels, results, threads, shared_bytes);
    return 0;
  }
  return 1;
}
