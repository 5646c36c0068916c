// The kernels of JPEG, of files that lie in the GPU's memory: all three, and
// what each takes. Recipes and batches have them on their whole way.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ops/codecs/jpeg/jpeg_index.h"
#include "ops/gpu/bench/device.h"
#include "ops/gpu/bench/step.h"
#include "ops/gpu/driver/l3_functions.h"
#include "ops/gpu/plan/jpeg_plan.h"
#include "ops/gpu/plan/l3_plan.h"

namespace liquid {
namespace {

constexpr size_t kKernels = 3;
constexpr char kOwn[] = "files of --images as they are";

// A window of a file, and all of its pixels by the processors.
struct Part {
  const IndexedJpeg& jpeg;
  const std::string& index;
  Window window;
};

// Holds bytes, tasks and pixels on the device. All images lie in its scratch
// memory at once; their coefficients come in turns, as they do in a batch.
class JpegBatch {
 public:
  static Status Make(const BenchDevice& device, const std::vector<Part>& parts,
                     std::unique_ptr<JpegBatch>* batch);
  ~JpegBatch();
  JpegBatch(const JpegBatch&) = delete;
  JpegBatch& operator=(const JpegBatch&) = delete;

  // Starts the first kernels of each three.
  Status Launch(size_t kernels) const;
  // Whether all went well, and the pixels are right.
  Status Check() const;

  size_t pixel_bytes() const { return pixel_bytes_; }
  size_t stored_bytes() const { return plan_.bytes; }

 private:
  JpegBatch(const BenchDevice& device, const std::vector<Part>& parts)
      : device_(device), parts_(parts) {}

  const BenchDevice& device_;
  const std::vector<Part>& parts_;
  std::vector<JpegDevicePlan> plans_;
  std::vector<L3DeviceFile> files_;
  L3DeviceBatch plan_;
  ImageDeviceChunk chunk_ = {};
  CuFunction functions_[kKernels] = {};
  size_t pixel_bytes_ = 0;
  CuAddress jpeg_ = 0, tasks_ = 0, bytes_ = 0, blocks_ = 0, results_ = 0;
  CuAddress findings_ = 0;
};

// Its place among the three.
size_t KernelOf(L3TaskKind kind) {
  return static_cast<size_t>(kind) -
         static_cast<size_t>(L3TaskKind::kJpegCodes);
}

Status JpegBatch::Make(const BenchDevice& device,
                       const std::vector<Part>& parts,
                       std::unique_ptr<JpegBatch>* batch) {
  std::unique_ptr<JpegBatch> made(new JpegBatch(device, parts));
  made->plans_.resize(parts.size());
  made->files_.resize(parts.size());
  made->chunk_ = {0, static_cast<uint32_t>(parts.size()), 0, 0};
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    L3DeviceFile& file = made->files_[i];
    file.bytes = ByteSpan(part.jpeg.file.data(), part.jpeg.file.size());
    file.index = ByteSpan(part.index.data(), part.index.size());
    file.window = part.window;
    file.jpeg = &made->plans_[i];
    if (!PlanJpegDevice(file.bytes, file.index, {}, {}, file.window,
                        &made->plans_[i])) {
      return InvalidArgument("image " + std::to_string(i) +
                             " is none that a GPU decodes");
    }
    made->chunk_.height = std::max(made->chunk_.height, part.window.height);
    made->chunk_.width = std::max(made->chunk_.width, part.window.width);
    made->pixel_bytes_ += size_t{part.window.height} * part.window.width *
                          part.jpeg.info.channels;
  }
  L3DeviceBatch* const plan = &made->plan_;
  LIQUID_RETURN_IF_ERROR(PlanL3Device(made->files_, {}, plan, {made->chunk_}));
  for (size_t i = 0; i < kKernels; ++i) {
    const auto kind = static_cast<L3TaskKind>(
        static_cast<size_t>(L3TaskKind::kJpegCodes) + i);
    LIQUID_RETURN_IF_ERROR(FindL3Function(device.driver(), device.context(),
                                          L3KernelName(kind, "u8_u8"),
                                          &made->functions_[i]));
  }
  const size_t pixels = plan->image.BytesPerPixel() * made->chunk_.count *
                        made->chunk_.height * made->chunk_.width;
  const size_t tasks = plan->tasks.size();
  const struct {
    CuAddress* address;
    size_t size;
  } memories[] = {{&made->jpeg_, plan->jpeg.size()},
                  {&made->tasks_, tasks * sizeof(L3DeviceTask)},
                  {&made->bytes_, plan->bytes},
                  {&made->blocks_, plan->jpeg_scratch_bytes + pixels},
                  {&made->results_, tasks * sizeof(uint32_t)},
                  {&made->findings_, sizeof(L3DeviceFindings)}};
  for (const auto& [address, size] : memories) {
    LIQUID_RETURN_IF_ERROR(device.Allocate(size, address));
  }
  std::vector<uint8_t> bytes(plan->bytes);
  FillL3Device(made->files_, *plan, bytes.data());
  const std::vector<uint32_t> results(tasks, kL3NotDone);
  LIQUID_RETURN_IF_ERROR(
      device.CopyIn(made->jpeg_, plan->jpeg.data(), plan->jpeg.size()));
  LIQUID_RETURN_IF_ERROR(device.CopyIn(made->tasks_, plan->tasks.data(),
                                       tasks * sizeof(L3DeviceTask)));
  LIQUID_RETURN_IF_ERROR(
      device.CopyIn(made->bytes_, bytes.data(), bytes.size()));
  LIQUID_RETURN_IF_ERROR(
      device.CopyIn(made->results_, results.data(), tasks * sizeof(uint32_t)));
  *batch = std::move(made);
  return OkStatus();
}

JpegBatch::~JpegBatch() {
  for (const CuAddress address :
       {jpeg_, tasks_, bytes_, blocks_, results_, findings_}) {
    if (address != 0) device_.driver().free(address);
  }
}

Status JpegBatch::Launch(size_t kernels) const {
  const CudaDriver& driver = device_.driver();
  for (const L3DeviceLaunch& each : plan_.launches) {
    L3DeviceLaunch launch = each;
    const size_t kernel = KernelOf(launch.kind);
    if (kernel >= kernels) continue;
    CuAddress jpeg = jpeg_, bytes = bytes_, blocks = blocks_;
    CuAddress tasks = tasks_ + launch.first * sizeof(L3DeviceTask);
    CuAddress results = results_ + launch.first * sizeof(uint32_t);
    void* arguments[] = {&jpeg,  &tasks,  &launch.count,
                         &bytes, &blocks, &results};
    LIQUID_RETURN_IF_ERROR(
        CudaStatus(driver,
                   driver.launch(functions_[kernel], launch.blocks, 1, 1,
                                 launch.threads, 1, 1, launch.shared_bytes,
                                 device_.stream(), arguments, nullptr),
                   "to launch a kernel"));
  }
  return OkStatus();
}

Status JpegBatch::Check() const {
  L3DeviceFindings findings;
  LIQUID_RETURN_IF_ERROR(
      device_.CopyIn(findings_, &findings, sizeof(findings)));
  const CudaDriver& driver = device_.driver();
  CuFunction function = nullptr;
  LIQUID_RETURN_IF_ERROR(
      FindL3Function(driver, device_.context(), kL3CheckKernel, &function));
  LIQUID_RETURN_IF_ERROR(LaunchL3Check(
      driver, function, device_.stream(),
      static_cast<uint32_t>(plan_.tasks.size()), tasks_, results_, findings_));
  LIQUID_RETURN_IF_ERROR(
      device_.CopyOut(&findings, findings_, sizeof(findings)));
  LIQUID_RETURN_IF_ERROR(CheckL3Device(files_, plan_, findings));
  const size_t pixel = plan_.image.BytesPerPixel();
  const size_t pitch = chunk_.width * pixel;
  std::vector<uint8_t> got(chunk_.height * pitch);
  CuAddress from = blocks_ + plan_.jpeg_scratch_bytes;
  for (size_t i = 0; i < parts_.size(); ++i, from += got.size()) {
    const Part& part = parts_[i];
    LIQUID_RETURN_IF_ERROR(device_.CopyOut(got.data(), from, got.size()));
    for (uint32_t y = 0; y < part.window.height; ++y) {
      const uint8_t* const row =
          &part.jpeg.pixels[(part.window.y + y) * part.jpeg.info.RowBytes() +
                            part.window.x * pixel];
      if (std::memcmp(&got[y * pitch], row, part.window.width * pixel) != 0) {
        return DataLoss("image " + std::to_string(i) +
                        " has other pixels than on the processors");
      }
    }
  }
  return OkStatus();
}

// A new row is a new case.
struct JpegCase {
  const Photographs& (*photographs)(const BenchContext&);  // null: kOwn
  bool whole;        // else the middle, of half the sides
  uint32_t spacing;  // of entry points; kJpegIndexRow: one a row
};
const Photographs& OfRecipes(const BenchContext& context) {
  return context.recipes;
}
const Photographs& OfKernels(const BenchContext& context) {
  return context.images;
}
constexpr JpegCase kCases[] = {
    {OfRecipes, true, 16}, {OfRecipes, false, 16},
    {OfRecipes, true, 8},  {OfRecipes, true, kJpegIndexRow},
    {OfKernels, true, 16}, {OfKernels, false, 16},
    {nullptr, true, 16},   {nullptr, false, 16},
};

Window WindowOf(const ImageInfo& info, bool whole) {
  if (whole) return {0, 0, info.height, info.width};
  return {info.height / 4, info.width / 4, (info.height + 1) / 2,
          (info.width + 1) / 2};
}

Status Measure(const BenchContext& context, const BenchDevice& device,
               const std::vector<const IndexedJpeg*>& jpegs,
               const JpegCase& which, Row* row) {
  std::vector<std::string> indices(jpegs.size());
  size_t pixels = 0;
  for (size_t i = 0; i < jpegs.size(); ++i) {
    const std::string& file = jpegs[i]->file;
    LIQUID_RETURN_IF_ERROR(AppendJpegIndex(ByteSpan(file.data(), file.size()),
                                           {}, which.spacing, &indices[i]));
    pixels += jpegs[i]->info.PixelBytes();
  }
  std::vector<Part> parts;
  const size_t times_all =
      std::max<size_t>(1, context.options.Bytes() / pixels);
  for (size_t i = 0; i < times_all * jpegs.size(); ++i) {
    const size_t at = i % jpegs.size();
    parts.push_back(
        {*jpegs[at], indices[at], WindowOf(jpegs[at]->info, which.whole)});
  }
  std::unique_ptr<JpegBatch> batch;
  LIQUID_RETURN_IF_ERROR(JpegBatch::Make(device, parts, &batch));
  // By the first kernel alone, by two and by all: a later one needs what those
  // before it made, and changes that.
  BenchTimes times[kKernels];
  for (size_t i = 0; i < kKernels; ++i) {
    LIQUID_RETURN_IF_ERROR(
        device.OnDevice([&] { return batch->Launch(i + 1); }, &times[i]));
  }
  LIQUID_RETURN_IF_ERROR(batch->Check());
  const BenchTimes& all = times[kKernels - 1];
  row->Add("images", uint64_t{parts.size()})
      .Add("stored_bytes", uint64_t{batch->stored_bytes()})
      .Add("output_bytes", uint64_t{batch->pixel_bytes()})
      .Add("milliseconds", all.ToRow())
      .Add("images_per_s", 1e3 * static_cast<double>(parts.size()) / all.median)
      .Add("stored_gb_per_s", BenchRate(batch->stored_bytes(), all.median))
      .Add("pixel_gb_per_s", BenchRate(batch->pixel_bytes(), all.median))
      .Add("codes_milliseconds", times[0].median)
      .Add("blocks_milliseconds", times[1].median - times[0].median)
      .Add("pixels_milliseconds", times[2].median - times[1].median);
  return OkStatus();
}

}  // namespace

Status BenchJpegStep(const BenchContext& context) {
  context.expects(sizeof(kCases) / sizeof(kCases[0]));
  std::unique_ptr<BenchDevice> device;
  LIQUID_RETURN_IF_ERROR(BenchDevice::Open(context.options, &device));
  std::vector<IndexedJpeg> own;
  if (!context.options.images.empty()) {
    LIQUID_RETURN_IF_ERROR(ReadJpegs(context.options.images, &own));
  }
  Status status;
  for (const JpegCase& which : kCases) {
    Row row;
    row.Add("files", which.photographs == nullptr ? kOwn : "made of pixels")
        .Add("part", which.whole ? "whole" : "the middle, of half the sides")
        .Add("mcus_an_entry", which.spacing);
    std::vector<const IndexedJpeg*> jpegs;
    if (which.photographs == nullptr) {
      for (const IndexedJpeg& jpeg : own) jpegs.push_back(&jpeg);
      if (own.empty()) {
        context.skipped(
            std::string(kOwn) + (which.whole ? "" : ", the middle of them"),
            "--images names no folder of RGB files of JPEG that "
            "can have entry points");
        continue;
      }
    } else {
      const Photographs& photographs = which.photographs(context);
      for (const Photograph& image : photographs.images) {
        jpegs.push_back(&image.jpeg);
      }
      row.Add("width", photographs.info.width)
          .Add("height", photographs.info.height);
    }
    NoteFinding(context, Measure(context, *device, jpegs, which, &row), &row,
                &status);
  }
  return status;
}

}  // namespace liquid
