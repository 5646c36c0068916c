// The kernels as a library for the host, by the names that they have on a
// device, so that a test can stand in for one.
#include <cstring>

#include "tests/ops/gpu/host_device.h"

namespace liquid {
namespace {

template <L3TaskKind kKind, typename Sample, typename Out,
          typename Variant = L3FastV1>
void Run(const L3DeviceOutput* output, const L3DeviceTask* tasks,
         uint32_t count, const uint8_t* bytes, void* pixels, uint32_t* results,
         uint32_t threads, uint32_t shared_bytes) {
  DoTasksOnHost<kKind, Sample, Out, Variant>(
      *output, tasks, count, bytes, static_cast<Out*>(pixels), results, threads,
      shared_bytes, HostOrder::kForward);
}

using Kernel = decltype(&Run<L3TaskKind::kV2, uint8_t, uint8_t>);

struct Named {
  const char* name;
  Kernel kernel;
};

#define LIQUID_KERNELS(name, kind, stored, Sample) \
  {"liquid_l3_" name "_" stored "_" stored,        \
   Run<L3TaskKind::kind, Sample, Sample>},         \
      {"liquid_l3_" name "_" stored "_f32",        \
       Run<L3TaskKind::kind, Sample, float>},      \
  {                                                \
    "liquid_l3_" name "_" stored "_bf16",          \
        Run<L3TaskKind::kind, Sample, L3BFloat16>  \
  }

const Named kKernels[] = {
    LIQUID_KERNELS("v2", kV2, "u8", uint8_t),
    LIQUID_KERNELS("v2", kV2, "u16", uint16_t),
    LIQUID_KERNELS("compact", kCompact, "u8", uint8_t),
    LIQUID_KERNELS("compact", kCompact, "u16", uint16_t),
    LIQUID_KERNELS("v1", kV1, "u8", uint8_t),
    LIQUID_KERNELS("raw", kRaw, "u8", uint8_t),
    LIQUID_KERNELS("raw", kRaw, "u16", uint16_t),
    {"liquid_l3_v1_u8_u8_sequential",
     Run<L3TaskKind::kV1, uint8_t, uint8_t, L3VariantV1<false, false>>},
    {"liquid_l3_v1_u8_u8_unpack",
     Run<L3TaskKind::kV1, uint8_t, uint8_t, L3VariantV1<true, false>>},
    {"liquid_l3_v1_u8_u8_predict",
     Run<L3TaskKind::kV1, uint8_t, uint8_t, L3VariantV1<false, true>>},
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
