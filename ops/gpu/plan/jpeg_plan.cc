#include "ops/gpu/plan/jpeg_plan.h"

#include <algorithm>
#include <cstring>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/jpeg/baseline/baseline_decode.h"
#include "ops/codecs/jpeg/baseline/baseline_huffman.h"
#include "ops/codecs/jpeg/baseline/baseline_scale.h"
#include "ops/codecs/jpeg/baseline/baseline_scan.h"
#include "ops/codecs/jpeg/device/jpeg_device.cuh"
#include "ops/gpu/plan/l3_plan.h"

namespace liquid {
namespace {

// Of a task.
constexpr uint32_t kBlocksOfTask = 256;
constexpr uint32_t kRowsOfTask = 16;
// What a thread passes over behind the last MCU: an encoder leaves some bits.
constexpr uint64_t kMostRest = 1 << 16;
// Blocks of scratch memory begin at a multiple of this.
constexpr uint64_t kAlignment = 256;

// A table of the file, once for all components that have it. False where
// libjpeg-turbo refuses it, or there are too many.
bool AddTable(const BaselineHuffman& table, bool dc,
              std::vector<const uint8_t*>* known, JpegDeviceImage* image,
              uint32_t* number) {
  const auto found = std::find(known->begin(), known->end(), table.counts);
  *number = static_cast<uint32_t>(found - known->begin());
  if (found != known->end()) return true;
  HuffmanCodes codes;
  if (known->size() == kJpegTables ||
      !BuildHuffmanCodes(table, dc, kJpegLookupBits, &codes)) {
    return false;
  }
  JpegDeviceCodes* to = &image->codes[known->size()];
  size_t symbols = 0;
  for (size_t bits = 1; bits <= 16; ++bits) {
    to->end[bits - 1] = codes.end[bits];
    to->delta[bits - 1] = codes.delta[bits];
    symbols += table.counts[bits - 1];
  }
  std::copy_n(codes.symbols, symbols, to->symbols);
  known->push_back(table.counts);
  return true;
}

bool AddComponents(const BaselineHeader& header, const McuRange& mcus,
                   JpegDeviceImage* image) {
  std::vector<const uint8_t*> known;
  const uint32_t columns = mcus.end_column - mcus.first_column;
  const uint32_t rows = mcus.end_row - mcus.first_row;
  for (uint32_t c = 0; c < header.components; ++c) {
    const BaselineComponent& of_file = header.component[c];
    JpegDeviceComponent* component = &image->component[c];
    component->h = c == 0 ? header.h : 1;
    component->v = c == 0 ? header.v : 1;
    component->across = columns * component->h;
    component->first_block = image->blocks;
    image->blocks += component->across * rows * component->v;
    std::copy_n(header.quantization[of_file.quantization], kJpegBlockSize,
                component->quantization);
    if (!AddTable(header.dc[of_file.dc], true, &known, image, &component->dc) ||
        !AddTable(header.ac[of_file.ac], false, &known, image,
                  &component->ac)) {
      return false;
    }
  }
  image->tables = static_cast<uint32_t>(known.size());
  return true;
}

// Where the scan ends that a place lies in: behind the next marker that is not
// part of it.
uint64_t FindEnd(ByteSpan data, uint64_t from) {
  const uint8_t* at = data.data + from;
  const uint8_t* const end = data.data + data.size;
  while (end - at >= 2) {
    at = static_cast<const uint8_t*>(
        std::memchr(at, 0xff, static_cast<size_t>(end - at - 1)));
    if (at == nullptr) break;
    const bool of_scan = at[1] == 0 || (at[1] >= 0xd0 && at[1] <= 0xd7);
    at += 2;
    if (!of_scan) return static_cast<uint64_t>(at - data.data);
  }
  return data.size;
}

// Of a scan: 4 bytes that say where it ends, then a bit for each entry.
class Outline {
 public:
  static constexpr size_t kHeader = 4;

  explicit Outline(ByteSpan bytes) : bytes_(bytes) {}
  bool is_there() const { return bytes_.size >= kHeader; }
  uint64_t end() const { return LoadLittle32(bytes_.data); }
  // Whether the byte behind that in which entry `number` lies is stuffed.
  bool StuffsBehind(uint64_t number) const {
    const uint64_t at = kHeader + number / 8;
    return at < bytes_.size && (bytes_.data[at] >> number % 8 & 1) != 0;
  }

 private:
  const ByteSpan bytes_;
};

// Of a window. An index takes no room for entries that tell nothing, so its
// size does not bound them; that of a photograph of 100 megapixels has a third
// of these.
constexpr size_t kMostSegments = 1 << 16;

// Finds the segments of a window.
class Segments {
 public:
  Segments(ByteSpan jpeg, ByteSpan outline, const BaselineHeader& header,
           const BaselineIndex& index, const McuRange& mcus, bool whole,
           JpegDevicePlan* plan)
      : data_(jpeg.data + header.scan, jpeg.size - header.scan),
        outline_(outline),
        header_(header),
        index_(index),
        grid_(index.grid()),
        mcus_(mcus),
        whole_(whole),
        plan_(plan) {}

  bool Add() {
    plan_->spacing = grid_.spacing;
    plan_->first_entry = mcus_.first_column / grid_.spacing;
    for (uint32_t row = mcus_.first_row; row < mcus_.end_row; ++row) {
      uint32_t entry = plan_->first_entry;
      for (; entry * grid_.spacing < mcus_.end_column; ++entry) {
        if (!AddOne(row, entry)) return false;
      }
      plan_->row_segments = entry - plan_->first_entry;
    }
    return true;
  }

 private:
  // The bytes up to entry `next_number`, or the file's end; as FindEntryBytes.
  bool FindBytes(const BaselineEntry& entry, const BaselineEntry* next,
                 uint64_t next_number, uint64_t* from, uint64_t* to) const {
    if (!outline_.is_there()) {
      return FindEntryBytes(data_, entry, next, from, to);
    }
    *from = entry.position / 8;
    *to = data_.size;
    if (next == nullptr) return true;
    *to = next->position / 8;
    if (next->position % 8 > 0) *to += 1 + outline_.StuffsBehind(next_number);
    return true;
  }

  bool AddOne(uint32_t row, uint32_t number) {
    const uint32_t first = number * grid_.spacing;
    const uint32_t full_end = std::min(first + grid_.spacing, grid_.across);
    const uint32_t end = std::min(full_end, mcus_.end_column);
    const uint32_t needed = std::max(first, mcus_.first_column);
    const uint32_t mcu = row * grid_.across + first;
    const bool in_row = number + 1 < grid_.entries;
    const bool has_next = in_row || row + 1 < grid_.down;
    const BaselineEntry entry = index_.Find(row, number);
    BaselineEntry next;
    if (has_next) next = index_.Find(row + !in_row, in_row ? number + 1 : 0);

    JpegDeviceSegment segment = {};
    const uint32_t interval = header_.restart_interval;
    uint64_t from, to;
    if (!FindBytes(entry, has_next ? &next : nullptr,
                   uint64_t{row} * grid_.entries + number + 1, &from, &to) ||
        !HasPossibleDc(entry, interval > 0 && mcu % interval == 0)) {
      return false;
    }
    if (interval > 0) {
      segment.restart = static_cast<uint8_t>(mcu / interval % 8);
      segment.until_restart = interval - mcu % interval;
    }
    if (end == full_end && has_next) {
      segment.end = JpegDeviceEnd::kEntry;
      segment.spare = static_cast<uint8_t>((8 - next.position % 8) % 8);
      if (!HasPossibleDc(next, false)) return false;
    } else if (end == full_end && whole_) {
      segment.end = JpegDeviceEnd::kFile;
    }
    if (!has_next && outline_.is_there()) {
      to = outline_.end();
    } else if (!has_next) {
      to = FindEnd(data_, from);
      if (to - from >
          uint64_t{end - first} * 2 * BaselineScan::kMcuBytes + kMostRest) {
        return false;
      }
    }
    segment.row = row - mcus_.first_row;
    segment.column = needed - mcus_.first_column;
    segment.dropped = needed - first;
    segment.count = end - needed;
    segment.bit = static_cast<uint8_t>(entry.position % 8);
    for (uint32_t c = 0; c < header_.components; ++c) {
      segment.dc[c] = static_cast<int16_t>(entry.dc[c]);
      if (segment.end == JpegDeviceEnd::kEntry) {
        segment.end_dc[c] = static_cast<int16_t>(next.dc[c]);
      }
    }
    segment.begin = header_.scan + from;
    segment.bytes = static_cast<uint32_t>(to - from);
    return AddRange(segment);
  }

  // A wrong index must not have a file sent more than once.
  bool AddRange(const JpegDeviceSegment& segment) {
    std::vector<JpegDevicePlan::Range>* ranges = &plan_->ranges;
    const uint64_t begin = segment.begin, end = begin + segment.bytes;
    if (plan_->segments.size() == kMostSegments ||
        (!plan_->segments.empty() && begin < plan_->segments.back().begin)) {
      return false;
    }
    if (ranges->empty() || begin > ranges->back().end) {
      ranges->push_back({begin, end});
    } else {
      ranges->back().end = std::max(ranges->back().end, end);
    }
    plan_->segments.push_back(segment);
    return true;
  }

  const ByteSpan data_;
  const Outline outline_;
  const BaselineHeader& header_;
  const BaselineIndex& index_;
  const BaselineGrid& grid_;
  const McuRange mcus_;
  const bool whole_;
  JpegDevicePlan* const plan_;
};

const char* Describe(JpegDeviceError error) {
  switch (error) {
    case JpegDeviceError::kCode:
      return "a code is none, or its block has no place for it";
    case JpegDeviceError::kDc:
      return "a DC is over 16 bits";
    case JpegDeviceError::kShort:
      return "its codes reach past the data";
    case JpegDeviceError::kRestart:
      return "a restart marker is missing";
    case JpegDeviceError::kEntry:
      return "it does not end where the index has the next one";
    case JpegDeviceError::kEnd:
      return "no end of the file follows it";
    default:
      return "the device reports what no decoder does";
  }
}

// Adds a launch of the tasks from `first` on.
void AddLaunch(L3TaskKind kind, uint32_t chunk, size_t first,
               L3DeviceBatch* batch) {
  const auto count = static_cast<uint32_t>(batch->tasks.size() - first);
  batch->launches.push_back({kind, chunk, static_cast<uint32_t>(first), count,
                             count, JpegThreads(kind), JpegSharedBytes(kind)});
}

}  // namespace

bool PlanJpegDevice(ByteSpan jpeg, ByteSpan index, ByteSpan outline,
                    const DecodeLimits& limits, const Window& window,
                    JpegDevicePlan* plan) {
  *plan = JpegDevicePlan();
  BaselineHeader header;
  BaselineIndex entries;
  if (index.size == 0 || jpeg.size >= kMaxIndexedBytes ||
      !ReadBaselineHeader(jpeg, &header) ||
      !CheckImageSize("jpeg", header.height, header.width, limits).ok() ||
      !entries.Read(index, jpeg.size, header).ok()) {
    return false;
  }
  plan->image = BaselineInfo(header, 1);
  if (!CheckRequest("jpeg", plan->image, plan->image, window,
                    plan->image.RowBytes())
           .ok()) {
    return false;
  }
  const BaselineScale scale(header, 1);
  const McuRange mcus = FindMcus(scale, window);
  JpegDeviceImage* image = &plan->device;
  image->components = header.components;
  image->restart_interval = header.restart_interval;
  image->h = header.h;
  image->v = header.v;
  image->y = window.y;
  image->x = window.x;
  image->height = window.height;
  image->width = window.width;
  image->first_row = mcus.first_row;
  image->first_column = mcus.first_column;
  image->chroma_height = scale.chroma_height;
  image->chroma_width = scale.chroma_width;
  if (!AddComponents(header, mcus, image)) return false;
  Segments segments(jpeg, outline, header, entries, mcus,
                    CoversImage(window, plan->image), plan);
  return segments.Add();
}

bool OutlineJpeg(ByteSpan jpeg, ByteSpan index, const DecodeLimits& limits,
                 uint64_t* head, std::string* outline) {
  BaselineHeader header;
  BaselineIndex entries;
  JpegDevicePlan whole;
  if (!ReadBaselineHeader(jpeg, &header) ||
      !PlanJpegDevice(jpeg, index, {}, limits,
                      {0, 0, header.height, header.width}, &whole) ||
      !entries.Read(index, jpeg.size, header).ok()) {
    return false;
  }
  *head = header.scan;
  const ByteSpan data(jpeg.data + header.scan, jpeg.size - header.scan);
  const BaselineGrid& grid = entries.grid();
  const uint64_t count = uint64_t{grid.entries} * grid.down;
  const auto find = [&](uint64_t number) {
    return entries.Find(static_cast<uint32_t>(number / grid.entries),
                        static_cast<uint32_t>(number % grid.entries));
  };
  const uint64_t last = find(count - 1).position / 8;
  const uint64_t end = FindEnd(data, last);
  outline->assign(Outline::kHeader + (count + 7) / 8, '\0');
  StoreLittle32(static_cast<uint32_t>(end),
                reinterpret_cast<uint8_t*>(outline->data()));
  BaselineEntry entry = find(0);
  for (uint64_t number = 1; number < count; ++number) {
    const BaselineEntry next = find(number);
    uint64_t from, to;
    if (!FindEntryBytes(data, entry, &next, &from, &to)) return false;
    if (to - next.position / 8 == 2) {
      (*outline)[Outline::kHeader + number / 8] |=
          static_cast<char>(1 << number % 8);
    }
    entry = next;
  }
  return true;
}

void JpegDeviceTasks::Add(uint32_t number, const JpegDevicePlan& plan,
                          const std::vector<uint64_t>& to) {
  images_.push_back({number, plan.device,
                     static_cast<uint32_t>(segments_.size()),
                     static_cast<uint32_t>(plan.segments.size()),
                     plan.row_segments, plan.first_entry, plan.spacing});
  size_t range = 0;
  for (JpegDeviceSegment segment : plan.segments) {
    while (segment.begin >= plan.ranges[range].end) ++range;
    offsets_.push_back(segment.begin);
    segment.begin = segment.begin - plan.ranges[range].begin + to[range];
    segments_.push_back(segment);
  }
}

void JpegDeviceTasks::AppendCodes(size_t i, L3DeviceBatch* batch) const {
  const Image& image = images_[i];
  for (uint32_t at = 0; at < image.segments; at += kJpegCodesThreads) {
    L3DeviceTask task = {};
    task.kind = L3TaskKind::kJpegCodes;
    task.image = image.number;
    task.begin[0] = i;
    task.number = at;
    task.width = std::min(kJpegCodesThreads, image.segments - at);
    // For DescribeJpegDamage.
    task.row_begin = image.device.first_row;
    task.row_end = image.row_segments;
    task.x_begin = image.first_entry;
    task.x_end = image.spacing;
    batch->tasks.push_back(task);
    batch->origins.push_back({{offsets_[image.first_segment + at], 0, 0}});
  }
}

void JpegDeviceTasks::AppendBlocks(size_t i, L3DeviceBatch* batch) const {
  const Image& image = images_[i];
  for (uint32_t at = 0; at < image.device.blocks; at += kBlocksOfTask) {
    L3DeviceTask task = {};
    task.kind = L3TaskKind::kJpegBlocks;
    task.image = image.number;
    task.begin[0] = i;
    task.number = at;
    task.width = std::min(kBlocksOfTask, image.device.blocks - at);
    batch->tasks.push_back(task);
    batch->origins.push_back({});
  }
}

void JpegDeviceTasks::AppendPixels(size_t i, const ImageDeviceChunk& chunk,
                                   L3DeviceBatch* batch) const {
  const Image& image = images_[i];
  const uint64_t row_bytes = uint64_t{chunk.width} * image.device.components;
  for (uint32_t at = 0; at < image.device.height; at += kRowsOfTask) {
    L3DeviceTask task = {};
    task.kind = L3TaskKind::kJpegPixels;
    task.image = image.number;
    task.begin[0] = i;
    // Behind the blocks, which Finish() knows the size of.
    task.begin[1] = (image.number - chunk.first) * chunk.height * row_bytes;
    task.size[0] = static_cast<uint32_t>(row_bytes);
    task.row_begin = at;
    task.row_end = std::min(at + kRowsOfTask, image.device.height);
    batch->tasks.push_back(task);
    batch->origins.push_back({});
  }
}

void JpegDeviceTasks::AppendChunk(uint32_t number,
                                  const ImageDeviceChunk& chunk,
                                  L3DeviceBatch* batch) {
  const auto is_before = [](const Image& image, uint32_t first) {
    return image.number < first;
  };
  const auto first =
      std::lower_bound(images_.begin(), images_.end(), chunk.first, is_before);
  const auto last = std::lower_bound(first, images_.end(),
                                     chunk.first + chunk.count, is_before);
  const auto end = static_cast<size_t>(last - images_.begin());
  auto begin = static_cast<size_t>(first - images_.begin());
  while (begin < end) {
    uint64_t bytes = 0;
    size_t next = begin;
    for (; next < end; ++next) {
      JpegDeviceImage* image = &images_[next].device;
      const uint64_t more = uint64_t{image->blocks} * kJpegBlockBytes;
      if (next > begin && bytes + more > kJpegScratchBytes) break;
      for (JpegDeviceComponent& component : image->component) {
        component.blocks =
            bytes + uint64_t{component.first_block} * kJpegBlockBytes;
      }
      bytes += more;
    }
    scratch_bytes_ = std::max(scratch_bytes_, bytes);
    size_t task = batch->tasks.size();
    for (size_t i = begin; i < next; ++i) AppendCodes(i, batch);
    AddLaunch(L3TaskKind::kJpegCodes, number, task, batch);
    task = batch->tasks.size();
    for (size_t i = begin; i < next; ++i) AppendBlocks(i, batch);
    AddLaunch(L3TaskKind::kJpegBlocks, number, task, batch);
    task = batch->tasks.size();
    for (size_t i = begin; i < next; ++i) AppendPixels(i, chunk, batch);
    AddLaunch(L3TaskKind::kJpegPixels, number, task, batch);
    begin = next;
  }
}

void JpegDeviceTasks::Finish(L3DeviceBatch* batch) {
  batch->jpeg_scratch_bytes =
      (scratch_bytes_ + kAlignment - 1) / kAlignment * kAlignment;
  for (L3DeviceTask& task : batch->tasks) {
    if (task.kind != L3TaskKind::kJpegPixels) continue;
    task.begin[1] += batch->jpeg_scratch_bytes;
  }
  const size_t images = images_.size() * sizeof(JpegDeviceImage);
  batch->jpeg_segments = images;
  batch->jpeg.resize(images + segments_.size() * sizeof(JpegDeviceSegment));
  for (size_t i = 0; i < images_.size(); ++i) {
    JpegDeviceImage* image = &images_[i].device;
    image->segments =
        images + images_[i].first_segment * sizeof(JpegDeviceSegment);
    std::memcpy(&batch->jpeg[i * sizeof(*image)], image, sizeof(*image));
  }
  if (segments_.empty()) return;
  std::memcpy(&batch->jpeg[images], segments_.data(),
              segments_.size() * sizeof(JpegDeviceSegment));
}

std::string DescribeJpegDamage(const L3DeviceTask& task, uint64_t offset,
                               uint32_t result) {
  const auto error = static_cast<JpegDeviceError>(result & 255);
  if (error == JpegDeviceError::kLarge) {
    return "jpeg: the file and its index do not fit each other: it has "
           "coefficients so large that it would have none";
  }
  if (task.kind != L3TaskKind::kJpegCodes) {
    return std::string("jpeg: ") + Describe(error);
  }
  const uint32_t segment = task.number + std::min(result >> 8, task.width - 1);
  const uint32_t row = task.row_begin + segment / task.row_end;
  const uint32_t column = (task.x_begin + segment % task.row_end) * task.x_end;
  return "jpeg: row " + std::to_string(row) + " of MCUs, from column " +
         std::to_string(column) + " on, behind offset " +
         std::to_string(offset) + ": " + Describe(error) +
         ": the file or its index is damaged";
}

}  // namespace liquid
