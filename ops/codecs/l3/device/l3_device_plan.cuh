// From an image of a batch to its tasks, on the device, and from what became of
// these to the first error. A thread finds where a patch lies by the image's
// own table, which is among the batch's bytes, and checks that.
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_PLAN_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_PLAN_CUH_

#include "ops/codecs/l3/device/l3_device_team.cuh"

namespace liquid {

constexpr uint32_t kL3PlanThreads = 128;  // of a block that plans

// A little-endian number of 2 or 4 bytes at any address.
LIQUID_DEVICE inline uint32_t L3ReadLittle(const uint8_t* from,
                                           uint32_t bytes) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < bytes; ++i) value |= uint32_t{from[i]} << 8 * i;
  return value;
}

// The patches that a window meets, along one axis.
struct L3Met {
  uint32_t begin, count;

  LIQUID_DEVICE L3Met(uint32_t at, uint32_t pixels, uint32_t side)
      : begin(at / side), count((at + pixels - 1) / side + 1 - begin) {}
};

// What of a patch a window wants, along one axis.
struct L3Wanted {
  uint32_t size;        // of the patch
  uint32_t begin, end;  // in the patch
  uint32_t out;         // in the window

  LIQUID_DEVICE L3Wanted(uint32_t at, uint32_t pixels, uint32_t stored,
                         uint32_t side, uint32_t patch) {
    const uint32_t first = patch * side;
    size = side < stored - first ? side : stored - first;
    begin = at > first ? at - first : 0;
    end = at + pixels - first < size ? at + pixels - first : size;
    out = first + begin - at;
  }
};

// How many tasks an image has: patches row by row, and so rectangles of a raw
// one.
LIQUID_DEVICE inline uint64_t L3CountTasks(const L3DeviceImage& image) {
  const bool raw = image.kind == L3TaskKind::kRaw;
  const L3Met down(raw ? 0 : image.window_y, image.window_height,
                   raw ? kL3RawRows : image.side);
  const L3Met along(raw ? 0 : image.window_x, image.window_width,
                    raw ? kL3RawColumns : image.side);
  return uint64_t{down.count} * along.count;
}

// Where a patch lies in its run, as the table says.
struct L3InRun {
  uint64_t begin;
  uint32_t size;
};

// Version 2: the table says where each patch begins, and the next one. What it
// says is wrong where a difference is, which modulo 2^32 leaves the run.
LIQUID_DEVICE inline L3InRun L3FindV2(const uint8_t* table, uint64_t run_first,
                                      uint64_t number) {
  const uint32_t run = L3ReadLittle(table + 4 * run_first, 4);
  const uint32_t begin = L3ReadLittle(table + 4 * number, 4);
  return {begin - run, L3ReadLittle(table + 4 * number + 4, 4) - begin};
}

// Version 1: it says how many bytes each has.
LIQUID_DEVICE inline L3InRun L3FindV1(const uint8_t* table, uint64_t run_first,
                                      uint64_t number) {
  uint64_t begin = 0;
  for (uint64_t i = run_first; i < number; ++i) {
    begin += L3ReadLittle(table + 2 * i, 2);
  }
  return {begin, L3ReadLittle(table + 2 * number, 2)};
}

// Plans task `index` of a raw image.
LIQUID_DEVICE inline void L3PlanRaw(const L3DeviceImage& image, uint32_t index,
                                    L3DeviceTask* task) {
  const uint32_t across = (image.window_width - 1) / kL3RawColumns + 1;
  const uint32_t y = index / across * kL3RawRows;
  const uint32_t x = index % across * kL3RawColumns;
  const uint32_t left = image.window_width - x, below = image.window_height - y;
  const uint32_t row_bytes = image.width * image.least;
  task->begin[0] = image.table + uint64_t{y} * row_bytes + x * image.least;
  task->size[0] = row_bytes;
  task->out_y = y;
  task->out_x = x;
  task->width = task->x_end = left < kL3RawColumns ? left : kL3RawColumns;
  task->height = task->row_end = below < kL3RawRows ? below : kL3RawRows;
}

// Plans task `index` of the image. Returns whether the table puts its patch
// where one can be: every byte of it was sent, and they are as many as the
// format has, and the launch has shared memory for. Else the task gets bytes
// that were sent, of which it stores nothing, as no other does.
LIQUID_DEVICE inline bool L3PlanTask(const L3DeviceImage& image,
                                     const L3DeviceRun* runs,
                                     const uint8_t* bytes, uint32_t index,
                                     L3DeviceTask* task) {
  *task = L3DeviceTask{};
  task->kind = image.kind;
  task->image = image.image;
  if (image.kind == L3TaskKind::kRaw) {
    L3PlanRaw(image, index, task);
    return true;
  }
  const L3Met down(image.window_y, image.window_height, image.side);
  const L3Met along(image.window_x, image.window_width, image.side);
  const uint32_t row = index / along.count, column = index % along.count;
  const uint32_t across = (image.width - 1) / image.side + 1;
  const L3Wanted y(image.window_y, image.window_height, image.height,
                   image.side, down.begin + row);
  const L3Wanted x(image.window_x, image.window_width, image.width, image.side,
                   along.begin + column);
  task->number = (down.begin + row) * across + along.begin + column;
  task->out_y = y.out;
  task->out_x = x.out;
  task->width = x.size;
  task->height = y.size;
  task->row_begin = y.begin;
  task->row_end = y.end;
  task->x_begin = x.begin;
  task->x_end = x.end;

  // By the numbers of the table's part that was sent.
  const uint32_t run = row / image.run_rows;
  const uint64_t run_first = uint64_t{run} * image.run_rows * across;
  const uint64_t number = uint64_t{row} * across + column;
  const bool is_v1 = image.kind == L3TaskKind::kV1;
  const uint32_t n_runs = (down.count - 1) / image.run_rows + 1;
  const uint64_t patches =
      uint64_t{(image.height - 1) / image.side + 1} * across;
  for (uint32_t c = 0; c < (is_v1 ? 3u : 1u); ++c) {
    const L3DeviceRun& in = runs[image.first_run + c * n_runs + run];
    const uint8_t* table = bytes + image.table;
    const L3InRun found =
        is_v1 ? L3FindV1(table + 2 * patches * c, run_first, number)
              : L3FindV2(table, run_first, number);
    if (found.size < image.least || found.size > image.most ||
        found.begin > in.size || found.size > in.size - found.begin) {
      task->row_begin = task->row_end = task->x_begin = task->x_end = 0;
      for (uint32_t i = 0; i <= c; ++i) {
        task->begin[i] = in.begin;
        task->size[i] = image.least;
      }
      return false;
    }
    task->begin[c] = in.begin + found.begin;
    task->size[c] = found.size;
  }
  return true;
}

// Plans all tasks of an image, none of which is done.
template <typename Block>
LIQUID_DEVICE void L3PlanImage(Block& block, const L3DeviceImage& image,
                               const L3DeviceRun* runs, const uint8_t* bytes,
                               L3DeviceTask* tasks, uint32_t* results) {
  block.EachThread([&](uint32_t thread) {
    // The host has made sure that a batch's are less.
    const auto count = static_cast<uint32_t>(L3CountTasks(image));
    for (uint32_t i = thread; i < count; i += block.Threads()) {
      L3DeviceTask task;
      L3PlanTask(image, runs, bytes, i, &task);
      tasks[image.first_task + i] = task;
      results[image.first_task + i] = kL3NotDone;
    }
  });
}

// Finds the first error of tasks [begin, end), whose results are `results`.
template <typename Block>
LIQUID_DEVICE void L3CheckTasks(Block& block, const L3DeviceTask* tasks,
                                const uint32_t* results, uint32_t begin,
                                uint32_t end, L3DeviceFindings* findings) {
  block.EachThread([&](uint32_t thread) {
    for (uint32_t i = begin + thread; i < end; i += block.Threads()) {
      const L3DeviceTask& task = tasks[i];
      const bool has_place =
          task.kind >= L3TaskKind::kJpegCodes || task.row_end != 0;
      if (has_place && results[i] == 0) continue;
      L3AtomicMin(
          L3ErrorKey(has_place ? L3ErrorOf::kPatch : L3ErrorOf::kTable,
                     task.image, L3OrderOf(task), has_place ? results[i] : 0),
          &findings->first_error);
    }
    if (thread == 0) L3AtomicAdd(end - begin, &findings->checked);
  });
}

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_PLAN_CUH_
