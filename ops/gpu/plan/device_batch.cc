#include "ops/gpu/plan/device_batch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/core/buffer_pool.h"
#include "ops/gpu/plan/device_record.h"
#include "ops/image/recipe_text.h"

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

Status CheckSizes(const DeviceSteps& steps, const DeviceBatch& batch) {
  const size_t views = steps.views();
  for (size_t i = 0; i < batch.inputs.size(); ++i) {
    // Of the view, or of all.
    const Window& first =
        batch.inputs[steps.stacked ? 0 : i % views].plan->part;
    const Window& part = batch.inputs[i].plan->part;
    if (part.height == first.height && part.width == first.width) continue;
    const size_t image = i / views;
    return InvalidArgument(
        NameL3Image(image, batch.files[image].sample) + " becomes one of " +
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

// Whether a recipe's kernels make the pixels.
bool NeedsRecipe(const DeviceSteps& steps, const DeviceBatch& batch) {
  return steps.views() > 1 || !batch.blends.empty() ||
         steps.mean_image.address != 0 || steps.type == PixelType::kFloat16 ||
         std::any_of(batch.inputs.begin(), batch.inputs.end(),
                     [](const ImageDeviceInput& input) {
                       return NeedsDeviceRecipe(*input.plan);
                     }) ||
         (!batch.inputs.empty() &&
          std::any_of(
              batch.files.begin(), batch.files.end(),
              [](const L3DeviceFile& file) { return IsJpegFile(file.bytes); }));
}

// Gives files their windows, where the plans of records say them.
Status PlanImages(const DeviceSteps& steps, DeviceBatch* batch) {
  const bool needs_recipe = NeedsRecipe(steps, *batch);
  if (batch->inputs.empty()) {
    if (!needs_recipe) return OkStatus();
    return InvalidArgument(
        std::string(steps.views() > 1        ? "views must not be given"
                    : !batch->blends.empty() ? "images must not be mixed"
                    : steps.mean_image.address != 0
                        ? "mean_image must not be given"
                        : "dtype must not be half") +
        " where files are strings");
  }
  const size_t n = batch->files.size();
  for (size_t i = 0; i < n && !needs_recipe; ++i) {
    const SamplePlan& plan = *batch->inputs[i].plan;
    Window& window = batch->files[i].window;
    window = plan.part;
    window.y += plan.window.y;
    window.x += plan.window.x;
  }
  if (!needs_recipe) return OkStatus();
  std::vector<const Recipe*> recipes;
  for (size_t v = 0; v < steps.views(); ++v) {
    recipes.push_back(&steps.ViewOf(v).recipe);
    LIQUID_RETURN_IF_ERROR(CheckKind(*recipes.back(), *batch));
  }
  LIQUID_RETURN_IF_ERROR(CheckSizes(steps, *batch));
  const ImageInfo& first = batch->rows[0];
  size_t failed = 0;
  const Status planned =
      PlanImageDevice(recipes, steps.stacked, batch->inputs, first.channels,
                      first.bits, &batch->images, &failed);
  if (!planned.ok()) {
    return Status(planned.code(),
                  NameL3Image(failed, batch->files[failed].sample) + ": " +
                      planned.message());
  }
  for (size_t i = 0; i < n; ++i) {
    batch->files[i].window = batch->images[0].windows[i];
  }
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

// Finds the output of a view, and its types.
Status PlanOutput(const DeviceView& view, size_t number, DeviceBatch* batch) {
  const ImageInfo& image = batch->tasks.image;
  const ImageDeviceBatch* const made =
      batch->images.empty() ? nullptr : &batch->images[number];
  L3DeviceOutput output = {};
  output.height = made != nullptr ? made->height : image.height;
  output.width = made != nullptr ? made->width : image.width;
  output.channels = image.channels;
  output.planar = view.planar;
  // Records have checksums of their own, of all their bytes.
  output.verified = !batch->inputs.empty();
  LIQUID_RETURN_IF_ERROR(
      ReadChannels(view.mean, "mean", false, image.channels, output.mean));
  LIQUID_RETURN_IF_ERROR(
      ReadChannels(view.std, "std", true, image.channels, output.std));
  batch->types.emplace_back();
  LIQUID_RETURN_IF_ERROR(
      FindTypes(image.bits, view.type, &batch->types.back()));
  const bool has_mean_image = view.mean_image.address != 0;
  const bool erases = made != nullptr && !made->erasures.empty();
  if (!IsFloating(view.type) && (has_mean_image || erases)) {
    return InvalidArgument(std::string("dtype (") + NameOf(view.type).name +
                           ") must be float, half or bfloat16 where " +
                           (has_mean_image ? "a mean image is subtracted"
                                           : "a part of an image is erased"));
  }
  if (has_mean_image) {
    LIQUID_RETURN_IF_ERROR(CheckMean(view.mean_image, output));
    output.mean_image = view.mean_image.address;
  }
  batch->outputs.push_back(output);
  return OkStatus();
}

// Has the images of a batch be mixed, once they are planned.
Status PlanBlends(const DeviceSteps& steps, DeviceBatch* batch) {
  if (batch->blends.size() != batch->inputs.size() ||
      batch->arrays.size() != 1 || !IsFloating(steps.type)) {
    return InvalidArgument(
        "images that are mixed must be of one array, of floating-point "
        "numbers");
  }
  for (const Blend& blend : batch->blends) {
    const ImageBlend kind = blend.cut       ? ImageBlend::kCut
                            : blend.mixed() ? ImageBlend::kMix
                                            : ImageBlend::kNone;
    const Window& window = blend.window;
    batch->images[0].blends.push_back({blend.partner, kind, blend.share,
                                       blend.rest, window.y, window.x,
                                       window.height, window.width});
  }
  return OkStatus();
}

// Stacked views are of one array.
Status CheckAlike(const DeviceSteps& steps) {
  for (const DeviceView& view : steps.more_views) {
    if (view.type == steps.type && view.planar == steps.planar) continue;
    return InvalidArgument(
        "views that are stacked must be of one type and "
        "layout");
  }
  return OkStatus();
}

Status Plan(const DeviceSteps& steps, const L3Parallel& parallel,
            DeviceBatch* batch) {
  const size_t n = batch->files.size();
  if (!batch->inputs.empty() && batch->inputs.size() != n * steps.views()) {
    return InvalidArgument("views (" + std::to_string(steps.views()) +
                           ") must be as many as those of the records' plans");
  }
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
                                      batch->images.empty()
                                          ? std::vector<ImageDeviceChunk>()
                                          : batch->images[0].chunks));
  if (steps.stacked) LIQUID_RETURN_IF_ERROR(CheckAlike(steps));
  for (size_t v = 0; v < steps.views(); ++v) {
    const DeviceView& view = steps.ViewOf(v);
    LIQUID_RETURN_IF_ERROR(PlanOutput(view, v, batch));
    if (steps.stacked && v > 0) continue;
    const L3DeviceOutput& output = batch->outputs.back();
    const auto images =
        static_cast<int64_t>(steps.stacked ? n * steps.views() : n);
    std::vector<int64_t> shape = {images, output.height, output.width,
                                  output.channels};
    if (view.planar) {
      shape = {images, output.channels, output.height, output.width};
    }
    batch->arrays.push_back({view.type, std::move(shape)});
  }
  return batch->blends.empty() ? OkStatus() : PlanBlends(steps, batch);
}

}  // namespace

Status ReadDeviceView(const std::vector<std::string>& lines, PixelType type,
                      DeviceView* view) {
  RecipeText text;
  LIQUID_RETURN_IF_ERROR(ParseRecipe(lines, &text));
  view->recipe = std::move(text.recipe);
  view->type = type;
  if (!text.mean.empty()) view->mean = std::move(text.mean);
  if (!text.std.empty()) view->std = std::move(text.std);
  view->planar = text.channels_first;
  return OkStatus();
}

size_t DeviceArray::bytes() const {
  size_t size = BytesOf(type);
  for (const int64_t side : shape) size *= static_cast<size_t>(side);
  return size;
}

void AddRecords(const std::vector<RecordPtr>& records,
                const std::vector<SamplePlan>& plans,
                const std::vector<std::shared_ptr<DeviceMove>>& moves,
                DeviceBatch* batch) {
  const BufferPool& pool = BufferPool::Process();
  const size_t views = records.empty() ? 0 : plans.size() / records.size();
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
    for (size_t v = 0; v < views; ++v) {
      batch->inputs.push_back(
          {&plans[i * views + v], record.row.height, record.row.width});
    }
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
  return AdviseOnDamage(*batch, Plan(steps, parallel, batch));
}

Status AdviseOnDamage(const DeviceBatch& batch, const Status& status) {
  if (status.code() != StatusCode::kDataLoss || batch.inputs.empty()) {
    return status;
  }
  return DataLoss(status.message() +
                  "; liquid_tf.verify(path) lists all that is damaged");
}

}  // namespace liquid
