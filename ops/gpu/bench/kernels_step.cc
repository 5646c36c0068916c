// Every kernel that decodes, and what of a copy's rate it reaches.
#include <algorithm>
#include <cstring>
#include <memory>

#include "ops/gpu/bench/decoding.h"
#include "ops/gpu/bench/device.h"
#include "ops/gpu/bench/step.h"

namespace liquid {
namespace {

// A new kernel is a new row.
struct KernelCase {
  const char* format;  // one of kBenchFormats
  const char* types;   // what L3KernelName takes
  BenchOut out;
  bool planar;
  // An image has one block for all its patches, as in the first of the paper's
  // steps (L3, figure 10), which the first five are.
  bool one_block;
  // Checksums of patches are left out, as of records; the row before has them.
  bool verified = false;
};

constexpr KernelCase kCases[] = {
    {"l3 v1", "u8_u8_sequential", BenchOut::kU8, false, true},
    {"l3 v1", "u8_u8_sequential", BenchOut::kU8, false, false},
    {"l3 v1", "u8_u8_unpack", BenchOut::kU8, false, false},
    {"l3 v1", "u8_u8_predict", BenchOut::kU8, false, false},
    {"l3 v1", "u8_u8", BenchOut::kU8, false, false},
    {"l3 v2", "u8_u8", BenchOut::kU8, false, false},
    {"l3 v2", "u8_u8", BenchOut::kU8, false, false, true},
    {"l3 v2", "u8_u8", BenchOut::kU8, true, false},
    {"l3 v2", "u8_f32", BenchOut::kF32, false, false},
    {"l3 v2", "u8_f32", BenchOut::kF32, true, false},
    {"l3 v2", "u8_f32", BenchOut::kF32, true, false, true},
    {"l3 v2", "u8_bf16", BenchOut::kBF16, false, false},
    {"l3 v2", "u8_bf16", BenchOut::kBF16, true, false},
    {"l3 v2", "u8_bf16", BenchOut::kBF16, true, false, true},
    {"l3-compact", "u8_u8", BenchOut::kU8, false, false},
    {"l3-compact", "u8_u8", BenchOut::kU8, false, false, true},
    {"l3-compact", "u8_f32", BenchOut::kF32, true, false},
    {"l3-compact", "u8_f32", BenchOut::kF32, true, false, true},
    {"raw", "u8_u8", BenchOut::kU8, false, false},
    {"raw", "u8_f32", BenchOut::kF32, true, false},
};

Status Measure(const BenchContext& context, const BenchDevice& device,
               const KernelCase& row, double copy_rate, Row* found) {
  const Photographs& images = context.images;
  const size_t count = std::max<size_t>(
      images.images.size(), context.options.Bytes() / images.info.PixelBytes());
  std::unique_ptr<BenchBatch> batch;
  LIQUID_RETURN_IF_ERROR(BenchBatch::Make(device, images, row.format, count,
                                          row.types, row.out, row.planar,
                                          row.verified, &batch));
  BenchTimes times;
  LIQUID_RETURN_IF_ERROR(device.OnDevice(
      [&] { return batch->Launch(row.one_block, device.stream()); }, &times));
  LIQUID_RETURN_IF_ERROR(
      batch->Check(std::string(row.format) + " by " + row.types));
  const L3DeviceBatch& plan = batch->plan();
  const size_t moved =
      plan.bytes + plan.n_tasks * sizeof(L3DeviceTask) + batch->pixel_bytes();
  const size_t samples = images.info.PixelBytes() * count;
  found
      ->Add("blocks", uint64_t{row.one_block ? count : plan.launches[0].blocks})
      .Add("threads", plan.launches[0].threads)
      .Add("images", uint64_t{count})
      .Add("width", images.info.width)
      .Add("height", images.info.height)
      .Add("stored_bytes", plan.bytes)
      .Add("output_bytes", uint64_t{batch->pixel_bytes()})
      .Add("milliseconds", times.ToRow())
      .Add("pixel_gb_per_s", BenchRate(samples, times.median))
      .Add("share_of_copy", BenchRate(moved, times.median) / copy_rate);
  return OkStatus();
}

// What copies in the device's memory reach, of bytes read and written.
Status MeasureCopy(const BenchContext& context, const BenchDevice& device,
                   double* rate) {
  const size_t size = context.options.Bytes();
  CuAddress from = 0, to = 0;
  LIQUID_RETURN_IF_ERROR(device.Allocate(size, &from));
  LIQUID_RETURN_IF_ERROR(device.Allocate(size, &to));
  BenchTimes times;
  LIQUID_RETURN_IF_ERROR(device.OnDevice(
      [&] {
        return CudaStatus(device.driver(),
                          device.more().copy(to, from, size, device.stream()),
                          "to copy");
      },
      &times));
  *rate = BenchRate(2 * size, times.median);
  context.found(
      Row().Add("what", "copy in the GPU's memory").Add("gb_per_s", *rate));
  device.driver().free(from);
  device.driver().free(to);
  return OkStatus();
}

}  // namespace

Status BenchKernelsStep(const BenchContext& context) {
  context.expects(1 + sizeof(kCases) / sizeof(kCases[0]));
  std::unique_ptr<BenchDevice> device;
  LIQUID_RETURN_IF_ERROR(BenchDevice::Open(context.options, &device));
  double copy_rate = 0;
  LIQUID_RETURN_IF_ERROR(MeasureCopy(context, *device, &copy_rate));
  Status status;
  for (const KernelCase& row : kCases) {
    Row found;
    found.Add("format", row.format)
        .Add("types", row.types)
        .Add("layout", row.planar ? "NCHW" : "NHWC")
        .Add("one_block_an_image", row.one_block)
        .Add("checksums", !row.verified);
    NoteFinding(context, Measure(context, *device, row, copy_rate, &found),
                &found, &status);
  }
  return status;
}

}  // namespace liquid
