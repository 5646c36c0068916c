#include "ops/gpu/plan/device_batch.h"

#include <cmath>

#include "ops/core/buffer_pool.h"
#include "ops/gpu/plan/device_record.h"

namespace liquid {
namespace {

static_assert(kBehindOnDevice >= kL3ReadOn + kL3PieceBytes,
              "what lies there is read on");

struct TypeName {
  const char* kernel;  // as l3_device.cu has it
  const char* name;
};

TypeName NameOf(PixelType type) {
  switch (type) {
    case PixelType::kUint8:
      return {"u8", "uint8"};
    case PixelType::kUint16:
      return {"u16", "uint16"};
    case PixelType::kBfloat16:
      return {"bf16", "bfloat16"};
    case PixelType::kFloat16:
      return {"f16", "half"};
    case PixelType::kFloat32:
      break;
  }
  return {"f32", "float"};
}

Status ReadChannels(const std::vector<float>& values, const char* name,
                    bool positive, uint32_t channels, float* out) {
  const size_t n = values.size();
  if (n != 1 && n != channels) {
    return InvalidArgument(
        std::string(name) + " must have one element, or one for each of the " +
        std::to_string(channels) + " channels; it has " + std::to_string(n));
  }
  for (uint32_t c = 0; c < channels; ++c) {
    out[c] = values[n == 1 ? 0 : c];
    if (!std::isfinite(out[c]) || (positive && out[c] <= 0)) {
      return InvalidArgument(std::string(name) + " (" + std::to_string(out[c]) +
                             ") must be a number" +
                             (positive ? " above 0" : ""));
    }
  }
  return OkStatus();
}

std::string SizeOf(const Window& window) {
  return std::to_string(window.width) + "x" + std::to_string(window.height);
}

Status CheckSizes(const DeviceBatch& batch) {
  const Window& first = batch.inputs[0].plan->part;
  for (size_t i = 1; i < batch.inputs.size(); ++i) {
    const Window& part = batch.inputs[i].plan->part;
    if (part.height == first.height && part.width == first.width) continue;
    return InvalidArgument(
        NameL3Image(i, batch.files[i].sample) + " becomes one of " +
        SizeOf(part) + ", and " + NameL3Image(0, batch.files[0].sample) +
        " one of " + SizeOf(first) +
        ": all images of a batch for a GPU must become of one size, so crop or "
        "resize them");
  }
  return OkStatus();
}

// Steps are made for images of the dataset's kind, and a device trusts them.
Status CheckKind(const Recipe& recipe, const DeviceBatch& batch) {
  const ImageInfo& image = batch.rows[0];
  const bool bytes = image.bits == 8;
  const bool colours = bytes && image.channels == 3;
  const size_t values = recipe.erasing.values.size();
  const bool fits_values =
      recipe.erase == 0 || values <= 1 || values == image.channels;
  if (fits_values && (!recipe.NeedsColours() || colours) &&
      (!recipe.NeedsBytes() || colours || (bytes && image.channels == 1))) {
    return OkStatus();
  }
  return DataLoss(NameL3Image(0, batch.files[0].sample) + " has " +
                  std::to_string(image.channels) + " channels of " +
                  std::to_string(image.bits) +
                  " bits, which the steps do not take: it is none that the "
                  "dataset's manifest describes");
}

// Gives files their windows, where the plans of records say them.
Status PlanImages(const DeviceSteps& steps, DeviceBatch* batch) {
  const bool has_mean_image = steps.mean_image.address != 0;
  bool needs_recipe = has_mean_image || steps.type == PixelType::kFloat16;
  for (size_t i = 0; i < batch->inputs.size(); ++i) {
    needs_recipe = needs_recipe || NeedsDeviceRecipe(*batch->inputs[i].plan) ||
                   IsJpegFile(batch->files[i].bytes);
  }
  if (batch->inputs.empty()) {
    if (!needs_recipe) return OkStatus();
    return InvalidArgument(std::string(has_mean_image
                                           ? "mean_image must not be given"
                                           : "dtype must not be half") +
                           " where files are strings");
  }
  const size_t n = batch->inputs.size();
  for (size_t i = 0; i < n && !needs_recipe; ++i) {
    const SamplePlan& plan = *batch->inputs[i].plan;
    Window& window = batch->files[i].window;
    window = plan.part;
    window.y += plan.window.y;
    window.x += plan.window.x;
  }
  if (!needs_recipe) return OkStatus();
  LIQUID_RETURN_IF_ERROR(CheckKind(steps.recipe, *batch));
  LIQUID_RETURN_IF_ERROR(CheckSizes(*batch));
  const ImageInfo& first = batch->rows[0];
  LIQUID_RETURN_IF_ERROR(PlanImageDevice(
      steps.recipe, batch->inputs, first.channels, first.bits, &batch->images));
  for (size_t i = 0; i < n; ++i) {
    batch->files[i].window = batch->images.windows[i];
  }
  batch->has_recipe = true;
  return OkStatus();
}

Status CheckMean(const DeviceMean& mean, const L3DeviceOutput& output) {
  if (mean.channels != output.channels) {
    return InvalidArgument("mean_image must have " +
                           std::to_string(output.channels) +
                           " channels, as the images have; it has " +
                           std::to_string(mean.channels));
  }
  return CheckMeanSize(mean.height, mean.width, output.height, output.width);
}

bool IsFloating(PixelType type) {
  return type != PixelType::kUint8 && type != PixelType::kUint16;
}

Status FindTypes(uint8_t bits, PixelType type, std::string* types) {
  const PixelType stored = bits == 16 ? PixelType::kUint16 : PixelType::kUint8;
  if (type != stored && !IsFloating(type)) {
    return InvalidArgument(std::string("dtype (") + NameOf(type).name +
                           ") must be float, half, bfloat16 or the stored " +
                           NameOf(stored).name);
  }
  *types = std::string(NameOf(stored).kernel) + "_" + NameOf(type).kernel;
  return OkStatus();
}

}  // namespace

void AddRecords(const std::vector<RecordPtr>& records,
                const std::vector<SamplePlan>& plans,
                const std::vector<std::shared_ptr<DeviceMove>>& moves,
                DeviceBatch* batch) {
  const BufferPool& pool = BufferPool::Process();
  for (size_t i = 0; i < records.size(); ++i) {
    const Record& record = *records[i];
    const ByteSpan bytes = record.content.image;
    L3DeviceFile file = {
        bytes, {}, -1, pool.IsLocked(bytes.data), record.content.index};
    if (record.on_device != nullptr) {
      file.bytes.size = record.image_bytes;
      file.outline = record.image_outline;
      file.on_device = record.on_device->address();
    } else if (moves[i] != nullptr && !moves[i]->is_begun.exchange(true)) {
      file.on_device = moves[i]->to->address();
      file.is_moved = true;
      batch->moved.push_back({static_cast<uint32_t>(i), records[i], moves[i]});
    }
    batch->files.push_back(file);
    batch->inputs.push_back({&plans[i], record.row.height, record.row.width});
    batch->rows.push_back(record.row.image());
  }
}

void EndMoves(DeviceBatch* batch) {
  for (const DeviceBatch::Moved& moved : batch->moved) {
    // The budget has counted only what stays in memory of one that is moved.
    RecordPtr there;
    if (batch->files[moved.file].is_moved &&
        !MakeDeviceRecord(*moved.record, batch->tasks.limits, moved.move->to,
                          &there)
             .ok()) {
      there = nullptr;
    }
    moved.move->promise->Fulfil(std::move(there));
  }
  batch->moved.clear();
}

Status PlanDeviceBatch(const DeviceSteps& steps, const L3Parallel& parallel,
                       DeviceBatch* batch) {
  // Plans were made by what the rows say.
  for (size_t i = 0; i < batch->rows.size(); ++i) {
    LIQUID_RETURN_IF_ERROR(
        CheckL3File(batch->files[i], i, batch->rows[i], steps.limits));
  }
  LIQUID_RETURN_IF_ERROR(PlanImages(steps, batch));
  // Only records have what that takes, an index and a recipe.
  if (!batch->inputs.empty()) {
    LIQUID_RETURN_IF_ERROR(
        batch->jpeg.Prepare(steps.limits, parallel, &batch->files));
  }
  LIQUID_RETURN_IF_ERROR(PlanL3Device(batch->files, steps.limits, &batch->tasks,
                                      batch->images.chunks));
  const ImageInfo& image = batch->tasks.image;
  const uint32_t height =
      batch->has_recipe ? batch->images.height : image.height;
  const uint32_t width = batch->has_recipe ? batch->images.width : image.width;
  L3DeviceOutput& output = batch->output;
  output = {};
  output.height = height;
  output.width = width;
  output.channels = image.channels;
  output.planar = steps.planar;
  // Records have checksums of their own, of all their bytes.
  output.verified = !batch->inputs.empty();
  LIQUID_RETURN_IF_ERROR(
      ReadChannels(steps.mean, "mean", false, image.channels, output.mean));
  LIQUID_RETURN_IF_ERROR(
      ReadChannels(steps.std, "std", true, image.channels, output.std));
  LIQUID_RETURN_IF_ERROR(FindTypes(image.bits, steps.type, &batch->types));
  const bool has_mean_image = steps.mean_image.address != 0;
  if (!IsFloating(steps.type) &&
      (has_mean_image || !batch->images.erasures.empty())) {
    return InvalidArgument(std::string("dtype (") + NameOf(steps.type).name +
                           ") must be float, half or bfloat16 where " +
                           (has_mean_image ? "a mean image is subtracted"
                                           : "a part of an image is erased"));
  }
  if (has_mean_image) {
    LIQUID_RETURN_IF_ERROR(CheckMean(steps.mean_image, output));
    output.mean_image = steps.mean_image.address;
  }
  batch->shape = {static_cast<int64_t>(batch->files.size()), height, width,
                  image.channels};
  if (steps.planar) {
    batch->shape = {batch->shape[0], image.channels, height, width};
  }
  return OkStatus();
}

}  // namespace liquid
