// The kernels that a program finds by name:
//
//   liquid_l3_KIND_SAMPLE_OUT     KIND v2, compact, v1 or raw; SAMPLE u8, and
//                                 but for v1 u16; OUT the same, f32 or bf16
//   liquid_l3_v1_u8_u8_sequential, _unpack, _predict
//                                 the steps of the paper's ablation: version 1
//                                 with nothing, only unpacking or only
//                                 prediction in parallel along a row
//   liquid_l3_plan                the tasks of all of these, before them
//   liquid_l3_check               what became of the tasks, after them
//
// Any number of blocks does all tasks, which are of the kernel's kind; as many
// as tasks is fastest. A kind has a kernel of its own, so that none takes the
// registers of another.
#include "ops/codecs/l3/device/l3_device.cuh"

namespace {

// How many blocks a multiprocessor is to have room for: the more, the fewer
// registers. Of version 2 with 8 bits, of both profiles, a warp does four
// patches and has most to keep; with 16 bits no more blocks find shared memory.
template <liquid::L3TaskKind kKind, typename Sample>
LIQUID_HOST_DEVICE constexpr uint32_t LeastBlocks() {
  using liquid::L3TaskKind;
  const bool is_v2 = kKind == L3TaskKind::kV2 || kKind == L3TaskKind::kCompact;
  return !is_v2 ? 8 : sizeof(Sample) == 1 ? 6 : 7;
}

}  // namespace

// At most a warp for each of four channels.
#define LIQUID_L3_KERNEL(name, kind, sample, out, variant)                \
  extern "C" __global__ void __launch_bounds__(                           \
      128, LeastBlocks<liquid::L3TaskKind::kind, sample>())               \
      liquid_l3_##name(const liquid::L3DeviceOutput* output,              \
                       const liquid::L3DeviceTask* tasks, uint32_t count, \
                       const uint8_t* bytes, void* pixels,                \
                       uint32_t* results) {                               \
    liquid::L3DoTasks<liquid::L3TaskKind::kind, sample, out, variant>(    \
        output, tasks, count, bytes, pixels, results);                    \
  }

#define LIQUID_L3_KERNELS(name, kind, stored, sample)                        \
  LIQUID_L3_KERNEL(name##_##stored##_##stored, kind, sample, sample,         \
                   liquid::L3FastV1)                                         \
  LIQUID_L3_KERNEL(name##_##stored##_f32, kind, sample, float,               \
                   liquid::L3FastV1)                                         \
  LIQUID_L3_KERNEL(name##_##stored##_bf16, kind, sample, liquid::L3BFloat16, \
                   liquid::L3FastV1)

using L3Sequential = liquid::L3VariantV1<false, false>;
using L3UnpacksOnly = liquid::L3VariantV1<true, false>;
using L3PredictsOnly = liquid::L3VariantV1<false, true>;

LIQUID_L3_KERNELS(v2, kV2, u8, uint8_t)
LIQUID_L3_KERNELS(v2, kV2, u16, uint16_t)
LIQUID_L3_KERNELS(compact, kCompact, u8, uint8_t)
LIQUID_L3_KERNELS(compact, kCompact, u16, uint16_t)
LIQUID_L3_KERNELS(v1, kV1, u8, uint8_t)
LIQUID_L3_KERNELS(raw, kRaw, u8, uint8_t)
LIQUID_L3_KERNELS(raw, kRaw, u16, uint16_t)
LIQUID_L3_KERNEL(v1_u8_u8_sequential, kV1, uint8_t, uint8_t, L3Sequential)
LIQUID_L3_KERNEL(v1_u8_u8_unpack, kV1, uint8_t, uint8_t, L3UnpacksOnly)
LIQUID_L3_KERNEL(v1_u8_u8_predict, kV1, uint8_t, uint8_t, L3PredictsOnly)

// A block does an image at a time.
extern "C" __global__ void __launch_bounds__(liquid::kL3PlanThreads)
    liquid_l3_plan(const liquid::L3DeviceImage* images,
                   const liquid::L3DeviceRun* runs, uint32_t count,
                   const uint8_t* bytes, liquid::L3DeviceTask* tasks,
                   uint32_t* results) {
  liquid::L3DeviceBlock block;
  for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
    liquid::L3PlanImage(block, images[i], runs, bytes, tasks, results);
  }
}

// A thread checks a task at a time.
extern "C" __global__ void __launch_bounds__(liquid::kL3PlanThreads)
    liquid_l3_check(const liquid::L3DeviceTask* tasks, const uint32_t* results,
                    uint32_t count, liquid::L3DeviceFindings* findings) {
  liquid::L3DeviceBlock block;
  for (uint32_t i = blockIdx.x * blockDim.x; i < count;
       i += gridDim.x * blockDim.x) {
    const uint32_t end = count - i < blockDim.x ? count : i + blockDim.x;
    liquid::L3CheckTasks(block, tasks, results, i, end, findings);
  }
}
