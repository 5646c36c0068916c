// A driver of CUDA whose device is the host, under the name of the real one
// (libcuda.so.1), so that whoever opens that gets this where it was loaded
// before. Streams are threads: what is given to one of them happens later, in
// order, and in no order with others but that of events. Kernels are the real
// ones' own code (tests/ops/gpu/host_kernels.cc).
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#define FAKE_API extern "C" __attribute__((visibility("default")))

extern "C" int liquid_run_on_host(const char* name, const void* output,
                                  const void* tasks, uint32_t count,
                                  const uint8_t* bytes, void* pixels,
                                  uint32_t* results, uint32_t threads,
                                  uint32_t shared_bytes);

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2,
              kNoDevice = 100, kInvalidImage = 200, kInvalidHandle = 400,
              kNotFound = 500, kNotReady = 600, kLaunchFailed = 719,
              kNotPermitted = 800, kCaptureUnsupported = 900,
              kCaptureInvalidated = 901, kCaptureUnjoined = 904,
              kCaptureIsolation = 905, kCaptureImplicit = 906,
              kCapturedEvent = 907;

void CountMore(const char* name, int64_t more);

// The calling thread's processor time.
int64_t ThreadMicroseconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * int64_t{1000000} + now.tv_nsec / 1000;
}

// A graph that is captured of what streams are given, as long as it is.
struct Capture {
  std::atomic<bool> is_valid{true};
  std::atomic<bool> has_others{false};  // streams than that where it began
};

class Stream {
 public:
  explicit Stream(int device) : device(device), thread_([this] { Run(); }) {}
  ~Stream() {
    capture = {};
    Add(nullptr);
    thread_.join();
  }
  // What is captured happens when the graph is launched, which none is.
  void Add(std::function<void()> work) {
    if (Captured() != nullptr) return;
    std::lock_guard<std::mutex> lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_all();
  }
  void Synchronize() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return work_.empty(); });
  }
  // What the stream is captured for, or null.
  std::shared_ptr<Capture> Captured() const { return capture.lock(); }

  const int device;
  std::weak_ptr<Capture> capture;  // set while nobody else uses the stream

 private:
  void Run() {
    while (true) {
      std::function<void()> work;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return !work_.empty(); });
        work = work_.front();
      }
      if (work == nullptr) return;
      const int64_t begin = ThreadMicroseconds();
      work();
      CountMore("device_microseconds", ThreadMicroseconds() - begin);
      std::lock_guard<std::mutex> lock(mutex_);
      work_.pop_front();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::thread thread_;
};

// As in CUDA, a wait is for what had been recorded when it was asked for, and
// who destroys an event need not wait for the streams that still have it.
struct Mark {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_reached = false;
  std::chrono::steady_clock::time_point when;
};
struct Event {
  std::mutex mutex;
  std::shared_ptr<Mark> last;  // null: none was recorded
  bool is_captured = false;
  std::weak_ptr<Capture> capture;  // of where it was recorded
  bool is_timed = true;
  int device = 0;
};

struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_closed = false;
};

std::mutex mutex;  // of what follows
// Never freed: threads of TensorFlow may outlive static objects.
auto& settings = *new std::map<std::string, int>{{"capability", 90},
                                                 {"devices", 1},
                                                 {"tensorflow_devices", 1},
                                                 {"least_priority", 0}};
auto& counts = *new std::map<std::string, int>;
Gate& gate = *new Gate;
// Contexts, by their devices; there are no more than tests have devices.
constexpr int kMostDevices = 8;
struct Context {
  int device;
};
Context contexts[kMostDevices] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
thread_local std::vector<Context*> pushed;
// CUDA's modes: 0, in which a capture of any thread forbids much; 2, relaxed.
thread_local int capture_mode = 0;
// There nothing may be called; nearly all of it begins with a context.
thread_local bool is_in_callback = false;

int Setting(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex);
  return settings[name];
}

// LIQUID_FAKE_CUDA, for a program that sets none by itself: name=value,…
[[maybe_unused]] const bool has_environment = [] {
  const char* const given = std::getenv("LIQUID_FAKE_CUDA");
  std::string rest = given == nullptr ? "" : given;
  while (!rest.empty()) {
    const std::string one = rest.substr(0, rest.find(','));
    rest.erase(0, one.size() + 1);
    const size_t equals = one.find('=');
    settings[one.substr(0, equals)] = std::atoi(one.c_str() + equals + 1);
  }
  return given != nullptr;
}();

// Kernels of the command that measures: ops/gpu/bench/step_kernel.h.
void RunStepKernel(float* data, uint32_t count, uint32_t rounds) {
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t round = 0; round < rounds; ++round) {
      data[i] = data[i] * 0.5f + 1;
    }
  }
}

// And gather_kernel.h. The device reads no other memory of the host.
struct GatherPiece {
  uint64_t from, to, size, unused;
};
bool IsPinned(const void* memory, size_t size);
void RunGatherKernel(const GatherPiece* pieces, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const auto* const from = reinterpret_cast<const void*>(pieces[i].from);
    if (!IsPinned(from, pieces[i].size)) continue;
    std::memcpy(reinterpret_cast<void*>(pieces[i].to), from, pieces[i].size);
  }
}

void CountMore(const char* name, int64_t more) {
  std::lock_guard<std::mutex> lock(mutex);
  counts[name] += static_cast<int>(more);
}

void Count(const char* name) { CountMore(name, 1); }

// The default streams, which also have numbers, are one here, of the current
// device.
Stream* Of(void* stream) {
  static std::map<int, Stream*>& usual = *new std::map<int, Stream*>;
  if (reinterpret_cast<uintptr_t>(stream) > 2) {
    return static_cast<Stream*>(stream);
  }
  const int device = pushed.empty() ? 0 : pushed.back()->device;
  std::lock_guard<std::mutex> lock(mutex);
  Stream*& found = usual[device];
  if (found == nullptr) found = new Stream(device);
  return found;
}

// A device's memory, by where it begins.
struct Piece {
  size_t size;
  int device;
};
auto& pieces = *new std::map<unsigned long long, Piece>;
// Bytes of all of them, and how many there may be where "full" is set: as many
// as there were then.
size_t held = 0, most_held = 0;

// Whether a device may use an address: memory of others is not its own. Where
// TensorFlow's allocator has it from is not known.
bool IsNear(unsigned long long address, int device) {
  std::lock_guard<std::mutex> lock(mutex);
  auto piece = pieces.upper_bound(address);
  if (piece == pieces.begin()) return true;
  --piece;
  return address - piece->first >= piece->second.size ||
         piece->second.device == device;
}

// Memory that the device reads by itself, by where it ends.
auto& pinned = *new std::map<const uint8_t*, const uint8_t*>;

void Pin(const void* memory, size_t size) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto* const begin = static_cast<const uint8_t*>(memory);
  pinned[begin + size] = begin;
}

// False for what was not.
bool Unpin(const void* memory) {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto piece = pinned.begin(); piece != pinned.end(); ++piece) {
    if (piece->second != memory) continue;
    pinned.erase(piece);
    return true;
  }
  return false;
}

bool IsPinned(const void* memory, size_t size) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto* const begin = static_cast<const uint8_t*>(memory);
  const auto piece = pinned.lower_bound(begin + size);
  return piece != pinned.end() && piece->second <= begin;
}

// Other memory a driver copies elsewhere first, while it is waited for. Here it
// is counted, when it is asked for and when it is done.
void CopyToDevice(Stream* stream, unsigned long long to, const void* from,
                  size_t size) {
  if (!IsPinned(from, size)) Count("pageable_copies");
  Count("pieces");
  CountMore("piece_bytes", static_cast<int64_t>(size));
  stream->Add([=] {
    if (!IsPinned(from, size)) Count("pageable_copies");
    std::memcpy(reinterpret_cast<void*>(to), from, size);
  });
}

// What has to have a current context fails without one.
int Current() { return pushed.empty() ? kInvalidValue : kSuccess; }

// What may not be done while somebody captures a graph.
int WhileCapturing() {
  if (Setting("capturing") != 0 && capture_mode != 2)
    return kCaptureUnsupported;
  return Current();
}

// Captures by the streams where they began.
struct Captured {
  std::shared_ptr<Capture> capture;
  bool has_default_wait;  // whether the default stream waits for that one
};
auto& captures = *new std::map<Stream*, Captured>;

bool IsDefault(void* stream) { return reinterpret_cast<uintptr_t>(stream) < 3; }

// Whether the stream is the default one, and would have to wait for one that is
// captured; with `invalidate`, that capture is none then.
bool WaitsForCapture(void* stream, bool invalidate) {
  if (!IsDefault(stream) || pushed.empty()) return false;
  std::lock_guard<std::mutex> lock(mutex);
  bool found = false;
  for (auto& [of, captured] : captures) {
    if (!captured.has_default_wait || of->device != pushed.back()->device) {
      continue;
    }
    found = true;
    if (invalidate) captured.capture->is_valid = false;
  }
  return found;
}

// What cannot be done to a stream that is captured.
int Uncaptured(void* stream) {
  if (WaitsForCapture(stream, true)) return kCaptureImplicit;
  const auto capture = Of(stream)->Captured();
  if (capture == nullptr) return kSuccess;
  capture->is_valid = false;
  return kCaptureUnsupported;
}

// Whether the stream is of the current context.
bool IsCurrent(void* stream) {
  return !pushed.empty() && Of(stream)->device == pushed.back()->device;
}

}  // namespace

// Work of a consumer: copies of memory, and streams of a device.
FAKE_API void* fake_cuda_stream(int device) { return new Stream(device); }
FAKE_API void fake_cuda_stream_free(void* stream) {
  delete static_cast<Stream*>(stream);
}
FAKE_API void fake_cuda_copy(void* stream, void* to, const void* from,
                             size_t size) {
  Of(stream)->Add([=] { std::memcpy(to, from, size); });
}
FAKE_API void fake_cuda_synchronize(void* stream) { Of(stream)->Synchronize(); }
// Captures a graph of what a stream is given, of a kind for which the default
// one waits, or not.
FAKE_API void fake_cuda_begin_capture(void* stream, int has_default_wait) {
  auto* const of = static_cast<Stream*>(stream);
  const auto capture = std::make_shared<Capture>();
  of->capture = capture;
  std::lock_guard<std::mutex> lock(mutex);
  captures[of] = {capture, has_default_wait != 0};
  ++settings["capturing"];
}
FAKE_API int fake_cuda_end_capture(void* stream) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = captures.find(static_cast<Stream*>(stream));
  const auto capture = found->second.capture;
  captures.erase(found);
  --settings["capturing"];
  return !capture->is_valid    ? kCaptureInvalidated
         : capture->has_others ? kCaptureUnjoined
                               : kSuccess;
}

// For tests: settings ("devices", "tensorflow_devices", "capability", "full",
// what a kernel takes at least: "kernel_milliseconds", how long who may waits
// for memory: "patience_milliseconds", and results of functions: "init",
// "module", "launch", "callback", "memory", "register", "copy", "batch";
// "capturing": somebody captures a graph; "idle": kernels find all right and
// decode nothing; "abort:NAME", "hang:NAME": a launch of that kernel ends the
// process, or never ends; "fail:NAME": its result), how often what was done,
// and the processor time of what the device does, "device_microseconds".
FAKE_API void fake_cuda_set(const char* name, int value) {
  std::lock_guard<std::mutex> lock(mutex);
  settings[name] = value;
  if (std::strcmp(name, "full") == 0) most_held = held;
}
FAKE_API int fake_cuda_get(const char* name) { return Setting(name); }
FAKE_API void fake_cuda_count_one(const char* name) { Count(name); }
FAKE_API int fake_cuda_count(const char* name) {
  std::lock_guard<std::mutex> lock(mutex);
  return counts[name];
}
// Nothing more happens on a stream, or the default one, until it is opened
// again; or for so long, if a test that should do that hangs.
constexpr std::chrono::seconds kLongest(30);
FAKE_API void fake_cuda_close_gate_of(void* stream) {
  {
    std::lock_guard<std::mutex> lock(gate.mutex);
    gate.is_closed = true;
  }
  Of(stream)->Add([] {
    std::unique_lock<std::mutex> lock(gate.mutex);
    gate.changed.wait_for(lock, kLongest, [] { return !gate.is_closed; });
  });
}
FAKE_API void fake_cuda_close_gate() { fake_cuda_close_gate_of(nullptr); }
FAKE_API void fake_cuda_open_gate() {
  std::lock_guard<std::mutex> lock(gate.mutex);
  gate.is_closed = false;
  gate.changed.notify_all();
}

// Of libnvidia-ml.so.1, where a link by that name leads here.
FAKE_API int nvmlInit_v2() { return Setting("nvml"); }
FAKE_API int nvmlDeviceGetHandleByIndex_v2(unsigned, void** device) {
  *device = &settings;
  return kSuccess;
}
FAKE_API int nvmlDeviceGetClockInfo(void*, int kind, unsigned* megahertz) {
  *megahertz = kind == 1 ? 1500 : 2600;
  return kSuccess;
}
FAKE_API int nvmlDeviceGetMaxClockInfo(void*, int kind, unsigned* megahertz) {
  *megahertz = kind == 1 ? 1980 : 3201;
  return kSuccess;
}
FAKE_API int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* generation) {
  *generation = 5;
  return kSuccess;
}
FAKE_API int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* lanes) {
  *lanes = 16;
  return kSuccess;
}

FAKE_API int cuInit(unsigned) { return Setting("init"); }
FAKE_API int cuDriverGetVersion(int* cuda) {
  *cuda = 13000;
  return 0;
}
FAKE_API int cuGetErrorName(int result, const char** name) {
  if (is_in_callback) return kNotPermitted;
  *name = result == kOutOfMemory    ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == kNoDevice     ? "CUDA_ERROR_NO_DEVICE"
          : result == kInvalidImage ? "CUDA_ERROR_INVALID_IMAGE"
          : result == kLaunchFailed ? "CUDA_ERROR_LAUNCH_FAILED"
                                    : "CUDA_ERROR_UNKNOWN";
  return kSuccess;
}
FAKE_API int cuGetErrorString(int, const char** text) {
  if (is_in_callback) return kNotPermitted;
  *text = "as the fake was told";
  return kSuccess;
}
FAKE_API int cuDeviceGetCount(int* count) {
  *count = Setting("devices");
  return kSuccess;
}
FAKE_API int cuDeviceGetAttribute(int* value, int attribute, int) {
  const int capability = Setting("capability");
  if (attribute != 75 && attribute != 76) return kInvalidValue;
  *value = attribute == 75 ? capability / 10 : capability % 10;
  return kSuccess;
}
FAKE_API int cuDeviceGet(int* device, int number) {
  *device = number;
  return number < Setting("devices") ? kSuccess : kInvalidValue;
}
FAKE_API int cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "Fake 0", static_cast<size_t>(size));
  return kSuccess;
}
FAKE_API int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &contexts[device];
  return kSuccess;
}
FAKE_API int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = *total = size_t{1} << 34;
  return Current();
}
FAKE_API int cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, capture_mode);
  return kSuccess;
}
FAKE_API int cuMemAlloc_v2(unsigned long long* address, size_t size) {
  if (const int result = WhileCapturing(); result != kSuccess) return result;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (settings["full"] != 0 && held + size > most_held) return kOutOfMemory;
    held += size;
  }
  void* const memory = std::aligned_alloc(256, (size + 255) / 256 * 256);
  if (memory == nullptr) return kOutOfMemory;
  std::memset(memory, 0x5A, size);
  *address = reinterpret_cast<unsigned long long>(memory);
  std::lock_guard<std::mutex> lock(mutex);
  pieces[*address] = {size, pushed.back()->device};
  ++counts["allocated"];
  return kSuccess;
}
FAKE_API int cuMemFree_v2(unsigned long long address) {
  if (const int result = WhileCapturing(); result != kSuccess) return result;
  {
    std::lock_guard<std::mutex> lock(mutex);
    const auto piece = pieces.find(address);
    if (piece == pieces.end()) return kInvalidValue;
    held -= piece->second.size;
    pieces.erase(piece);
    ++counts["freed"];
  }
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}
FAKE_API int cuCtxPushCurrent_v2(void* context) {
  if (is_in_callback) return kNotPermitted;
  pushed.push_back(static_cast<Context*>(context));
  return kSuccess;
}
FAKE_API int cuCtxPopCurrent_v2(void** context) {
  if (pushed.empty()) return kInvalidValue;
  *context = pushed.back();
  pushed.pop_back();
  return kSuccess;
}
FAKE_API int cuCtxGetDevice(int* device) {
  if (pushed.empty()) return kInvalidValue;
  *device = pushed.back()->device;
  return kSuccess;
}
FAKE_API int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = Setting("least_priority");
  *greatest = -5;
  return Current();
}
FAKE_API int cuModuleLoadData(void** module, const void* image) {
  constexpr uint32_t kFatbin = 0xBA55ED50;
  uint32_t magic;
  std::memcpy(&magic, image, sizeof(magic));
  const bool is_known =
      magic == kFatbin ||
      std::strncmp(static_cast<const char*>(image), "made", 4) == 0 ||
      std::strncmp(static_cast<const char*>(image), "\n.version", 9) == 0;
  if (!is_known || Setting("module") != 0) return kInvalidImage;
  Count("modules");
  *module = &settings;
  return Current();
}
FAKE_API int cuModuleGetFunction(void** function, void*, const char* name) {
  static auto& names = *new std::set<std::string>;
  std::lock_guard<std::mutex> lock(mutex);
  *function = const_cast<char*>(names.insert(name).first->c_str());
  return std::strncmp(name, "liquid_", 7) == 0 ? kSuccess : kNotFound;
}
FAKE_API int cuStreamCreateWithPriority(void** stream, unsigned flags,
                                        int priority) {
  if (flags != 1 || priority != Setting("least_priority")) return kInvalidValue;
  Count("streams");
  if (pushed.empty()) return kInvalidValue;
  *stream = new Stream(pushed.back()->device);
  return Current();
}
FAKE_API int cuStreamDestroy_v2(void* stream) {
  Count("streams_destroyed");
  delete static_cast<Stream*>(stream);
  return Current();
}
FAKE_API int cuStreamIsCapturing(void* stream, int* status) {
  if (WaitsForCapture(stream, false)) return kCaptureImplicit;
  const auto capture = Of(stream)->Captured();
  *status = capture == nullptr ? 0 : capture->is_valid ? 1 : 2;
  return Current();
}
FAKE_API int cuStreamSynchronize(void* stream) {
  if (const int result = Uncaptured(stream); result != kSuccess) return result;
  Count("synchronized");
  Of(stream)->Synchronize();
  return Current();
}
FAKE_API int cuStreamGetCtx(void* stream, void** context) {
  *context = &contexts[Of(stream)->device];
  return kSuccess;
}
FAKE_API int cuEventCreate(void** event, unsigned flags) {
  if (pushed.empty()) return kInvalidValue;
  auto* const made = new Event;
  made->is_timed = flags != 2;
  made->device = pushed.back()->device;
  *event = made;
  return kSuccess;
}
FAKE_API int cuEventDestroy_v2(void* event) {
  delete static_cast<Event*>(event);
  return Current();
}
FAKE_API int cuEventRecord(void* event, void* stream) {
  auto* const e = static_cast<Event*>(event);
  // An event is recorded on its own device alone; any may wait for it.
  if (Of(stream)->device != e->device) return kInvalidHandle;
  if (WaitsForCapture(stream, true)) return kCaptureImplicit;
  const auto capture = Of(stream)->Captured();
  const auto mark = std::make_shared<Mark>();
  {
    std::lock_guard<std::mutex> lock(e->mutex);
    e->last = capture == nullptr ? mark : nullptr;
    e->is_captured = capture != nullptr;
    e->capture = capture;
  }
  Of(stream)->Add([mark] {
    std::lock_guard<std::mutex> lock(mark->mutex);
    mark->is_reached = true;
    mark->when = std::chrono::steady_clock::now();
    mark->changed.notify_all();
  });
  return Current();
}
FAKE_API int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  auto* const e = static_cast<Event*>(event);
  if (WaitsForCapture(stream, true)) return kCaptureImplicit;
  const auto capture = Of(stream)->Captured();
  std::shared_ptr<Mark> mark;
  {
    std::lock_guard<std::mutex> lock(e->mutex);
    if (e->is_captured) {
      const auto of_event = e->capture.lock();
      if (of_event == nullptr) return kCapturedEvent;
      // The stream is captured, too, from now on.
      if (capture != of_event) {
        Of(stream)->capture = of_event;
        of_event->has_others = true;
      }
      return Current();
    }
    mark = e->last;
  }
  if (mark == nullptr) return Current();
  if (capture != nullptr) {
    capture->is_valid = false;
    return kCaptureIsolation;
  }
  Of(stream)->Add([mark] {
    std::unique_lock<std::mutex> lock(mark->mutex);
    mark->changed.wait(lock, [&] { return mark->is_reached; });
  });
  return Current();
}
FAKE_API int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  std::chrono::steady_clock::time_point when[2];
  for (int i = 0; i < 2; ++i) {
    auto* const e = static_cast<Event*>(i == 0 ? begin : end);
    std::lock_guard<std::mutex> lock(e->mutex);
    if (!e->is_timed || e->last == nullptr) return kInvalidHandle;
    std::lock_guard<std::mutex> of_mark(e->last->mutex);
    if (!e->last->is_reached) return kNotReady;
    when[i] = e->last->when;
  }
  *milliseconds =
      std::chrono::duration<float, std::milli>(when[1] - when[0]).count();
  return Current();
}
FAKE_API int cuMemHostAlloc(void** memory, size_t size, unsigned) {
  if (const int result = WhileCapturing(); result != kSuccess) return result;
  if (Setting("memory") != 0) return Setting("memory");
  Count("pinned");
  *memory = std::aligned_alloc(256, (size + 255) / 256 * 256);
  std::memset(*memory, 0xA5, size);
  Pin(*memory, size);
  return Current();
}
FAKE_API int cuMemFreeHost(void* memory) {
  if (const int result = WhileCapturing(); result != kSuccess) return result;
  Unpin(memory);
  std::free(memory);
  return Current();
}
FAKE_API int cuMemHostRegister_v2(void* memory, size_t size, unsigned flags) {
  constexpr uintptr_t kPage = 4096;
  if (flags != 1 || reinterpret_cast<uintptr_t>(memory) % kPage != 0) {
    return kInvalidValue;
  }
  if (const int result = WhileCapturing(); result != kSuccess) return result;
  if (Setting("register") != 0) return Setting("register");
  // All of its pages are there from now on.
  auto* const bytes = static_cast<volatile uint8_t*>(memory);
  for (size_t i = 0; i < size; i += kPage) bytes[i] = bytes[i];
  Count("registered");
  Pin(memory, size);
  return Current();
}
FAKE_API int cuMemHostUnregister(void* memory) {
  if (const int result = WhileCapturing(); result != kSuccess) return result;
  if (Setting("register") != 0) return Setting("register");
  if (!Unpin(memory)) return kInvalidValue;
  Count("unregistered");
  return Current();
}
FAKE_API int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from,
                                  size_t size, void* stream) {
  if (Setting("copy") != 0) return Setting("copy");
  if (!IsCurrent(stream) || !IsNear(to, Of(stream)->device)) {
    return kInvalidValue;
  }
  Count("copies");
  CopyToDevice(Of(stream), to, from, size);
  return Current();
}
FAKE_API int cuMemcpyBatchAsync(unsigned long long* to,
                                unsigned long long* from, size_t* sizes,
                                size_t count, const int* attributes,
                                size_t* firsts, size_t attribute_count,
                                size_t* failed, void* stream) {
  const int order = attributes[0];
  if (count == 0 || attribute_count != 1 || firsts[0] != 0 || order < 1 ||
      order > 3 || stream == nullptr) {
    *failed = SIZE_MAX;
    return kInvalidValue;
  }
  for (const char* name : {"batch", "copy"}) {
    if (Setting(name) != 0) return Setting(name);
  }
  for (size_t i = 0; i < count; ++i) {
    if (!IsCurrent(stream) || !IsNear(to[i], Of(stream)->device)) {
      return kInvalidValue;
    }
  }
  Count("copies");
  Count("batches");
  // In no order, but behind what was there.
  for (size_t i = count; i-- > 0;) {
    CopyToDevice(Of(stream), to[i], reinterpret_cast<const void*>(from[i]),
                 sizes[i]);
  }
  return Current();
}
FAKE_API int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from,
                                  size_t size, void* stream) {
  Of(stream)->Add([=] {
    std::memcpy(to, reinterpret_cast<void*>(from), size);
    Count("decoded");
  });
  return Current();
}
FAKE_API int cuMemcpyDtoDAsync_v2(unsigned long long to,
                                  unsigned long long from, size_t size,
                                  void* stream) {
  Of(stream)->Add([=] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from),
                size);
  });
  return Current();
}
FAKE_API int cuMemsetD8Async(unsigned long long to, unsigned char value,
                             size_t size, void* stream) {
  Of(stream)->Add(
      [=] { std::memset(reinterpret_cast<void*>(to), value, size); });
  return Current();
}
FAKE_API int cuStreamAddCallback(void* stream,
                                 void (*callback)(void*, int, void*),
                                 void* data, unsigned) {
  if (const int found = Uncaptured(stream); found != kSuccess) return found;
  const int result = Setting("callback");
  Of(stream)->Add([=] {
    is_in_callback = true;
    callback(stream, result, data);
    is_in_callback = false;
  });
  return Current();
}
FAKE_API int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y,
                            unsigned grid_z, unsigned block_x, unsigned block_y,
                            unsigned block_z, unsigned shared, void* stream,
                            void** arguments, void** extra) {
  const std::string name = static_cast<const char*>(function);
  if (Setting("launch") != 0) return Setting("launch");
  if (Setting("fail:" + name) != 0) return Setting("fail:" + name);
  if (Setting("abort:" + name) != 0) std::abort();
  if (Setting("hang:" + name) != 0) {
    Of(stream)->Add([] {
      while (true) std::this_thread::sleep_for(std::chrono::hours(1));
    });
    return kSuccess;
  }
  // What checks has fewer arguments than the others.
  const int n_arguments = name == "liquid_l3_check" ? 4 : 6;
  const auto address = [&](int i) {
    return i < n_arguments
               ? reinterpret_cast<void*>(
                     *static_cast<unsigned long long*>(arguments[i]))
               : nullptr;
  };
  if (name == "liquid_bench_step") {
    const uint32_t numbers = *static_cast<uint32_t*>(arguments[1]);
    const uint32_t rounds = *static_cast<uint32_t*>(arguments[2]);
    if (uint64_t{grid_x} * block_x < numbers) return kInvalidValue;
    Of(stream)->Add([=, data = address(0)] {
      RunStepKernel(static_cast<float*>(data), numbers, rounds);
    });
    return kSuccess;
  }
  if (name == "liquid_bench_gather") {
    const uint32_t pieces = *static_cast<uint32_t*>(arguments[1]);
    Of(stream)->Add([=, table = address(0)] {
      RunGatherKernel(static_cast<GatherPiece*>(table), pieces);
    });
    return kSuccess;
  }
  // Any number of blocks does all tasks.
  const uint32_t count = *static_cast<uint32_t*>(arguments[2]);
  if (grid_x < 1 || grid_x > count ||
      grid_y * grid_z * block_y * block_z != 1 || shared > 48 * 1024 ||
      extra != nullptr || !IsCurrent(stream)) {
    return kInvalidValue;
  }
  for (int i : {0, 1, 3, 4, 5}) {
    if (!IsNear(reinterpret_cast<unsigned long long>(address(i)),
                Of(stream)->device)) {
      return kInvalidValue;
    }
  }
  // What plans and checks is beside what is counted.
  const bool is_beside = name == "liquid_l3_plan" || name == "liquid_l3_check";
  if (!is_beside) Count("launches");
  Of(stream)->Add([=, output = address(0), tasks = address(1),
                   bytes = address(3), pixels = address(4),
                   results = address(5),
                   pause = is_beside ? 0 : Setting("kernel_milliseconds"),
                   is_idle = Setting("idle") != 0] {
    // What makes images of others has no results.
    const char* const name = static_cast<const char*>(function);
    const bool has_results = std::strncmp(name, "liquid_image_", 13) != 0;
    if (is_idle && !is_beside) {
      if (has_results) std::memset(results, 0, count * sizeof(uint32_t));
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    liquid_run_on_host(name, output, tasks, count, static_cast<uint8_t*>(bytes),
                       pixels, static_cast<uint32_t*>(results), block_x,
                       shared);
  });
  return Current();
}
