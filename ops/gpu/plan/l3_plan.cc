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

// Plans one file after the other; and if it is to, makes the tasks of each.
class Planner {
 public:
  Planner(L3DeviceBatch* batch, L3TaskPlan* plan)
      : batch_(batch), plan_(plan) {}

  Status Add(const L3DeviceFile& file, uint32_t number,
             const DecodeLimits& limits) {
    if (file.jpeg != nullptr) return AddJpeg(file, number);
    Format format;
    LIQUID_RETURN_IF_ERROR(SniffFormat(file.bytes, &format));
    if (format != Format::kL3 && format != Format::kL3Compact &&
        format != Format::kRaw) {
      return InvalidArgument(
          "l3: a batch for a device takes l3 and raw files, and jpeg of "
          "records; this is " +
          std::string(FormatName(format)) + ": decode it on the processors");
    }
    L3Info info;
    if (format == Format::kRaw) {
      LIQUID_RETURN_IF_ERROR(PeekRaw(file.bytes, limits, &info.image));
    } else {
      LIQUID_RETURN_IF_ERROR(PeekL3(file.bytes, limits, &info));
    }
    file_ = number;
    bytes_ = file.bytes;
    on_device_ = file.on_device;
    window_ = file.window.height != 0
                  ? file.window
                  : Window{0, 0, info.image.height, info.image.width};
    LIQUID_RETURN_IF_ERROR(
        CheckRequest(FormatName(format), info.image, info.image, window_,
                     window_.width * info.image.BytesPerPixel()));
    LIQUID_RETURN_IF_ERROR(CheckSize(info.image));
    if (format == Format::kRaw) {
      if (info.image.RowBytes() > UINT32_MAX) {
        return InvalidArgument(
            "raw: a device takes rows of up to 2^32 - 1 "
            "bytes: decode the image on the processors");
      }
      AddRaw(info.image);
      return OkStatus();
    }
    return info.version == L3Version::kV1 ? AddV1(info) : AddV2(info);
  }

  // Settles what the images together need.
  void Finish() {
    batch_->bytes = (batch_->bytes + kL3ReadOn + kL3PieceBytes - 1) /
                    kL3PieceBytes * kL3PieceBytes;
    // In the order of the files.
    const std::vector<L3DeviceImage> added = std::move(batch_->images);
    batch_->images.clear();
    size_t begin = 0;
    const size_t chunk_count = std::max<size_t>(batch_->chunks.size(), 1);
    for (uint32_t chunk = 0; chunk < chunk_count; ++chunk) {
      size_t end = added.size();
      if (!batch_->chunks.empty()) {
        const ImageDeviceChunk& now = batch_->chunks[chunk];
        end = begin;
        while (end < added.size() && added[end].image < now.first + now.count) {
          ++end;
        }
      }
      for (const L3TaskKind kind : {L3TaskKind::kV2, L3TaskKind::kCompact,
                                    L3TaskKind::kV1, L3TaskKind::kRaw}) {
        L3DeviceLaunch launch = {kind, chunk, batch_->n_tasks, 0, 0, 0, 0};
        for (size_t i = begin; i < end; ++i) {
          if (added[i].kind == kind) Take(added[i], &launch);
        }
        const uint32_t at_once = TasksAtOnce(kind);
        launch.blocks = (launch.count + at_once - 1) / at_once;
        launch.threads = kL3Warp * batch_->image.channels;
        if (launch.count > 0) batch_->launches.push_back(launch);
      }
      begin = end;
      if (batch_->chunks.empty()) continue;
      jpeg_.AppendChunk(chunk, batch_->chunks[chunk], batch_);
    }
    jpeg_.Finish(batch_);
  }

 private:
  // Has the launch do an image's tasks.
  void Take(const L3DeviceImage& image, L3DeviceLaunch* launch) {
    const auto count = static_cast<uint32_t>(L3CountTasks(image));
    batch_->images.push_back(image);
    batch_->images.back().first_task = batch_->n_tasks;
    batch_->n_tasks += count;
    launch->count += count;
    launch->shared_bytes = std::max(launch->shared_bytes, SharedBytes(image));
    if (plan_ == nullptr) return;
    for (uint32_t i = image.first_task; i < image.first_task + count; ++i) {
      plan_->tasks.push_back(tasks_[i]);
      plan_->origins.push_back(origins_[i]);
    }
  }

  // That a block does.
  uint32_t TasksAtOnce(L3TaskKind kind) const {
    const uint32_t channels = batch_->image.channels;
    if (batch_->image.bits != 8) return 1;
    return kind == L3TaskKind::kV2
               ? L3TasksAtOnce<L3TaskKind::kV2, uint8_t>(channels)
           : kind == L3TaskKind::kCompact
               ? L3TasksAtOnce<L3TaskKind::kCompact, uint8_t>(channels)
               : 1;
  }

  // Of shared memory that a block needs for the largest patch.
  uint32_t SharedBytes(const L3DeviceImage& image) const {
    if (image.kind == L3TaskKind::kRaw) return 0;
    if (image.kind == L3TaskKind::kV1) return sizeof(L3SharedV1);
    const bool compact = image.kind == L3TaskKind::kCompact;
    const auto shared = compact ? L3SharedBytesCompact : L3SharedBytesV2;
    const uint32_t bytes = shared(batch_->image.channels, batch_->image.bits,
                                  L3RoundUp(kL3PieceBytes - 1 + image.most));
    return TasksAtOnce(image.kind) == 1
               ? bytes
               : std::max<uint32_t>(bytes, compact ? sizeof(L3SharedRiceFours)
                                                   : sizeof(L3SharedFours));
  }

  // The first file decides the size of all, but for scratch memory.
  Status CheckSize(const ImageInfo& stored) {
    ImageInfo image = stored;
    image.height = window_.height;
    image.width = window_.width;
    if (file_ == 0) batch_->image = image;
    const ImageInfo& first = batch_->image;
    const bool fits =
        !batch_->chunks.empty() ||
        (image.height == first.height && image.width == first.width);
    if (fits && image.channels == first.channels && image.bits == first.bits) {
      return OkStatus();
    }
    return InvalidArgument(
        "images of a batch must be of one kind: number 0 is " +
        DescribeImage(first) + ", this is " + DescribeImage(image));
  }

  // Sends bytes of the file, if they are not on the device, and tells where
  // they come to lie.
  uint64_t Send(uint64_t offset, uint64_t size) {
    if (on_device_ != 0) return (on_device_ + offset) | kL3OnDevice;
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

  void AddRun(uint64_t offset, uint64_t size) {
    const uint64_t begin = Send(offset, size);
    batch_->runs.push_back({begin, size});
  }

  // The image that is being added, but for its table and patches.
  L3DeviceImage Image(L3TaskKind kind, const ImageInfo& stored,
                      uint32_t side) const {
    L3DeviceImage image = {};
    image.image = file_;
    image.kind = kind;
    image.first_task = static_cast<uint32_t>(tasks_.size());
    image.first_run = static_cast<uint32_t>(batch_->runs.size());
    image.side = side;
    image.height = stored.height;
    image.width = stored.width;
    image.window_y = window_.y;
    image.window_x = window_.x;
    image.window_height = window_.height;
    image.window_width = window_.width;
    return image;
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

  // Sends what the table, which begins there, says of the patches that the
  // window meets: an entry for each, and `behind` them.
  uint64_t SendTable(uint64_t table, uint32_t entry_bytes, uint64_t across,
                     const L3PatchRange& range, uint64_t behind) {
    const uint64_t first = range.y_begin * across + range.x_begin;
    const uint64_t last = (range.y_end - 1) * across + range.x_end + behind;
    return Send(table + first * entry_bytes, (last - first) * entry_bytes);
  }

  Status AddV1(const L3Info& info) {
    const L3PatchRange range = L3PatchesOf(window_, info.patch);
    std::vector<L3Place> places;
    LIQUID_RETURN_IF_ERROR(FindL3V1Patches(bytes_, info, range, &places));
    const uint64_t across = L3PatchesAcross(info.image.width, info.patch);
    const uint64_t patches =
        across * L3PatchesAcross(info.image.height, info.patch);
    L3DeviceImage image = Image(L3TaskKind::kV1, info.image, info.patch);
    // What lies between the channels' parts is sent, too.
    image.table = SendTable(kL3V1HeaderBytes, 2, across, range, 2 * patches);
    image.run_rows = 1;
    image.most = UINT16_MAX;
    const uint32_t columns = range.x_end - range.x_begin;
    for (size_t i = 0; i < places.size(); i += columns) {
      const L3Place& last = places[i + columns - 1];
      AddRun(places[i].offset, last.offset + last.size - places[i].offset);
    }
    batch_->images.push_back(image);
    if (plan_ == nullptr) return OkStatus();
    AddTasks(image.kind, info, range);
    const size_t met = places.size() / 3;
    for (size_t i = 0; i < places.size(); ++i) {
      const size_t run = i / columns;
      SetPlace(image.first_task + i % met, i / met, places[i],
               batch_->runs[image.first_run + run].begin -
                   places[run * columns].offset);
    }
    return OkStatus();
  }

  Status AddV2(const L3Info& info) {
    L3V2Table table;
    LIQUID_RETURN_IF_ERROR(L3V2Table::Read(bytes_, info, &table));
    const L3PatchRange range = L3PatchesOf(window_, kL3V2Patch);
    const uint32_t rows = range.y_end - range.y_begin;
    const uint32_t columns = range.x_end - range.x_begin;
    const uint64_t across = table.PatchesAcross();
    L3DeviceImage image =
        Image(info.profile == L3Profile::kCompact ? L3TaskKind::kCompact
                                                  : L3TaskKind::kV2,
              info.image, kL3V2Patch);
    std::vector<L3Place> places;
    if (plan_ != nullptr) {
      AddTasks(image.kind, info, range);
      LIQUID_RETURN_IF_ERROR(FindPlaces(table, image.first_task, &places));
    }
    image.table = SendTable(kL3V2HeaderBytes, 4, across, range, 1);
    image.run_rows = columns == across ? rows : 1;
    image.least = table.LeastBytes();
    for (uint32_t row = 0; row < rows; row += image.run_rows) {
      const uint64_t first = (range.y_begin + row) * across + range.x_begin;
      const uint64_t last = first + (image.run_rows - 1) * across + columns;
      L3Place run;
      uint32_t largest = 0;
      if (!table.FindRun(first, last, &run, &largest)) {
        return DataLoss("l3: the table puts patches outside the file");
      }
      image.most = std::max(image.most, largest);
      AddRun(run.offset, run.size);
      const size_t end = std::min<size_t>(
          places.size(), size_t{row + image.run_rows} * columns);
      for (size_t i = size_t{row} * columns; i < end; ++i) {
        SetPlace(image.first_task + i, 0, places[i],
                 batch_->runs.back().begin - run.offset);
      }
    }
    // Whoever plans the tasks finds a larger one.
    image.most =
        std::min({image.most, table.MostBytes(), kL3CompactMostStaged});
    batch_->images.push_back(image);
    return OkStatus();
  }

  // The places of the tasks from the first on.
  Status FindPlaces(const L3V2Table& table, size_t first,
                    std::vector<L3Place>* places) const {
    for (size_t i = first; i < tasks_.size(); ++i) {
      const uint32_t number = tasks_[i].number;
      L3Place place;
      LIQUID_RETURN_IF_ERROR(table.Find(number, &place));
      if (place.size > kL3CompactMostStaged) {
        return Unimplemented("l3: patch " + std::to_string(number) + " has " +
                             std::to_string(place.size) +
                             " bytes, a device decodes up to " +
                             std::to_string(kL3CompactMostStaged) +
                             ", as encoders make: decode the image on the CPU");
      }
      places->push_back(place);
    }
    return OkStatus();
  }

  // A task for every patch, without its place.
  void AddTasks(L3TaskKind kind, const L3Info& info,
                const L3PatchRange& range) {
    for (uint32_t py = range.y_begin; py < range.y_end; ++py) {
      for (uint32_t px = range.x_begin; px < range.x_end; ++px) {
        tasks_.push_back(PatchTask(kind, info.image, info.patch, px, py));
        origins_.push_back({});
      }
    }
  }

  // Where a channel of a task lies in the file, and `moved` from there in the
  // batch, modulo 2^64.
  void SetPlace(size_t task, size_t channel, const L3Place& place,
                uint64_t moved) {
    tasks_[task].begin[channel] = place.offset + moved;
    tasks_[task].size[channel] = place.size;
    origins_[task].offset[channel] = place.offset;
  }

  Status AddJpeg(const L3DeviceFile& file, uint32_t number) {
    file_ = number;
    on_device_ = file.on_device;
    const JpegDeviceImage& image = file.jpeg->device;
    window_ = {image.y, image.x, image.height, image.width};
    if (batch_->chunks.empty()) {
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
    L3DeviceImage planned = Image(L3TaskKind::kRaw, image, 0);
    planned.least = planned.most = static_cast<uint32_t>(image.BytesPerPixel());
    const uint64_t row_bytes = window_.width * image.BytesPerPixel();
    if (on_device_ != 0) {
      planned.table =
          Send(kRawHeaderBytes + uint64_t{window_.y} * image.RowBytes() +
                   window_.x * image.BytesPerPixel(),
               row_bytes);
      batch_->images.push_back(planned);
      if (plan_ == nullptr) return;
    } else {
      planned.table = batch_->bytes;
      planned.width = window_.width;  // rows lie together
      batch_->images.push_back(planned);
    }
    for (uint32_t y = 0; y < window_.height; y += kL3RawRows) {
      const uint32_t rows = std::min(kL3RawRows, window_.height - y);
      const uint64_t origin = kRawHeaderBytes +
                              (uint64_t{window_.y} + y) * image.RowBytes() +
                              window_.x * image.BytesPerPixel();
      const uint64_t begin = Send(origin, row_bytes);
      for (uint32_t row = 1; row < rows; ++row) {
        Send(origin + row * image.RowBytes(), row_bytes);
      }
      if (plan_ == nullptr) continue;
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
        tasks_.push_back(task);
        origins_.push_back({{origin + x * image.BytesPerPixel(), 0, 0}});
      }
    }
  }

  L3DeviceBatch* const batch_;
  L3TaskPlan* const plan_;  // nullptr where no tasks are wanted
  // In the order of the files.
  std::vector<L3DeviceTask> tasks_;
  std::vector<L3DeviceOrigin> origins_;
  JpegDeviceTasks jpeg_;
  uint32_t file_ = 0;
  uint64_t on_device_ = 0;  // where it lies there; 0: it is sent
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

// `plan` is where the tasks go, or nullptr.
Status PlanFiles(const std::vector<L3DeviceFile>& files,
                 const DecodeLimits& limits,
                 const std::vector<ImageDeviceChunk>& chunks,
                 L3DeviceBatch* batch, L3TaskPlan* plan) {
  *batch = L3DeviceBatch();
  batch->limits = limits;
  batch->chunks = chunks;
  if (files.empty()) {
    return InvalidArgument("l3: a batch for a device must have an image");
  }
  if (files.size() > kL3MostImages) {
    return InvalidArgument("l3: a batch for a device must have at most " +
                           std::to_string(kL3MostImages) +
                           " images, this has " + std::to_string(files.size()));
  }
  Planner planner(batch, plan);
  for (size_t i = 0; i < files.size(); ++i) {
    const Status status =
        planner.Add(files[i], static_cast<uint32_t>(i), limits);
    if (!status.ok()) {
      return Status(status.code(),
                    NameL3Image(i, files[i].sample) + ": " + status.message());
    }
    if (files[i].is_moved) batch->moved.push_back(static_cast<uint32_t>(i));
  }
  planner.Finish();
  return OkStatus();
}

// Tasks are numbered in 32 bits.
Status CheckTasks(const L3DeviceBatch& batch) {
  uint64_t tasks = batch.tasks.size();
  for (const L3DeviceImage& image : batch.images) tasks += L3CountTasks(image);
  if (tasks <= UINT32_MAX) return OkStatus();
  return InvalidArgument(
      "l3: a batch for a device has up to 2^32 - 1 patches, this has " +
      std::to_string(tasks) + ": make batches smaller");
}

}  // namespace

Status PlanL3Device(const std::vector<L3DeviceFile>& files,
                    const DecodeLimits& limits, L3DeviceBatch* batch,
                    const std::vector<ImageDeviceChunk>& chunks) {
  const Status status = PlanFiles(files, limits, chunks, batch, nullptr);
  if (status.ok()) return CheckTasks(*batch);
  // An image before may be damaged, too, where only a device would have looked.
  L3TaskPlan unused;
  LIQUID_RETURN_IF_ERROR(PlanL3Tasks(files, limits, &unused, chunks));
  return status;
}

Status PlanL3Tasks(const std::vector<L3DeviceFile>& files,
                   const DecodeLimits& limits, L3TaskPlan* plan,
                   const std::vector<ImageDeviceChunk>& chunks) {
  *plan = L3TaskPlan();
  return PlanFiles(files, limits, chunks, &plan->batch, plan);
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

Status CheckL3File(const L3DeviceFile& file, size_t number,
                   const ImageInfo& expected, const DecodeLimits& limits) {
  Format format;
  ImageInfo info;
  Status status = SniffFormat(file.bytes, &format);
  if (status.ok()) status = Peek(format, file.bytes, limits, &info);
  if (status.ok()) {
    status = CheckRequest(FormatName(format), info, expected,
                          {0, 0, info.height, info.width}, info.RowBytes());
  }
  if (status.ok()) return status;
  return Status(status.code(),
                NameL3Image(number, file.sample) + ": " + status.message());
}

std::string NameL3Image(size_t number, int64_t sample) {
  return "image " + std::to_string(number) +
         (sample < 0 ? "" : " (sample " + std::to_string(sample) + ")");
}

Status CheckL3Device(const std::vector<L3DeviceFile>& files,
                     const L3DeviceBatch& batch,
                     const L3DeviceFindings& findings) {
  const uint64_t n_tasks = batch.n_tasks + batch.tasks.size();
  if (findings.checked != n_tasks) {
    return Internal("l3: the device has checked " +
                    std::to_string(findings.checked) + " of " +
                    std::to_string(n_tasks) + " tasks");
  }
  const uint64_t key = findings.first_error;
  if (key == kL3NoError) return OkStatus();
  const uint32_t image = L3ImageOfKey(key), patch = L3PatchOfKey(key);
  const uint32_t result = L3ResultOfKey(key);
  const auto is_it = [&](const L3DeviceTask& task) {
    return task.image == image && L3OrderOf(task) == patch;
  };
  const auto task = std::find_if(batch.tasks.begin(), batch.tasks.end(), is_it);
  if (task != batch.tasks.end()) {
    const size_t i = task - batch.tasks.begin();
    return DataLoss(
        NameL3Image(image, files[image].sample) + ": " +
        DescribeJpegDamage(*task, batch.origins[i].offset[0], result));
  }
  // The message is the host's, who finds the same.
  L3TaskPlan plan;
  LIQUID_RETURN_IF_ERROR(PlanL3Tasks(files, batch.limits, &plan, batch.chunks));
  const auto found = std::find_if(plan.tasks.begin(), plan.tasks.end(), is_it);
  if (found == plan.tasks.end() || L3ErrorOfKey(key) == L3ErrorOf::kTable) {
    return Internal(NameL3Image(image, -1) + ": l3: the device finds patch " +
                    std::to_string(patch) +
                    " where none can be, and the host does not");
  }
  const auto error = static_cast<L3DeviceError>(result & 255);
  const uint32_t channel = std::min(result >> 8, kL3MaxChannels - 1);
  // Every channel of version 1 lies by itself.
  const bool apart = found->kind == L3TaskKind::kV1 && channel < 3;
  const L3DeviceOrigin& origin = plan.origins[found - plan.tasks.begin()];
  return DataLoss(NameL3Image(image, files[image].sample) + ": l3: patch " +
                  std::to_string(patch) + " at offset " +
                  std::to_string(origin.offset[apart ? channel : 0]) +
                  ", channel " + std::to_string(channel) + ": " +
                  Describe(error));
}

}  // namespace liquid
