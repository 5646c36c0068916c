#include "ops/gpu/bench/decoding.h"

#include <algorithm>
#include <cstring>

#include "ops/gpu/driver/l3_functions.h"

namespace liquid {
namespace {

// A whole number of 8 bits in each type; none of them rounds it.
void Put(BenchOut out, uint8_t value, uint8_t* to) {
  const float number = value;
  uint32_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  const uint16_t upper = static_cast<uint16_t>(bits >> 16);
  switch (out) {
    case BenchOut::kU8:
      *to = value;
      return;
    case BenchOut::kF32:
      std::memcpy(to, &bits, sizeof(bits));
      return;
    case BenchOut::kBF16:
      std::memcpy(to, &upper, sizeof(upper));
  }
}

// The image as the kernel has to leave it.
std::vector<uint8_t> Expected(const ImageInfo& info,
                              const std::vector<uint8_t>& pixels, BenchOut out,
                              bool planar) {
  const size_t size = BenchOutBytes(out);
  const size_t area = size_t{info.height} * info.width;
  std::vector<uint8_t> expected(pixels.size() * size);
  for (size_t i = 0; i < pixels.size(); ++i) {
    const size_t to = planar ? i % info.channels * area + i / info.channels : i;
    Put(out, pixels[i], &expected[to * size]);
  }
  return expected;
}

}  // namespace

size_t BenchOutBytes(BenchOut out) {
  return out == BenchOut::kU8 ? 1 : out == BenchOut::kF32 ? 4 : 2;
}

L3DeviceOutput BenchOutput(const ImageInfo& info, bool planar, bool verified) {
  L3DeviceOutput output = {};
  output.verified = verified ? 1 : 0;
  output.height = info.height;
  output.width = info.width;
  output.channels = info.channels;
  output.planar = planar ? 1 : 0;
  for (float& deviation : output.std) deviation = 1;
  return output;
}

std::vector<L3DeviceFile> BenchFiles(const Photographs& photographs,
                                     const std::string& format, size_t count) {
  std::vector<L3DeviceFile> files(count);
  for (size_t i = 0; i < count; ++i) {
    const Photograph& image = photographs.images[i % photographs.images.size()];
    const std::string& file = image.File(format);
    files[i].bytes = ByteSpan(file.data(), file.size());
    if (&file != &image.jpeg.file) continue;
    files[i].index = ByteSpan(image.jpeg.index.data(), image.jpeg.index.size());
  }
  return files;
}

Status CheckBenchPixels(const BenchDevice& device,
                        const Photographs& photographs, size_t count,
                        BenchOut out, bool planar, CuAddress pixels,
                        const std::string& what) {
  const size_t kinds = photographs.images.size();
  std::vector<uint8_t> got;
  for (size_t kind = 0; kind < kinds && kind < count; ++kind) {
    const std::vector<uint8_t> expected = Expected(
        photographs.info, photographs.images[kind].pixels, out, planar);
    got.resize(expected.size());
    for (size_t i = kind; i < count; i += kinds) {
      LIQUID_RETURN_IF_ERROR(
          device.CopyOut(got.data(), pixels + i * got.size(), got.size()));
      if (got != expected) {
        return DataLoss(what + ": image " + std::to_string(i) +
                        " has other pixels than on the processors");
      }
    }
  }
  return OkStatus();
}

Status BenchBatch::Make(const BenchDevice& device,
                        const Photographs& photographs,
                        const std::string& format, size_t count,
                        const std::string& types, BenchOut out, bool planar,
                        bool verified, std::unique_ptr<BenchBatch>* batch) {
  std::unique_ptr<BenchBatch> made(
      new BenchBatch(device, photographs, out, planar));
  made->files_ = BenchFiles(photographs, format, count);
  LIQUID_RETURN_IF_ERROR(PlanL3Device(made->files_, {}, &made->plan_));
  const L3DeviceBatch& plan = made->plan_;
  for (const L3DeviceLaunch& launch : plan.launches) {
    CuFunction function = nullptr;
    LIQUID_RETURN_IF_ERROR(FindL3Function(device.driver(), device.context(),
                                          L3KernelName(launch.kind, types),
                                          &function));
    made->functions_.push_back(function);
  }
  made->pixel_bytes_ =
      photographs.info.PixelBytes() * count * BenchOutBytes(out);
  const L3DeviceOutput output = BenchOutput(photographs.info, planar, verified);
  const size_t images_size = plan.images.size() * sizeof(L3DeviceImage);
  const size_t runs_size = plan.runs.size() * sizeof(L3DeviceRun);
  CuAddress images = 0, runs = 0;
  const struct {
    CuAddress* address;
    size_t size;
  } memories[] = {{&made->output_, sizeof(output)},
                  {&images, images_size},
                  {&runs, std::max(runs_size, sizeof(L3DeviceRun))},
                  {&made->tasks_, plan.n_tasks * sizeof(L3DeviceTask)},
                  {&made->bytes_, plan.bytes},
                  {&made->pixels_, made->pixel_bytes_},
                  {&made->results_, plan.n_tasks * sizeof(uint32_t)},
                  {&made->findings_, sizeof(L3DeviceFindings)}};
  for (const auto& [address, size] : memories) {
    LIQUID_RETURN_IF_ERROR(device.Allocate(size, address));
  }
  std::vector<uint8_t> bytes(plan.bytes);
  FillL3Device(made->files_, plan, bytes.data());
  LIQUID_RETURN_IF_ERROR(device.CopyIn(made->output_, &output, sizeof(output)));
  LIQUID_RETURN_IF_ERROR(
      device.CopyIn(images, plan.images.data(), images_size));
  if (runs_size > 0) {
    LIQUID_RETURN_IF_ERROR(device.CopyIn(runs, plan.runs.data(), runs_size));
  }
  LIQUID_RETURN_IF_ERROR(
      device.CopyIn(made->bytes_, bytes.data(), bytes.size()));
  CuFunction function = nullptr;
  LIQUID_RETURN_IF_ERROR(FindL3Function(device.driver(), device.context(),
                                        kL3PlanKernel, &function));
  LIQUID_RETURN_IF_ERROR(
      LaunchL3Plan(device.driver(), function, device.stream(),
                   static_cast<uint32_t>(plan.images.size()), images, runs,
                   made->bytes_, made->tasks_, made->results_));
  LIQUID_RETURN_IF_ERROR(
      CudaStatus(device.driver(),
                 device.more().fill(made->pixels_, 0x5A, made->pixel_bytes_,
                                    device.stream()),
                 "to clear memory"));
  LIQUID_RETURN_IF_ERROR(device.Synchronize());
  for (const CuAddress address : {images, runs}) device.driver().free(address);
  *batch = std::move(made);
  return OkStatus();
}

BenchBatch::~BenchBatch() {
  for (const CuAddress address :
       {output_, tasks_, bytes_, pixels_, results_, findings_}) {
    if (address != 0) device_.driver().free(address);
  }
}

Status BenchBatch::Launch(bool one_block, CuStream stream) const {
  const CudaDriver& driver = device_.driver();
  for (size_t i = 0; i < functions_.size(); ++i) {
    L3DeviceLaunch launch = plan_.launches[i];
    CuAddress output = output_, bytes = bytes_, pixels = pixels_;
    CuAddress tasks = tasks_ + launch.first * sizeof(L3DeviceTask);
    CuAddress results = results_ + launch.first * sizeof(uint32_t);
    void* arguments[] = {&output, &tasks,  &launch.count,
                         &bytes,  &pixels, &results};
    const uint32_t blocks =
        one_block ? static_cast<uint32_t>(files_.size()) : launch.blocks;
    LIQUID_RETURN_IF_ERROR(CudaStatus(
        driver,
        driver.launch(functions_[i], blocks, 1, 1, launch.threads, 1, 1,
                      launch.shared_bytes, stream, arguments, nullptr),
        "to launch a kernel"));
  }
  return OkStatus();
}

Status BenchBatch::Check(const std::string& what) const {
  L3DeviceFindings findings;
  LIQUID_RETURN_IF_ERROR(
      device_.CopyIn(findings_, &findings, sizeof(findings)));
  const CudaDriver& driver = device_.driver();
  CuFunction function = nullptr;
  LIQUID_RETURN_IF_ERROR(
      FindL3Function(driver, device_.context(), kL3CheckKernel, &function));
  LIQUID_RETURN_IF_ERROR(LaunchL3Check(driver, function, device_.stream(),
                                       plan_.n_tasks, tasks_, results_,
                                       findings_));
  LIQUID_RETURN_IF_ERROR(
      device_.CopyOut(&findings, findings_, sizeof(findings)));
  LIQUID_RETURN_IF_ERROR(CheckL3Device(files_, plan_, findings));
  return CheckBenchPixels(device_, photographs_, files_.size(), out_, planar_,
                          pixels_, what);
}

}  // namespace liquid
