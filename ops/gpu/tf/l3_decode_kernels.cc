#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/dataset/source/batch_records.h"
#include "ops/gpu/driver/l3_lane.h"
#include "ops/gpu/plan/l3_plan.h"
#include "ops/gpu/tf/l3_pixels.h"
#include "ops/gpu/tf/l3_slots.h"
#include "ops/gpu/tf/l3_totals.h"
#include "ops/gpu/tf/tf_gpu.h"
#include "ops/image/device/image_plan.h"
#include "ops/image/recipe_text.h"
#include "ops/kernel/image_inputs.h"
#include "ops/kernel/tf_status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_op_registry.h"
#include "tensorflow/core/lib/core/threadpool.h"

namespace liquid {
namespace {

using ::tensorflow::AsyncOpKernel;
using ::tensorflow::DataType;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::tstring;
using ::tensorflow::Variant;

// What one thread copies, about.
constexpr int64_t kBytesPerCycle = 4;

// As l3_device.cu names types.
const char* KernelType(DataType type) {
  switch (type) {
    case tensorflow::DT_UINT8:
      return "u8";
    case tensorflow::DT_UINT16:
      return "u16";
    case tensorflow::DT_BFLOAT16:
      return "bf16";
    case tensorflow::DT_HALF:
      return "f16";
    default:
      return "f32";
  }
}

absl::Status ReadChannels(const Tensor& values, const char* name, bool positive,
                          uint32_t channels, float* out) {
  const int64_t n = values.NumElements();
  if (values.dims() != 1 || (n != 1 && n != channels)) {
    return absl::InvalidArgumentError(
        std::string(name) + " must have one element, or one for each of the " +
        std::to_string(channels) + " channels; its shape is " +
        values.shape().DebugString());
  }
  for (uint32_t c = 0; c < channels; ++c) {
    out[c] = values.vec<float>()(n == 1 ? 0 : c);
    if (!std::isfinite(out[c]) || (positive && out[c] <= 0)) {
      return absl::InvalidArgumentError(
          std::string(name) + " (" + std::to_string(out[c]) +
          ") must be a number" + (positive ? " above 0" : ""));
    }
  }
  return absl::OkStatus();
}

// Finds the files where they lie, in strings or in the records of a batch; and
// what is to become of the images, which only records have.
absl::Status FindFiles(const Tensor& files, std::vector<L3DeviceFile>* found,
                       std::vector<ImageDeviceInput>* inputs) {
  if (files.dtype() == tensorflow::DT_VARIANT) {
    const auto* const batch =
        files.dims() == 0 ? files.scalar<Variant>()().get<BatchRecords>()
                          : nullptr;
    if (batch == nullptr) {
      return absl::InvalidArgumentError(
          "files must be strings, or the records of a batch of "
          "Liquid>DecodeBatchDataset");
    }
    const BufferPool& pool = BufferPool::Process();
    for (size_t i = 0; i < batch->records.size(); ++i) {
      const Record& record = *batch->records[i];
      const ByteSpan bytes = record.content.image;
      found->push_back({bytes, {}, -1, pool.IsLocked(bytes.data)});
      inputs->push_back(
          {&batch->plans[i], record.row.height, record.row.width});
    }
    return absl::OkStatus();
  }
  if (files.dims() != 1) {
    return absl::InvalidArgumentError(
        "files must have the shape [n], their shape is " +
        files.shape().DebugString());
  }
  for (int64_t i = 0; i < files.NumElements(); ++i) {
    found->push_back({Bytes(files.vec<tstring>()(i)), {}});
  }
  return absl::OkStatus();
}

absl::Status ReadFiles(OpKernelContext* context,
                       std::vector<L3DeviceFile>* files,
                       std::vector<ImageDeviceInput>* inputs) {
  const Tensor& windows = context->input(1);
  const Tensor& samples = context->input(2);
  TF_RETURN_IF_ERROR(FindFiles(context->input(0), files, inputs));
  const auto n = static_cast<int64_t>(files->size());
  const bool are_records = context->input(0).dtype() == tensorflow::DT_VARIANT;
  if (windows.shape() != TensorShape({are_records ? 0 : n, 4}) ||
      (samples.shape() != TensorShape({n}) &&
       samples.shape() != TensorShape({0}))) {
    return absl::InvalidArgumentError(
        "windows and samples of " + std::to_string(n) +
        " files must have the shapes [n, 4], or [0, 4] of records, and [n] or "
        "[0], their shapes are " +
        windows.shape().DebugString() + " and " +
        samples.shape().DebugString());
  }
  for (int64_t i = 0; i < n; ++i) {
    L3DeviceFile& file = (*files)[i];
    if (!are_records) {
      TF_RETURN_IF_ERROR(ToTf(
          ReadWindow(windows.flat<int32_t>().data() + 4 * i, &file.window)));
    }
    if (samples.NumElements() > 0) file.sample = samples.vec<int64_t>()(i);
  }
  return absl::OkStatus();
}

// A kernel of the processor, so that a tf.data pipeline for the processor holds
// it. It ends when the pixels are complete and all their checksums have been
// found right: whoever gets them need not wait, and cannot get wrong ones.
// Until then its inputs hold the files, which nothing else may.
class DecodeL3DeviceOp : public AsyncOpKernel {
 public:
  explicit DecodeL3DeviceOp(OpKernelConstruction* context)
      : AsyncOpKernel(context) {
    OP_REQUIRES_OK(context, GetLimits(context, &limits_));
    OP_REQUIRES_OK(context, context->GetAttr("dtype", &type_));
    OP_REQUIRES_OK(context, context->GetAttr("planar", &planar_));
    OP_REQUIRES_OK(context, context->GetAttr("device", &device_));
    std::vector<std::string> recipe;
    OP_REQUIRES_OK(context, context->GetAttr("recipe", &recipe));
    RecipeText text;
    OP_REQUIRES_OK(context, ToTf(ParseRecipe(recipe, &text)));
    recipe_ = text.recipe;
  }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    const absl::Status status = Start(context, done);
    if (status.ok()) return;
    context->SetStatus(status);
    done();
  }

 private:
  // A batch that is being decoded.
  struct Work {
    std::vector<L3DeviceFile> files;
    L3DeviceBatch batch;
    ImageDeviceBatch images;
    const ImageDeviceBatch* recipe = nullptr;  // images, or none
    size_t crossing = 0;                       // bytes
    TfGpu gpu;
    TensorShape shape;
    L3Slot* slot = nullptr;
  };

  absl::Status Start(OpKernelContext* context, DoneCallback done) {
    auto work = std::make_shared<Work>();
    std::vector<ImageDeviceInput> inputs;
    TF_RETURN_IF_ERROR(ReadFiles(context, &work->files, &inputs));
    TF_RETURN_IF_ERROR(FindTfGpu(context, device_, &work->gpu));
    TF_RETURN_IF_ERROR(PlanImages(inputs, work.get()));
    L3DeviceBatch& batch = work->batch;
    TF_RETURN_IF_ERROR(
        ToTf(PlanL3Device(work->files, limits_, &batch, work->images.chunks)));
    ImageInfo image = batch.image;
    if (work->recipe != nullptr) {
      image.height = work->recipe->height;
      image.width = work->recipe->width;
    }
    L3DeviceOutput output = {image.height, image.width, image.channels,
                             planar_,      {},          {}};
    // Records have checksums of their own, of all their bytes.
    output.verified = context->input(0).dtype() == tensorflow::DT_VARIANT;
    TF_RETURN_IF_ERROR(ReadChannels(context->input(3), "mean", false,
                                    image.channels, output.mean));
    TF_RETURN_IF_ERROR(ReadChannels(context->input(4), "std", true,
                                    image.channels, output.std));
    std::string types;
    TF_RETURN_IF_ERROR(FindTypes(image, &types));
    const int64_t n = static_cast<int64_t>(work->files.size());
    work->shape =
        planar_ ? TensorShape({n, image.channels, image.height, image.width})
                : TensorShape({n, image.height, image.width, image.channels});
    const L3LaneLayout layout(batch, work->files, work->recipe);
    work->crossing = layout.size;
    TF_RETURN_IF_ERROR(slots_.Take(work->gpu, type_, work->shape,
                                   layout.device_size, &work->slot));
    L3Slot& slot = *work->slot;
    const L3LaneMemory memory = {
        reinterpret_cast<CuAddress>(slot.staging.data()),
        reinterpret_cast<CuAddress>(slot.pixels.data())};
    auto* const workers =
        context->device()->tensorflow_cpu_worker_threads()->workers;
    // One thread copies slower than a bus does.
    const auto n_copies = static_cast<int64_t>(layout.gathered.size());
    const auto fill = [&](uint8_t* bytes) {
      if (n_copies == 0) return;
      const L3DeviceCopy* const copies = layout.gathered.data();
      workers->ParallelFor(
          n_copies,
          (layout.host_size - layout.bytes) / n_copies / kBytesPerCycle,
          [&](int64_t first, int64_t last) {
            CopyL3Files(work->files, copies + first, copies + last, bytes);
          });
    };
    const Status started = slot.lane->Start(
        batch, work->recipe, layout, fill, output, types, memory,
        [this, context, work, workers, done](CuResult result) {
          // What follows may call the driver, which its own thread must not.
          workers->Schedule([this, context, work, result, done] {
            const absl::Status ended = End(context, result, work.get());
            slots_.Return(work->slot);
            if (!ended.ok()) context->SetStatus(ended);
            done();
          });
        });
    if (!started.ok()) slots_.Return(&slot);
    return ToTf(started);
  }

  // Gives files their windows, where the plans of records say them.
  absl::Status PlanImages(const std::vector<ImageDeviceInput>& inputs,
                          Work* work) const {
    bool needs_recipe = type_ == tensorflow::DT_HALF;
    for (const ImageDeviceInput& input : inputs) {
      needs_recipe = needs_recipe || NeedsDeviceRecipe(*input.plan);
    }
    if (inputs.empty()) {
      if (!needs_recipe) return absl::OkStatus();
      return absl::InvalidArgumentError(
          "dtype must not be half where files are strings");
    }
    for (size_t i = 0; i < inputs.size() && !needs_recipe; ++i) {
      Window& window = work->files[i].window;
      window = inputs[i].plan->part;
      window.y += inputs[i].plan->window.y;
      window.x += inputs[i].plan->window.x;
    }
    if (!needs_recipe) return absl::OkStatus();
    Format format;
    ImageInfo info;
    const ByteSpan first = work->files[0].bytes;
    TF_RETURN_IF_ERROR(ToTf(SniffFormat(first, &format)));
    TF_RETURN_IF_ERROR(ToTf(Peek(format, first, limits_, &info)));
    TF_RETURN_IF_ERROR(ToTf(PlanImageDevice(recipe_, inputs, info.channels,
                                            info.bits, &work->images)));
    for (size_t i = 0; i < inputs.size(); ++i) {
      work->files[i].window = work->images.windows[i];
    }
    work->recipe = &work->images;
    return absl::OkStatus();
  }

  absl::Status FindTypes(const ImageInfo& image, std::string* types) const {
    const DataType stored =
        image.bits == 16 ? tensorflow::DT_UINT16 : tensorflow::DT_UINT8;
    const bool is_float = type_ == tensorflow::DT_FLOAT ||
                          type_ == tensorflow::DT_BFLOAT16 ||
                          type_ == tensorflow::DT_HALF;
    if (type_ != stored && !is_float) {
      return absl::InvalidArgumentError(
          "dtype (" + tensorflow::DataTypeString(type_) +
          ") must be float, half, bfloat16 or the stored " +
          tensorflow::DataTypeString(stored));
    }
    *types = std::string(KernelType(stored)) + "_" + KernelType(type_);
    return absl::OkStatus();
  }

  absl::Status End(OpKernelContext* context, CuResult result, Work* work) {
    L3LaneTimes times;
    TF_RETURN_IF_ERROR(ToTf(work->slot->lane->Ended(result, &times)));
    const L3DeviceBatch& batch = work->batch;
    TF_RETURN_IF_ERROR(ToTf(CheckL3Device(
        batch.tasks.data(), batch.origins.data(), work->slot->lane->results(),
        batch.tasks.size(), work->files)));
    L3Totals::Process().Add(work->shape.dim_size(0),
                            static_cast<int64_t>(work->crossing), times);
    const Tensor& pixels = work->slot->pixels;
    Variant made = L3Pixels{pixels.shape() == work->shape
                                ? pixels
                                : pixels.Slice(0, work->shape.dim_size(0)),
                            work->gpu.device->UnderlyingDevice()};
    return SetScalar<Variant>(context, 0, made);
  }

  DecodeLimits limits_;
  DataType type_;
  bool planar_ = false;
  std::string device_;
  Recipe recipe_;
  L3Slots slots_;
};

// The pixels as a tensor of the GPU.
class L3DevicePixelsOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const Tensor& input = context->input(0);
    const L3Pixels* const found =
        tensorflow::TensorShapeUtils::IsScalar(input.shape())
            ? input.scalar<Variant>()().get<L3Pixels>()
            : nullptr;
    OP_REQUIRES(context, found != nullptr,
                absl::InvalidArgumentError(
                    "pixels must be what Liquid>DecodeL3Device gives"));
    const auto* const here = context->device()->UnderlyingDevice();
    OP_REQUIRES(context, found->device == here,
                absl::InvalidArgumentError(
                    found->DebugString() + " are asked for on " + here->name() +
                    ": decode and use a batch on one device"));
    OP_REQUIRES(
        context, found->pixels.dtype() == output_type(0),
        absl::InvalidArgumentError(
            "pixels are of " +
            tensorflow::DataTypeString(found->pixels.dtype()) +
            ", and dtype is " + tensorflow::DataTypeString(output_type(0))));
    context->set_output(0, found->pixels);
  }
};

absl::Status CopyPixels(
    const L3Pixels& from, L3Pixels* to,
    const tensorflow::UnaryVariantOpRegistry::AsyncTensorDeviceCopyFn&
    /*copy*/) {
  *to = from;
  return absl::OkStatus();
}

REGISTER_KERNEL_BUILDER(
    Name("Liquid>DecodeL3Device").Device(tensorflow::DEVICE_CPU),
    DecodeL3DeviceOp);
REGISTER_KERNEL_BUILDER(
    Name("Liquid>L3DevicePixels").Device(tensorflow::DEVICE_GPU),
    L3DevicePixelsOp);

}  // namespace
}  // namespace liquid

// Their macro wants to be there.
namespace tensorflow {

INTERNAL_REGISTER_UNARY_VARIANT_DEVICE_COPY_FUNCTION(
    liquid::L3Pixels, VariantDeviceCopyDirection::HOST_TO_DEVICE,
    liquid::CopyPixels);
INTERNAL_REGISTER_UNARY_VARIANT_DEVICE_COPY_FUNCTION(
    liquid::L3Pixels, VariantDeviceCopyDirection::DEVICE_TO_HOST,
    liquid::CopyPixels);
INTERNAL_REGISTER_UNARY_VARIANT_DEVICE_COPY_FUNCTION(
    liquid::L3Pixels, VariantDeviceCopyDirection::DEVICE_TO_DEVICE,
    liquid::CopyPixels);

}  // namespace tensorflow
