#include "ops/direct/direct_loader.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ops/direct/images.h"
#include "ops/direct/problem.h"
#include "ops/engine/loader.h"
#include "ops/gpu/loader/device_batches.h"
#include "ops/http/url.h"
#include "ops/reader/path_opener.h"

struct LiquidLoader {
  std::unique_ptr<liquid::Loader> loader;
  std::unique_ptr<liquid::DeviceBatches> on_gpu;  // or null
  std::mutex calls;  // of what only one thread at once may do
};

namespace liquid {
namespace {

constexpr std::pair<StatusCode, LiquidStatus> kCodes[] = {
    {StatusCode::kOk, kLiquidOk},
    {StatusCode::kInvalidArgument, kLiquidInvalidArgument},
    {StatusCode::kNotFound, kLiquidNotFound},
    {StatusCode::kDataLoss, kLiquidDataLoss},
    {StatusCode::kResourceExhausted, kLiquidResourceExhausted},
    {StatusCode::kUnimplemented, kLiquidUnimplemented},
    {StatusCode::kUnavailable, kLiquidUnavailable},
    {StatusCode::kCancelled, kLiquidCancelled},
    {StatusCode::kFailedPrecondition, kLiquidFailedPrecondition},
    {StatusCode::kInternal, kLiquidInternal}};
constexpr std::pair<DType, LiquidDType> kTypes[] = {
    {DType::kBool, kLiquidBool},         {DType::kUint8, kLiquidUint8},
    {DType::kUint16, kLiquidUint16},     {DType::kInt32, kLiquidInt32},
    {DType::kInt64, kLiquidInt64},       {DType::kFloat16, kLiquidFloat16},
    {DType::kBfloat16, kLiquidBfloat16}, {DType::kFloat32, kLiquidFloat32},
    {DType::kFloat64, kLiquidFloat64},   {DType::kString, kLiquidString},
    {DType::kRecords, kLiquidRecords}};
constexpr std::pair<PixelType, LiquidDType> kPixels[] = {
    {PixelType::kUint8, kLiquidUint8},
    {PixelType::kUint16, kLiquidUint16},
    {PixelType::kFloat32, kLiquidFloat32},
    {PixelType::kFloat16, kLiquidFloat16},
    {PixelType::kBfloat16, kLiquidBfloat16}};

template <typename Pairs>
constexpr bool AreEqual(const Pairs& pairs) {
  for (const auto& [ours, given] : pairs) {
    if (static_cast<int32_t>(ours) != static_cast<int32_t>(given)) return false;
  }
  return true;
}
static_assert(AreEqual(kCodes) && AreEqual(kTypes),
              "the numbers of direct_loader.h must be those of the engine");

// Values in one array that a caller gives, at most: no size of it overflows.
constexpr uint64_t kMostValues = uint64_t{1} << 40;

// Copies an array that a caller gives.
template <typename T>
Status Copy(const char* name, const T* data, uint64_t size,
            std::vector<T>* values) {
  if (size > kMostValues || (data == nullptr && size > 0)) {
    return InvalidArgument(std::string(name) + " (" + std::to_string(size) +
                           " values) must be an array of at most " +
                           std::to_string(kMostValues));
  }
  if (size > 0) values->assign(data, data + size);
  return OkStatus();
}

Status Copy(const char* name, const LiquidNumbers& given,
            std::vector<int64_t>* values) {
  return Copy(name, given.data, given.size, values);
}

template <typename Message>
Status Parse(const char* name, const LiquidBytes& bytes, Message* message) {
  if (bytes.data == nullptr) {
    return InvalidArgument(std::string(name) + " must be given");
  }
  const Status parsed = ParseMessage(ByteSpan(bytes.data, bytes.size), message);
  if (parsed.ok()) return OkStatus();
  return Status(parsed.code(), std::string(name) + ": " + parsed.message());
}

// The error of a path that only TensorFlow's file systems read.
Status CheckPath(const std::string& path) {
  if (IsLocalPath(path) || IsClientUrl(path)) return OkStatus();
  return Unimplemented(path +
                       ": a loader reads local files, http://, https:// and "
                       "s3://; liquid_tf.dataset reads others too, by the "
                       "file systems of TensorFlow");
}

// Before any is opened: on_error="skip" would leave out what cannot be.
Status CheckPaths(const FormatMessage& message) {
  LIQUID_RETURN_IF_ERROR(CheckPath(message.index));
  LIQUID_RETURN_IF_ERROR(CheckPath(message.pcr_index));
  for (const auto* paths : {&message.paths, &message.replica_paths}) {
    for (const std::string& path : *paths) {
      LIQUID_RETURN_IF_ERROR(CheckPath(path));
    }
  }
  return OkStatus();
}

Opener OpenerOf(const FormatMessage& message, ReadMode mode) {
  FileAccess access;
  access.mode = mode;
  access.patience = static_cast<double>(message.patience);
  Opener others;
  others.shard = [](const std::string& path, std::unique_ptr<RandomFile>*) {
    return CheckPath(path);
  };
  others.load = [](const std::string& path, ByteSpan*,
                   std::shared_ptr<const void>*) { return CheckPath(path); };
  return MakeOpener(access, std::move(others));
}

Status ReadDraws(const LiquidDraws& given, DrawConfig* draws) {
  LIQUID_RETURN_IF_ERROR(
      Parse("the InterleaveMessage", given.message, &draws->message));
  LIQUID_RETURN_IF_ERROR(
      Copy("groups", given.groups, given.groups_size, &draws->groups));
  LIQUID_RETURN_IF_ERROR(Copy("record_blocks", given.record_blocks,
                              given.record_blocks_size, &draws->record_blocks));
  std::vector<LiquidFormat> formats;
  LIQUID_RETURN_IF_ERROR(
      Copy("formats", given.formats, given.formats_size, &formats));
  draws->formats.resize(formats.size());
  draws->chosen.resize(formats.size());
  for (size_t f = 0; f < formats.size(); ++f) {
    const std::string name = "the FormatMessage of format " + std::to_string(f);
    LIQUID_RETURN_IF_ERROR(
        Parse(name.c_str(), formats[f].message, &draws->formats[f]));
    LIQUID_RETURN_IF_ERROR(CheckPaths(draws->formats[f]));
    const LiquidBytes& chosen = formats[f].chosen;
    LIQUID_RETURN_IF_ERROR(
        Copy("chosen", chosen.data, chosen.size, &draws->chosen[f]));
  }
  return OkStatus();
}

Status ReadOutputs(const LiquidLoaderPlan& plan,
                   std::vector<OutputSpec>* outputs) {
  std::vector<LiquidOutput> given;
  LIQUID_RETURN_IF_ERROR(
      Copy("outputs", plan.outputs, plan.outputs_size, &given));
  for (const LiquidOutput& output : given) {
    const int32_t last = plan.gpu == nullptr ? kLiquidString : kLiquidRecords;
    if (output.dtype < 0 || output.dtype > last) {
      return InvalidArgument(
          "the dtype of output " + std::to_string(outputs->size()) + " (" +
          std::to_string(output.dtype) + ") must be a LiquidDType");
    }
    OutputSpec spec;
    spec.dtype = static_cast<DType>(output.dtype);
    LIQUID_RETURN_IF_ERROR(
        Copy("the shape of an output", output.shape, &spec.shape));
    outputs->push_back(std::move(spec));
  }
  return OkStatus();
}

Status ReadMean(const LiquidLoaderPlan& plan, MeanImage* mean) {
  uint64_t size = 1;
  for (const int64_t side : plan.mean_shape) {
    if (side < 0 || side > (1 << 20)) {
      return InvalidArgument("a side of mean_image (" + std::to_string(side) +
                             ") must be 0 to 1048576");
    }
    size *= static_cast<uint64_t>(side);
  }
  LIQUID_RETURN_IF_ERROR(
      Copy("mean_image", plan.mean_image, size, &mean->values));
  if (size == 0) return OkStatus();
  mean->height = plan.mean_shape[0];
  mean->width = plan.mean_shape[1];
  return OkStatus();
}

PoolBatchAllocator* Allocator() {
  static auto* const allocator = new PoolBatchAllocator();
  return allocator;
}

Status DecodeOn(const LiquidGpu& gpu, const DecodeMessage& message,
                const MeanImage& mean, LiquidLoader* loader) {
  std::vector<int32_t> dtypes;
  LIQUID_RETURN_IF_ERROR(Copy("dtypes", gpu.dtypes, gpu.dtypes_size, &dtypes));
  std::vector<PixelType> types;
  for (const int32_t dtype : dtypes) {
    const auto* const type =
        std::find_if(std::begin(kPixels), std::end(kPixels),
                     [&](const auto& one) { return one.second == dtype; });
    if (type == std::end(kPixels)) {
      return InvalidArgument("the dtype of images (" + std::to_string(dtype) +
                             ") must be one of pixels");
    }
    types.push_back(type->first);
  }
  return DeviceBatches::Create(loader->loader.get(), message, mean, gpu.number,
                               types, gpu.cache_bytes, Warn, &loader->on_gpu);
}

Status Create(const LiquidLoaderPlan& plan, LiquidLoader** made) {
  LoaderConfig config;
  LIQUID_RETURN_IF_ERROR(ReadDraws(plan.draws, &config.draws));
  LIQUID_RETURN_IF_ERROR(
      Parse("the DecodeMessage", plan.decode, &config.decode));
  LIQUID_RETURN_IF_ERROR(ReadOutputs(plan, &config.outputs));
  LIQUID_RETURN_IF_ERROR(ReadMean(plan, &config.mean));
  config.opener = OpenerOf;
  config.warn = [](const std::string& why) {
    Warn("the tier of the cache is off, and training goes on without it: " +
         why);
  };
  auto loader = std::make_unique<LiquidLoader>();
  const DecodeMessage decode = config.decode;
  const MeanImage mean = config.mean;
  LIQUID_RETURN_IF_ERROR(
      Loader::Create(std::move(config), Allocator(), &loader->loader));
  if (plan.gpu != nullptr) {
    LIQUID_RETURN_IF_ERROR(DecodeOn(*plan.gpu, decode, mean, loader.get()));
  }
  *made = loader.release();
  return OkStatus();
}

// Calls `work` of a loader as Guarded does, unless a parent has it.
template <typename Work>
int32_t OfLoader(LiquidLoader* loader, LiquidProblem problem,
                 const Work& work) {
  return static_cast<int32_t>(Guarded(problem, [&] {
    if (loader->loader->Forked()) return BatchPipeline::ForkedError();
    return work(loader->loader.get());
  }));
}

// The same, of what only one thread may do at once.
template <typename Work>
int32_t Alone(LiquidLoader* loader, LiquidProblem problem, const Work& work) {
  return OfLoader(loader, problem, [&](Loader* alone) {
    std::lock_guard<std::mutex> lock(loader->calls);
    return work(alone);
  });
}

Status Seek(Loader* loader, int64_t epoch, uint64_t step,
            const LiquidNumbers& cached, const LiquidNumbers& mixes,
            const LiquidDraws* rest) {
  std::vector<int64_t> cached_records, begun;
  LIQUID_RETURN_IF_ERROR(Copy("cached", cached, &cached_records));
  LIQUID_RETURN_IF_ERROR(Copy("mixes", mixes, &begun));
  DrawConfig draws;
  if (rest != nullptr) LIQUID_RETURN_IF_ERROR(ReadDraws(*rest, &draws));
  // What is negative is too much: the planner says so.
  return loader->Seek(epoch, step,
                      {cached_records.begin(), cached_records.end()}, begun,
                      rest == nullptr ? nullptr : &draws);
}

Status Begin(LiquidLoader* of, const LiquidEpoch& epoch) {
  Loader* const loader = of->loader.get();
  Loader::EpochStart start;
  LIQUID_RETURN_IF_ERROR(Copy("fidelity", epoch.fidelity, &start.fidelity));
  LIQUID_RETURN_IF_ERROR(Copy("borrowed", epoch.borrowed, &start.borrowed));
  LIQUID_RETURN_IF_ERROR(Copy("skipped", epoch.skipped, &start.skipped));
  const LiquidMixes& given = epoch.mixes;
  if (given.epochs > kMostValues / loader->formats()) {
    return InvalidArgument("epochs of mixes (" + std::to_string(given.epochs) +
                           ") must be at most that of the epoch");
  }
  const uint64_t size = given.epochs * loader->formats();
  MixNumbers& mixes = start.mixes;
  LIQUID_RETURN_IF_ERROR(
      Copy("samples of mixes", given.samples, size, &mixes.samples));
  LIQUID_RETURN_IF_ERROR(
      Copy("cached of mixes", given.cached, size, &mixes.cached));
  LIQUID_RETURN_IF_ERROR(Copy("fill of mixes", given.fill, size, &mixes.fill));
  LIQUID_RETURN_IF_ERROR(
      Copy("resident of mixes", given.resident, size, &mixes.resident));
  LIQUID_RETURN_IF_ERROR(Copy("kept of mixes", given.kept, size, &mixes.kept));
  if (of->on_gpu != nullptr) of->on_gpu->Stop();
  LIQUID_RETURN_IF_ERROR(loader->Begin(start));
  return of->on_gpu == nullptr ? OkStatus() : of->on_gpu->Start();
}

// A batch, and what its pointers point to.
class OwnedBatch : public LiquidBatch {
 public:
  // `images`, or none: the arrays of output `stored`. Error: Unavailable.
  static Status Create(Loader::Batch batch,
                       std::vector<std::shared_ptr<const DeviceImages>> images,
                       size_t stored, LiquidBatch** made) {
    std::unique_ptr<OwnedBatch> owned(new OwnedBatch());
    const size_t count = batch.outputs.size();
    owned->values_.resize(count);
    owned->shapes_.resize(count);
    owned->offsets_.resize(count);
    owned->arrays_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      if (!images.empty() && i == stored) continue;
      LIQUID_RETURN_IF_ERROR(owned->Add(i, std::move(batch.outputs[i])));
    }
    owned->gpu_shapes_.resize(images.size());
    for (std::shared_ptr<const DeviceImages>& one : images) {
      owned->AddImages(*one);
      owned->images_.push_back(std::make_unique<LiquidImages>(std::move(one)));
    }
    if (!images.empty()) owned->arrays_[stored] = owned->on_gpu_.front();
    owned->borrowed_ = std::move(batch.borrowed);
    owned->skipped_ = std::move(batch.skipped);
    LiquidBatch& given = *owned;
    given.outputs = owned->arrays_.data();
    given.outputs_size = count;
    given.images = owned->on_gpu_.data();
    given.images_size = owned->on_gpu_.size();
    given.next = {batch.epoch, batch.step, batch.rest};
    given.borrowed = Numbers(owned->borrowed_);
    given.skipped = Numbers(owned->skipped_);
    *made = owned.release();
    return OkStatus();
  }

  // Whether a parent has the memory's pool, whose lock may be taken for ever.
  bool Forked() const { return getpid() != process_; }

  LiquidImages* TakeImages(uint64_t number) {
    return number < images_.size() ? images_[number].release() : nullptr;
  }

 private:
  OwnedBatch() : LiquidBatch() {}

  static LiquidNumbers Numbers(const std::vector<int64_t>& numbers) {
    return {numbers.data(), numbers.size()};
  }

  void AddImages(const DeviceImages& images) {
    std::vector<int64_t>& shape = gpu_shapes_[on_gpu_.size()];
    shape = images.shape();
    LiquidArray array = {};
    for (const auto& [type, dtype] : kPixels) {
      if (type == images.type()) array.dtype = dtype;
    }
    array.shape = Numbers(shape);
    on_gpu_.push_back(array);
  }

  Status Add(size_t i, Output output) {
    shapes_[i] = std::move(output.shape);
    if (output.dtype == DType::kString) {
      LIQUID_RETURN_IF_ERROR(Join(output.texts, &values_[i], &offsets_[i]));
    } else {
      values_[i] = std::move(output.numbers);
    }
    LiquidArray& array = arrays_[i];
    array.dtype = static_cast<int32_t>(output.dtype);
    array.shape = Numbers(shapes_[i]);
    array.data = values_[i].data();
    array.offsets =
        output.dtype == DType::kString ? offsets_[i].data() : nullptr;
    return OkStatus();
  }

  // All strings in one array.
  static Status Join(const std::vector<Output::Text>& texts, Array* bytes,
                     std::vector<uint64_t>* offsets) {
    offsets->reserve(texts.size() + 1);
    uint64_t end = 0;
    for (const Output::Text& text : texts) {
      offsets->push_back(end);
      end += text.bytes.size;
    }
    offsets->push_back(end);
    LIQUID_RETURN_IF_ERROR(Allocator()->Allocate(
        DType::kUint8, {static_cast<int64_t>(end)}, bytes));
    for (size_t i = 0; i < texts.size(); ++i) {
      const ByteSpan text = texts[i].bytes;
      if (text.size == 0) continue;
      std::memcpy(bytes->data() + (*offsets)[i], text.data, text.size);
    }
    return OkStatus();
  }

  const pid_t process_ = getpid();
  std::vector<Array> values_;
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<std::vector<uint64_t>> offsets_;
  std::vector<LiquidArray> arrays_;
  std::vector<int64_t> borrowed_, skipped_;
  std::vector<std::vector<int64_t>> gpu_shapes_;
  std::vector<LiquidArray> on_gpu_;
  std::vector<std::unique_ptr<LiquidImages>> images_;
};

Status Next(LiquidLoader* loader, LiquidBatch** batch) {
  if (loader->on_gpu == nullptr) {
    Loader::Batch next;
    LIQUID_RETURN_IF_ERROR(loader->loader->Next(&next));
    if (next.end) return OkStatus();
    return OwnedBatch::Create(std::move(next), {}, 0, batch);
  }
  DeviceBatches::Batch next;
  LIQUID_RETURN_IF_ERROR(loader->on_gpu->Next(&next));
  if (next.batch.end) return OkStatus();
  return OwnedBatch::Create(std::move(next.batch), std::move(next.images),
                            loader->on_gpu->stored(), batch);
}

void Leave(LiquidLoader* loader) {
  if (loader->on_gpu != nullptr) loader->on_gpu->Stop();
  loader->loader->Leave();
}

Status Stats(const Loader& loader, bool batches, LiquidBytes* json) {
  const std::string text = loader.snapshot().StatsJson(batches);
  auto* const bytes = new uint8_t[text.size()];
  std::memcpy(bytes, text.data(), text.size());
  *json = {bytes, text.size()};
  return OkStatus();
}

}  // namespace
}  // namespace liquid

int32_t liquid_direct_loader_create(const LiquidLoaderPlan* plan,
                                    LiquidLoader** loader,
                                    LiquidProblem problem) {
  *loader = nullptr;
  return static_cast<int32_t>(
      liquid::Guarded(problem, [&] { return liquid::Create(*plan, loader); }));
}

void liquid_direct_loader_free(LiquidLoader* loader) {
  // Threads that a child does not have would be waited for.
  if (loader == nullptr || loader->loader->Forked()) return;
  delete loader;
}

int32_t liquid_direct_loader_seek(LiquidLoader* loader, int64_t epoch,
                                  uint64_t step, LiquidNumbers cached,
                                  LiquidNumbers mixes, const LiquidDraws* rest,
                                  LiquidProblem problem) {
  return liquid::Alone(loader, problem, [&](liquid::Loader* alone) {
    return liquid::Seek(alone, epoch, step, cached, mixes, rest);
  });
}

int32_t liquid_direct_loader_next_epoch(LiquidLoader* loader,
                                        LiquidPlace* place,
                                        LiquidProblem problem) {
  return liquid::OfLoader(loader, problem, [&](liquid::Loader* of) {
    const liquid::Snapshot::Place next = of->snapshot().Next();
    *place = {next.epoch, next.step, next.rest != nullptr};
    return liquid::OkStatus();
  });
}

int32_t liquid_direct_loader_begin(LiquidLoader* loader,
                                   const LiquidEpoch* epoch,
                                   LiquidProblem problem) {
  return liquid::Alone(loader, problem, [&](liquid::Loader*) {
    return liquid::Begin(loader, *epoch);
  });
}

int32_t liquid_direct_loader_next(LiquidLoader* loader, LiquidBatch** batch,
                                  LiquidProblem problem) {
  *batch = nullptr;
  return liquid::Alone(loader, problem, [&](liquid::Loader*) {
    return liquid::Next(loader, batch);
  });
}

int32_t liquid_direct_loader_leave(LiquidLoader* loader,
                                   LiquidProblem problem) {
  return liquid::Alone(loader, problem, [&](liquid::Loader*) {
    liquid::Leave(loader);
    return liquid::OkStatus();
  });
}

void liquid_direct_loader_cancel(LiquidLoader* loader) {
  if (loader->loader->Forked()) return;
  loader->loader->Cancel();
  if (loader->on_gpu != nullptr) loader->on_gpu->Cancel();
}

LiquidImages* liquid_direct_batch_take_images(LiquidBatch* batch,
                                              uint64_t number) {
  auto* const owned = static_cast<liquid::OwnedBatch*>(batch);
  return owned->Forked() ? nullptr : owned->TakeImages(number);
}

void liquid_direct_batch_release(LiquidBatch* batch) {
  auto* const owned = static_cast<liquid::OwnedBatch*>(batch);
  if (owned == nullptr || owned->Forked()) return;
  delete owned;
}

int32_t liquid_direct_loader_stats(LiquidLoader* loader, bool batches,
                                   LiquidBytes* json, LiquidProblem problem) {
  *json = {nullptr, 0};
  return liquid::OfLoader(loader, problem, [&](liquid::Loader* of) {
    return liquid::Stats(*of, batches, json);
  });
}

void liquid_direct_stats_free(LiquidBytes json) { delete[] json.data; }
