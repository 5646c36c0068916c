// The kernels as a library for the host, by the names that they have on a
// device, so that a test can stand in for one.
#include <cstring>
#include <string>

#include "ops/image/device/image_device.cuh"
#include "ops/image/device/image_device_change.cuh"
#include "ops/image/device/image_device_erase.cuh"
#include "ops/image/device/image_device_mix.cuh"
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

// Makes `count` tiles, those of the samples one after another.
template <typename Sample, typename Out>
void RunImage(const L3DeviceOutput* output, const void* given, uint32_t count,
              const uint32_t* tables, void* pixels, const void* scratch,
              uint32_t threads, uint32_t shared_bytes) {
  const auto* const samples = static_cast<const ImageDeviceSample*>(given);
  HostBlock block(threads, HostOrder::kForward);
  const HostMemory memory(shared_bytes);
  const uint32_t tiles = ImageTiles(output->height, output->width);
  for (uint32_t i = 0; i < count; ++i) {
    ImageMakeTile<Sample, Out>(block, samples[i / tiles], i % tiles, *output,
                               tables, static_cast<const Sample*>(scratch),
                               static_cast<Out*>(pixels), memory.data());
  }
}

void RunLuma(const L3DeviceOutput* output, const void* given, uint32_t count,
             const uint32_t* tables, void* luma, const void* scratch,
             uint32_t threads, uint32_t shared_bytes) {
  const auto* const samples = static_cast<const ImageDeviceSample*>(given);
  HostBlock block(threads, HostOrder::kForward);
  const HostMemory memory(shared_bytes);
  const uint32_t tiles = ImageTiles(output->height, output->width);
  for (uint32_t i = 0; i < count; ++i) {
    if (!NeedsMean(samples[i / tiles].colours)) continue;
    ImageMakeTile<uint8_t, uint8_t>(
        block, samples[i / tiles], i % tiles, *output, tables,
        static_cast<const uint8_t*>(scratch), static_cast<uint8_t*>(nullptr),
        memory.data(), static_cast<uint32_t*>(luma) + i);
  }
}

template <typename Sample>
void RunOperate(const L3DeviceOutput* output, const void* given, uint32_t count,
                const uint32_t* tables, void* canvases, const void* found,
                uint32_t threads, uint32_t /*shared_bytes*/) {
  const auto* const operations =
      static_cast<const ImageDeviceOperation*>(given);
  HostBlock block(threads, HostOrder::kForward);
  const uint32_t tiles = ImageTiles(output->height, output->width);
  for (uint32_t i = 0; i < count; ++i) {
    ImageOperate(
        block, operations[i / tiles], i % tiles, *output, tables,
        static_cast<Sample*>(canvases),
        static_cast<const uint8_t*>(found) + i / tiles * kImageFoundBytes);
  }
}

void RunFind(const L3DeviceOutput* output, const void* given, uint32_t count,
             const uint32_t* /*tables*/, void* found, const void* canvases,
             uint32_t threads, uint32_t shared_bytes) {
  const auto* const operations =
      static_cast<const ImageDeviceOperation*>(given);
  HostBlock block(threads, HostOrder::kForward);
  const HostMemory memory(shared_bytes);
  for (uint32_t i = 0; i < count; ++i) {
    if (!NeedsWhole(operations[i])) continue;
    ImageFind(block, operations[i], *output,
              static_cast<const uint8_t*>(canvases), memory.data(),
              static_cast<uint8_t*>(found) + i * kImageFoundBytes);
  }
}

template <typename Out>
void RunErase(const L3DeviceOutput* output, const void* given, uint32_t count,
              const uint32_t* /*tables*/, void* pixels, const void* /*scratch*/,
              uint32_t threads, uint32_t /*shared_bytes*/) {
  const auto* const erasures = static_cast<const ImageDeviceErasure*>(given);
  HostBlock block(threads, HostOrder::kForward);
  const uint32_t tiles = ImageTiles(output->height, output->width);
  for (uint32_t i = 0; i < count; ++i) {
    ImageErase(block, erasures[i / tiles], i % tiles, *output,
               static_cast<Out*>(pixels));
  }
}

template <typename Out>
void RunMix(const L3DeviceOutput* output, const void* given, uint32_t count,
            const uint32_t* /*tables*/, void* pixels, const void* floats,
            uint32_t threads, uint32_t /*shared_bytes*/) {
  const auto* const blends = static_cast<const ImageDeviceBlend*>(given);
  HostBlock block(threads, HostOrder::kForward);
  const uint32_t tiles = ImageTiles(output->height, output->width);
  for (uint32_t i = 0; i < count; ++i) {
    ImageMix(block, blends[i / tiles], i / tiles, i % tiles, *output,
             static_cast<const float*>(floats), static_cast<Out*>(pixels));
  }
}

template <L3TaskKind kKind>
void RunJpeg(const void* images, const void* tasks, uint32_t count,
             const uint8_t* bytes, void* scratch, uint32_t* results,
             uint32_t threads, uint32_t shared_bytes) {
  DoJpegTasksOnHost<kKind>(static_cast<const JpegDeviceImage*>(images),
                           static_cast<const L3DeviceTask*>(tasks), count,
                           bytes, static_cast<uint8_t*>(scratch), results,
                           threads, shared_bytes, HostOrder::kForward);
}

struct NamedJpeg {
  const char* name;
  decltype(&RunJpeg<L3TaskKind::kJpegCodes>) kernel;
};

const NamedJpeg kJpegKernels[] = {
    {"liquid_jpeg_codes", RunJpeg<L3TaskKind::kJpegCodes>},
    {"liquid_jpeg_blocks", RunJpeg<L3TaskKind::kJpegBlocks>},
    {"liquid_jpeg_pixels", RunJpeg<L3TaskKind::kJpegPixels>},
};

struct NamedImage {
  const char* name;
  decltype(&RunImage<uint8_t, uint8_t>) kernel;
};

const NamedImage kImageKernels[] = {
    {"liquid_image_luma", RunLuma},
    {"liquid_image_u8_u8", RunImage<uint8_t, uint8_t>},
    {"liquid_image_u8_f32", RunImage<uint8_t, float>},
    {"liquid_image_u8_f16", RunImage<uint8_t, ImageHalf>},
    {"liquid_image_u8_bf16", RunImage<uint8_t, L3BFloat16>},
    {"liquid_image_u16_u16", RunImage<uint16_t, uint16_t>},
    {"liquid_image_u16_f32", RunImage<uint16_t, float>},
    {"liquid_image_u16_f16", RunImage<uint16_t, ImageHalf>},
    {"liquid_image_u16_bf16", RunImage<uint16_t, L3BFloat16>},
    {"liquid_image_operate_u8", RunOperate<uint8_t>},
    {"liquid_image_operate_u16", RunOperate<uint16_t>},
    {"liquid_image_find", RunFind},
    {"liquid_image_erase_f32", RunErase<float>},
    {"liquid_image_erase_f16", RunErase<ImageHalf>},
    {"liquid_image_erase_bf16", RunErase<L3BFloat16>},
    {"liquid_image_mix_f32", RunMix<float>},
    {"liquid_image_mix_f16", RunMix<ImageHalf>},
    {"liquid_image_mix_bf16", RunMix<L3BFloat16>},
};

// The kernels beside those of tasks. Returns whether it is one of them.
bool RunBeside(const std::string& name, const void* first, const void* second,
               uint32_t count, const void* third, void* fourth,
               uint32_t* results, uint32_t threads) {
  HostBlock block(threads, HostOrder::kForward);
  if (name == "liquid_l3_plan") {
    for (uint32_t i = 0; i < count; ++i) {
      L3PlanImage(block, static_cast<const L3DeviceImage*>(first)[i],
                  static_cast<const L3DeviceRun*>(second),
                  static_cast<const uint8_t*>(third),
                  static_cast<L3DeviceTask*>(fourth), results);
    }
    return true;
  }
  if (name != "liquid_l3_check") return false;
  L3CheckTasks(block, static_cast<const L3DeviceTask*>(first),
               static_cast<const uint32_t*>(second), 0, count,
               static_cast<L3DeviceFindings*>(const_cast<void*>(third)));
  return true;
}

}  // namespace
}  // namespace liquid

// Runs the kernel of that name. Returns 0, or 1 where there is none.
extern "C" __attribute__((visibility("default"))) int liquid_run_on_host(
    const char* name, const void* output, const void* tasks, uint32_t count,
    const uint8_t* bytes, void* pixels, uint32_t* results, uint32_t threads,
    uint32_t shared_bytes) {
  if (liquid::RunBeside(name, output, tasks, count, bytes, pixels, results,
                        threads)) {
    return 0;
  }
  for (const liquid::Named& named : liquid::kKernels) {
    if (std::strcmp(named.name, name) != 0) continue;
    named.kernel(static_cast<const liquid::L3DeviceOutput*>(output),
                 static_cast<const liquid::L3DeviceTask*>(tasks), count, bytes,
                 pixels, results, threads, shared_bytes);
    return 0;
  }
  for (const liquid::NamedJpeg& named : liquid::kJpegKernels) {
    if (std::strcmp(named.name, name) != 0) continue;
    named.kernel(output, tasks, count, bytes, pixels, results, threads,
                 shared_bytes);
    return 0;
  }
  for (const liquid::NamedImage& named : liquid::kImageKernels) {
    if (std::strcmp(named.name, name) != 0) continue;
    named.kernel(static_cast<const liquid::L3DeviceOutput*>(output), tasks,
                 count, reinterpret_cast<const uint32_t*>(bytes), pixels,
                 results, threads, shared_bytes);
    return 0;
  }
  return 1;
}
