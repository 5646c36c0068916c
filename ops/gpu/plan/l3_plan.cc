#include "ops/gpu/plan/l3_plan.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/l3/device/l3_device.cuh"
#include "ops/codecs/l3/host/l3_codec.h"
#include "ops/codecs/l3/host/l3_format.h"
#include "ops/codecs/l3/host/l3_places.h"
#include "ops/codecs/raw/raw_codec.h"
#include "ops/gpu/plan/jpeg_plan.h"

namespace liquid {
namespace {

// The most of a raw image that makes a task. A block's threads number what they
// store in 32 bits.
constexpr uint32_t kL3RawRows = 16;
constexpr uint32_t kL3RawColumns = 1024;

// Plans one file after the other.
class Planner {
 public:
  Planner(const std::vector<ImageDeviceChunk>& chunks, L3DeviceBatch* batch)
      : chunks_(chunks), batch_(batch) {}

  Status Add(const L3DeviceFile& file, uint32_t number,
             const DecodeLimits& limits) {
    if (file.jpeg != nullptr) return AddJpeg(file, number);
    Format format;
    LIQUID_RETURN_IF_ERROR(SniffFormat(file.bytes, &format));
    if (format != Format::kL3 && format != Format::kL3Compact &&
        format != Format::kRaw) {
      return InvalidArgument(
          "l3: a batch for a device takes l3 and raw files, this is " +
          std::string(FormatName(format)));
    }
    L3Info info;
    if (format == Format::kRaw) {
      LIQUID_RETURN_IF_ERROR(PeekRaw(file.bytes, limits, &info.image));
    } else {
      LIQUID_RETURN_IF_ERROR(PeekL3(file.bytes, limits, &info));
    }
    file_ = number;
    bytes_ = file.bytes;
    window_ = file.window.height != 0
                  ? file.window
                  : Window{0, 0, info.image.height, info.image.width};
    LIQUID_RETURN_IF_ERROR(
        CheckRequest(FormatName(format), info.image, info.image, window_,
                     window_.width * info.image.BytesPerPixel()));
    LIQUID_RETURN_IF_ERROR(CheckSize(info.image));
    if (format == Format::kRaw) {
      AddRaw(info.image);
      return OkStatus();
    }
    return info.version == L3Version::kV1 ? AddV1(info) : AddV2(info);
  }

  // Settles what the tasks together need.
  void Finish() {
    batch_->bytes =
        (batch_->bytes + kL3PieceBytes - 1) / kL3PieceBytes * kL3PieceBytes;
    const std::vector<L3DeviceTask> planned = std::move(batch_->tasks);
    const std::vector<L3DeviceOrigin> planned_origins =
        std::move(batch_->origins);
    std::vector<L3DeviceTask>& tasks = batch_->tasks;
    tasks.clear();
    batch_->origins.clear();
    size_t begin = 0;
    const size_t chunk_count = std::max<size_t>(chunks_.size(), 1);
    for (uint32_t chunk = 0; chunk < chunk_count; ++chunk) {
      size_t end = planned.size();
      if (!chunks_.empty()) {
        const uint32_t images = chunks_[chunk].first + chunks_[chunk].count;
        end = begin;
        while (end < planned.size() && planned[end].image < images) ++end;
      }
      for (const L3TaskKind kind : {L3TaskKind::kV2, L3TaskKind::kCompact,
                                    L3TaskKind::kV1, L3TaskKind::kRaw}) {
        L3DeviceLaunch launch = {
            kind, chunk, static_cast<uint32_t>(tasks.size()), 0, 0, 0, 0};
        for (size_t i = begin; i < end; ++i) {
          if (planned[i].kind != kind) continue;
          tasks.push_back(planned[i]);
          batch_->origins.push_back(planned_origins[i]);
          launch.shared_bytes =
              std::max(launch.shared_bytes, SharedBytes(planned[i]));
        }
        launch.count = static_cast<uint32_t>(tasks.size()) - launch.first;
        launch.blocks = launch.count;
        launch.threads = kL3Warp * batch_->image.channels;
        if (launch.count > 0) batch_->launches.push_back(launch);
      }
      begin = end;
      if (!chunks_.empty()) jpeg_.AppendChunk(chunk, chunks_[chunk], batch_);
    }
    jpeg_.Finish(batch_);
  }

 private:
  // Of shared memory that a block needs for the task.
  uint32_t SharedBytes(const L3DeviceTask& task) const {
    if (task.kind == L3TaskKind::kRaw) return 0;
    if (task.kind == L3TaskKind::kV1) return sizeof(L3SharedV1);
    const uint32_t skew = static_cast<uint32_t>(task.begin[0] % kL3PieceBytes);
    const auto shared = task.kind == L3TaskKind::kCompact ? L3SharedBytesCompact
                                                          : L3SharedBytesV2;
    return shared(batch_->image.channels, batch_->image.bits,
                  L3RoundUp(skew + task.size[0]));
  }

  // The first file decides the size of all, but for scratch memory.
  Status CheckSize(const ImageInfo& stored) {
    ImageInfo image = stored;
    image.height = window_.height;
    image.width = window_.width;
    if (file_ == 0) batch_->image = image;
    const ImageInfo& first = batch_->image;
    const bool fits = !chunks_.empty() || (image.height == first.height &&
                                           image.width == first.width);
    if (fits && image.channels == first.channels && image.bits == first.bits) {
      return OkStatus();
    }
    return InvalidArgument(
        "images of a batch must be of one kind: number 0 is " +
        DescribeImage(first) + ", this is " + DescribeImage(image));
  }

  // Sends bytes of the file, and tells where they come to lie.
  uint64_t Send(uint64_t offset, uint64_t size) {
    const uint64_t to = batch_->bytes;
    batch_->bytes += size;
    if (!batch_->copies.empty()) {
      L3DeviceCopy& last = batch_->copies.back();
      if (last.file == file_ && last.from + last.size == offset) {
        last.size += size;
        return to;
      }
    }
    batch_->copies.push_back({file_, offset, to, size});
    return to;
  }

  // A task for the patch of `side` at (px, py), without its place.
  L3DeviceTask PatchTask(L3TaskKind kind, const ImageInfo& image, uint32_t side,
                         uint32_t px, uint32_t py) const {
    const L3Rows rows = L3Intersect(window_, side, px, py, image, nullptr, 0);
    L3DeviceTask task = {};
    task.kind = kind;
    task.number =
        static_cast<uint32_t>(py * L3PatchesAcross(image.width, side) + px);
    task.image = file_;
    task.width = std::min(side, image.width - px * side);
    task.height = std::min(side, image.height - py * side);
    task.row_begin = rows.row_begin;
    task.row_end = rows.row_end;
    task.x_begin = rows.x_begin;
    task.x_end = rows.x_end;
    task.out_y = py * side + rows.row_begin - window_.y;
    task.out_x = px * side + rows.x_begin - window_.x;
    return task;
  }

  Status AddV1(const L3Info& info) {
    const L3PatchRange range = L3PatchesOf(window_, info.patch);
    std::vector<L3Place> places;
    LIQUID_RETURN_IF_ERROR(FindL3V1Patches(bytes_, info, range, &places));
    const size_t first = batch_->tasks.size();
    for (uint32_t py = range.y_begin; py < range.y_end; ++py) {
      for (uint32_t px = range.x_begin; px < range.x_end; ++px) {
        batch_->tasks.push_back(
            PatchTask(L3TaskKind::kV1, info.image, info.patch, px, py));
        batch_->origins.push_back({});
      }
    }
    // As they lie in the file, so that neighbours are sent together.
    const size_t met = places.size() / 3;
    for (size_t i = 0; i < places.size(); ++i) {
      L3DeviceTask& task = batch_->tasks[first + i % met];
      task.begin[i / met] = Send(places[i].offset, places[i].size);
      task.size[i / met] = places[i].size;
      batch_->origins[first + i % met].offset[i / met] = places[i].offset;
    }
    return OkStatus();
  }

  Status AddV2(const L3Info& info) {
    const L3TaskKind kind = info.profile == L3Profile::kCompact
                                ? L3TaskKind::kCompact
                                : L3TaskKind::kV2;
    L3V2Table table;
    LIQUID_RETURN_IF_ERROR(L3V2Table::Read(bytes_, info, &table));
    const L3PatchRange range = L3PatchesOf(window_, kL3V2Patch);
    for (uint32_t py = range.y_begin; py < range.y_end; ++py) {
      for (uint32_t px = range.x_begin; px < range.x_end; ++px) {
        L3DeviceTask task = PatchTask(kind, info.image, kL3V2Patch, px, py);
        L3Place place;
        LIQUID_RETURN_IF_ERROR(table.Find(task.number, &place));
        if (place.size > kL3CompactMostStaged) {
          return Unimplemented(
              "l3: patch " + std::to_string(task.number) + " has " +
              std::to_string(place.size) + " bytes, a device decodes up to " +
              std::to_string(kL3CompactMostStaged) +
              ", as encoders make: decode the image on the CPU");
        }
        task.begin[0] = Send(place.offset, place.size);
        task.size[0] = place.size;
        batch_->tasks.push_back(task);
        batch_->origins.push_back({{place.offset, 0, 0}});
      }
    }
    return OkStatus();
  }

  Status AddJpeg(const L3DeviceFile& file, uint32_t number) {
    file_ = number;
    const JpegDeviceImage& image = file.jpeg->device;
    window_ = {image.y, image.x, image.height, image.width};
    if (chunks_.empty()) {
      return InvalidArgument("jpeg: a device decodes it for a recipe alone");
    }
    LIQUID_RETURN_IF_ERROR(CheckSize(file.jpeg->image));
    std::vector<uint64_t> to;
    for (const JpegDevicePlan::Range& range : file.jpeg->ranges) {
      to.push_back(Send(range.begin, range.end - range.begin));
    }
    jpeg_.Add(number, *file.jpeg, to);
    return OkStatus();
  }

  void AddRaw(const ImageInfo& image) {
    const uint64_t row_bytes = window_.width * image.BytesPerPixel();
    for (uint32_t y = 0; y < window_.height; y += kL3RawRows) {
      const uint32_t rows = std::min(kL3RawRows, window_.height - y);
      const uint64_t origin = kRawHeaderBytes +
                              (uint64_t{window_.y} + y) * image.RowBytes() +
                              window_.x * image.BytesPerPixel();
      const uint64_t begin = Send(origin, row_bytes);
      for (uint32_t row = 1; row < rows; ++row) {
        Send(origin + row * image.RowBytes(), row_bytes);
      }
      for (uint32_t x = 0; x < window_.width; x += kL3RawColumns) {
        L3DeviceTask task = {};
        task.kind = L3TaskKind::kRaw;
        task.begin[0] = begin + x * image.BytesPerPixel();
        task.size[0] = static_cast<uint32_t>(row_bytes);
        task.image = file_;
        task.out_y = y;
        task.out_x = x;
        task.width = std::min(kL3RawColumns, window_.width - x);
        task.height = rows;
        task.row_end = rows;
        task.x_end = task.width;
        batch_->tasks.push_back(task);
        batch_->origins.push_back({{origin + x * image.BytesPerPixel(), 0, 0}});
      }
    }
  }

  const std::vector<ImageDeviceChunk>& chunks_;
  L3DeviceBatch* const batch_;
  JpegDeviceTasks jpeg_;
  uint32_t file_ = 0;
  ByteSpan bytes_;
  Window window_;
};

const char* Describe(L3DeviceError error) {
  switch (error) {
    case L3DeviceError::kCrc:
      return "its CRC-32C does not match";
    case L3DeviceError::kNoWidths:
      return "its set of widths is empty";
    case L3DeviceError::kWidthOverBits:
      return "a width is over the sample's bits";
    case L3DeviceError::kManyWidths:
      return "its set has over 16 widths";
    case L3DeviceError::kReservedBits:
      return "bits 21 to 23 of its word must be 0";
    case L3DeviceError::kColour:
      return "its colour transform is unknown";
    case L3DeviceError::kCodes:
      return "its codes reach past the patch's end";
    case L3DeviceError::kShort:
      return "a row reaches past the patch's end";
    case L3DeviceError::kLong:
      return "the patch is longer than its rows";
    case L3DeviceError::kBadWidth:
      return "a row has a width over 8 bits";
    case L3DeviceError::kPredictor:
      return "a predictor is unknown";
    case L3DeviceError::kFirstK:
      return "the first row stores more bits than the sample has";
    case L3DeviceError::kHeaders:
      return "the patch ends inside its channels' headers";
    case L3DeviceError::kSegment:
      return "it has more bytes than the patch, or than any channel needs";
    case L3DeviceError::kRest:
      return "the last channel ends before the patch does";
    case L3DeviceError::kFlatWord:
      return "bits 8 to 14 of the patch's word must be 0";
    case L3DeviceError::kPalette:
      return "its palette reaches past its end";
    case L3DeviceError::kCode:
      return "a row has a code that is none, or reaches past the end of its "
             "channel";
    default:
      return "the device reports what no decoder does";
  }
}

}  // namespace

Status PlanL3Device(const std::vector<L3DeviceFile>& files,
                    const DecodeLimits& limits, L3DeviceBatch* batch,
                    const std::vector<ImageDeviceChunk>& chunks) {
  *batch = L3DeviceBatch();
  if (files.empty()) {
    return InvalidArgument("l3: a batch for a device must have an image");
  }
  Planner planner(chunks, batch);
  for (size_t i = 0; i < files.size(); ++i) {
    const Status status =
        planner.Add(files[i], static_cast<uint32_t>(i), limits);
    if (!status.ok()) {
      return Status(status.code(),
                    NameL3Image(i, files[i].sample) + ": " + status.message());
    }
  }
  planner.Finish();
  return OkStatus();
}

void FillL3Device(const std::vector<L3DeviceFile>& files,
                  const L3DeviceBatch& batch, uint8_t* out) {
  const L3DeviceCopy* const copies = batch.copies.data();
  CopyL3Files(files, copies, copies + batch.copies.size(), out);
  const L3DeviceCopy& end = batch.copies.back();
  std::memset(out + end.to + end.size, 0, batch.bytes - end.to - end.size);
}

std::string L3KernelName(L3TaskKind kind, const std::string& types) {
  if (IsJpegTask(kind)) {
    return std::string("liquid_jpeg_") +
           (kind == L3TaskKind::kJpegCodes    ? "codes"
            : kind == L3TaskKind::kJpegBlocks ? "blocks"
                                              : "pixels");
  }
  const char* name = kind == L3TaskKind::kV2        ? "v2"
                     : kind == L3TaskKind::kCompact ? "compact"
                     : kind == L3TaskKind::kV1      ? "v1"
                                                    : "raw";
  return "liquid_l3_" + std::string(name) + "_" + types;
}

void CopyL3Files(const std::vector<L3DeviceFile>& files,
                 const L3DeviceCopy* first, const L3DeviceCopy* last,
                 uint8_t* out) {
  for (; first < last; ++first) {
    std::memcpy(out + first->to, files[first->file].bytes.data + first->from,
                first->size);
  }
}

std::string NameL3Image(size_t number, int64_t sample) {
  return "image " + std::to_string(number) +
         (sample < 0 ? "" : " (sample " + std::to_string(sample) + ")");
}

Status CheckL3Device(const L3DeviceTask* tasks, const L3DeviceOrigin* origins,
                     const uint32_t* results, size_t count,
                     const std::vector<L3DeviceFile>& files) {
  // Tasks of one image are in its order, and those of several in the order of
  // the launches.
  size_t first = count;
  for (size_t i = 0; i < count; ++i) {
    if (results[i] == 0) continue;
    if (first == count || tasks[i].image < tasks[first].image) first = i;
  }
  if (first == count) return OkStatus();
  const L3DeviceTask& task = tasks[first];
  const int64_t sample =
      task.image < files.size() ? files[task.image].sample : -1;
  if (IsJpegTask(task.kind)) {
    return DataLoss(
        NameL3Image(task.image, sample) + ": " +
        DescribeJpegDamage(task, origins[first].offset[0], results[first]));
  }
  const auto error = static_cast<L3DeviceError>(results[first] & 255);
  const uint32_t channel = std::min(results[first] >> 8, kL3MaxChannels - 1);
  // Every channel of version 1 lies by itself.
  const bool apart = task.kind == L3TaskKind::kV1 && channel < 3;
  return DataLoss(NameL3Image(task.image, sample) + ": l3: patch " +
                  std::to_string(task.number) + " at offset " +
                  std::to_string(origins[first].offset[apart ? channel : 0]) +
                  ", channel " + std::to_string(channel) + ": " +
                  Describe(error));
}

}  // namespace liquid
