#include <liburing.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "ops/reader/read_engine.h"

namespace liquid {
namespace {

class IoUringEngine : public ReadEngine {
 public:
  IoUringEngine() = default;
  ~IoUringEngine() override {
    if (ready_) io_uring_queue_exit(&ring_);
  }
  IoUringEngine(const IoUringEngine&) = delete;
  IoUringEngine& operator=(const IoUringEngine&) = delete;

  // Sets the ring up and reads the file's first block, of which there may be
  // none. A negative error number where either does not work: containers often
  // forbid io_uring, and some filesystems only its reads.
  int Init(int depth, const RandomFile& file) {
    const int error =
        io_uring_queue_init(static_cast<unsigned>(depth), &ring_, 0);
    if (error < 0) return error;
    ready_ = true;
    Buffer block;
    if (!Reserve(kDirectAlignment, &block)) return -ENOMEM;
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    io_uring_prep_read(sqe, file.fd(), block.data(), kDirectAlignment, 0);
    int result = io_uring_submit(&ring_);
    io_uring_cqe* cqe = nullptr;
    if (result == 1) {
      while ((result = io_uring_wait_cqe(&ring_, &cqe)) == -EINTR) {
      }
    }
    if (result < 0) return result;
    result = cqe->res;
    io_uring_cqe_seen(&ring_, cqe);
    return result;
  }

  bool Register(const std::vector<Buffer>& buffers) override {
    std::vector<iovec> memory;
    for (const Buffer& buffer : buffers) {
      memory.push_back({buffer.data(), buffer.capacity()});
    }
    // Fails where the limit of locked memory is small.
    return io_uring_register_buffers(&ring_, memory.data(),
                                     static_cast<unsigned>(memory.size())) == 0;
  }

  void Start(ReadRequest* request) override {
    std::lock_guard<std::mutex> lock(submit_mu_);
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    const iovec& first = request->segments.front();
    if (request->slot >= 0) {
      io_uring_prep_read_fixed(sqe, request->file->fd(), first.iov_base,
                               static_cast<unsigned>(first.iov_len),
                               request->offset, request->slot);
    } else {
      io_uring_prep_readv(sqe, request->file->fd(), request->segments.data(),
                          static_cast<unsigned>(request->segments.size()),
                          request->offset);
    }
    io_uring_sqe_set_data(sqe, request);
    // Refused only for a while, where the system is short of memory.
    while (io_uring_submit(&ring_) < 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  ReadRequest* Finish() override {
    io_uring_cqe* cqe = nullptr;
    // Fails only where a signal came.
    while (io_uring_wait_cqe(&ring_, &cqe) != 0) {
    }
    auto* request = static_cast<ReadRequest*>(io_uring_cqe_get_data(cqe));
    const int result = cqe->res;
    io_uring_cqe_seen(&ring_, cqe);
    // The request may come before the thread that started it has left Start.
    { std::lock_guard<std::mutex> lock(submit_mu_); }
    Complete(result, request);
    return request;
  }

  int most_waiting() const override { return 1; }
  int Workers(int depth) const override { return CheckingWorkers(depth); }
  const char* name() const override { return "io_uring"; }

 private:
  static void Complete(int result, ReadRequest* request) {
    if (result >= 0 && static_cast<uint64_t>(result) >= request->needed) {
      const auto bytes = static_cast<uint64_t>(result);
      request->count.bytes = request->count.disk_bytes = bytes;
      request->file->Forget(request->offset, bytes);
      return;
    }
    // A short read or an error: the plain read asks a failing device once more,
    // and says what is wrong.
    if (result == -EIO) ++request->count.retries;
    request->status = request->file->ReadInto(
        request->offset, request->segments, &request->count);
  }

  io_uring ring_;
  bool ready_ = false;
  std::mutex submit_mu_;  // guards the submission side of ring_
};

}  // namespace

Status MakeIoUringEngine(const RandomFile& file, int depth,
                         std::unique_ptr<ReadEngine>* engine) {
  auto made = std::make_unique<IoUringEngine>();
  const int error = made->Init(depth, file);
  if (error < 0) {
    return Unimplemented(file.path() + ": io_uring does not work here: " +
                         std::strerror(-error));
  }
  *engine = std::move(made);
  return OkStatus();
}

}  // namespace liquid
