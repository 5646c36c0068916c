// L3 on a device: tasks of one kind, one block of threads each.
//
// `memory` is a block's shared memory: a multiple of 16, and as many bytes as
// the launch says. `bytes` begins at a multiple of 16, and may be read to
// the next one after its end. A block has a warp for each channel of the batch.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_CUH_

#include "ops/codecs/l3/device/l3_device_compact.cuh"
#include "ops/codecs/l3/device/l3_device_plan.cuh"
#include "ops/codecs/l3/device/l3_device_v1.cuh"
#include "ops/codecs/l3/device/l3_device_v2.cuh"

namespace liquid {

using L3FastV1 = L3VariantV1<true, true>;

// Does one task of that kind, of which may be known that it is damaged. Sample
// is the type of what is stored, Out that of the batch: Sample, float or
// L3BFloat16.
template <L3TaskKind kKind, typename Sample, typename Out, typename Variant,
          typename Block>
LIQUID_DEVICE void L3DoTask(Block& block, const L3DeviceTask& task,
                            const uint8_t* bytes, const L3DeviceOutput& output,
                            Out* pixels, uint8_t* memory, bool damaged,
                            uint32_t* result) {
  const L3Lines<Out> lines(task, output, pixels);
  uint32_t found = 0;
  if constexpr (kKind == L3TaskKind::kV2) {
    found = L3DecodeTaskV2<Sample>(block, task, bytes, output, lines, memory);
  } else if constexpr (kKind == L3TaskKind::kCompact) {
    found =
        L3DecodeTaskCompact<Sample>(block, task, bytes, output, lines, memory);
  } else if constexpr (kKind == L3TaskKind::kV1) {
    found = L3DecodeTaskV1<Variant>(block, task, bytes, output, lines, memory);
  } else {
    const L3SourceRows<Sample> source = {bytes + task.begin[0], task.size[0],
                                         output.channels};
    L3Store(block, task, 0, task.height, source, lines, output);
  }
  // What is damaged never passes for whole.
  if (damaged && found == 0) found = L3DeviceResult(L3DeviceError::kCode, 0);
  // The shared memory is the next task's only when all threads have seen what
  // became of this one.
  block.EachThread([&](uint32_t thread) {
    if (thread == 0) *result = found;
  });
}

// How many tasks of a kind a block does at once.
template <L3TaskKind kKind, typename Sample>
LIQUID_HOST_DEVICE constexpr uint32_t L3TasksAtOnce(uint32_t channels) {
  return (kKind == L3TaskKind::kV2 || kKind == L3TaskKind::kCompact) &&
                 sizeof(Sample) == 1 && channels == kL3FourChannels
             ? kL3FourTasks
             : 1;
}

template <L3TaskKind kKind>
struct L3FoursOfKind {
  using Kind = L3FoursV2;
};
template <>
struct L3FoursOfKind<L3TaskKind::kCompact> {
  using Kind = L3FoursCompact;
};

// What a block puts aside lies beside the largest patches of 8 bits.
static_assert(L3SharedBytesCompact(kL3MaxChannels, 8, kL3CompactMostStaged) +
                      kL3PieceBytes <=
                  48 * 1024,
              "there is no room beside a patch");

// Does `first` of `count` tasks of that kind, and those behind it up to
// L3TasksAtOnce(), as L3DoTask. `first` is the same afterwards.
template <L3TaskKind kKind, typename Sample, typename Out, typename Variant,
          typename Block>
LIQUID_DEVICE void L3DoTasksAtOnce(Block& block, const L3DeviceTask* tasks,
                                   uint32_t* first, uint32_t count,
                                   const uint8_t* bytes,
                                   const L3DeviceOutput& output, Out* pixels,
                                   uint8_t* memory, uint32_t* results) {
  uint32_t left = 1;  // a bit for each that is to be done alone
  if constexpr (L3TasksAtOnce<kKind, Sample>(kL3FourChannels) > 1) {
    if (output.channels == kL3FourChannels) {
      using Kind = typename L3FoursOfKind<kKind>::Kind;
      // Rows take all registers.
      block.PutAside(*first);
      left = L3DecodeFours<Kind>(block, tasks, *first, count, bytes, output,
                                 pixels, memory, results);
      *first = block.TakeBack();
    }
  }
  LIQUID_SELDOM
  for (; left % (1u << kL3FourStored) != 0; left &= left - 1) {
    const uint32_t i = L3HighestBit(left & (0 - left));
    // In registers, which no store can be taken to change.
    L3DeviceTask task = tasks[*first + i];
    const bool stored = (left >> (kL3FourStored + i) & 1) != 0;
    if (stored) task.row_begin = task.row_end;
    L3DoTask<kKind, Sample, Out, Variant>(block, task, bytes, output, pixels,
                                          memory, stored, &results[*first + i]);
  }
}

#if defined(__CUDACC__)

template <L3TaskKind kKind, typename Sample, typename Out, typename Variant>
__device__ void L3DoTasks(const L3DeviceOutput* __restrict__ output,
                          const L3DeviceTask* __restrict__ tasks,
                          uint32_t count, const uint8_t* __restrict__ bytes,
                          void* __restrict__ pixels,
                          uint32_t* __restrict__ results) {
  extern __shared__ uint4 liquid_l3_memory[];
  L3DeviceBlock block;
  const auto most = [&] {
    return L3TasksAtOnce<kKind, Sample>(output->channels);
  };
  for (uint32_t i = blockIdx.x * most(); i < count; i += gridDim.x * most()) {
    L3DoTasksAtOnce<kKind, Sample, Out, Variant>(
        block, tasks, &i, count, bytes, *output, static_cast<Out*>(pixels),
        reinterpret_cast<uint8_t*>(liquid_l3_memory), results);
  }
}

#endif  // defined(__CUDACC__)

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_CUH_
