// Epochs of a dataset as batches, for callers without a graph.
#ifndef LIQUID_OPS_ENGINE_LOADER_H_
#define LIQUID_OPS_ENGINE_LOADER_H_

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/core/status.h"
#include "ops/engine/array.h"
#include "ops/engine/batch_pipeline.h"
#include "ops/engine/begin_epoch.h"
#include "ops/engine/decode_config.h"
#include "ops/engine/draw_plan.h"
#include "ops/engine/format_stream.h"
#include "ops/engine/snapshot.h"
#include "ops/engine/threads.h"
#include "ops/message/messages.h"
#include "ops/reader/open_shards.h"
#include "ops/reader/read_engine.h"

namespace liquid {

// What is drawn, from which files.
struct DrawConfig {
  InterleaveMessage message;
  std::vector<uint16_t> groups;         // see DrawPlan
  std::vector<uint32_t> record_blocks;  // likewise
  // Of each format of the plan; `chosen`: see OpenShards.
  std::vector<FormatMessage> formats;
  std::vector<std::vector<uint8_t>> chosen;
};

struct LoaderConfig {
  DrawConfig draws;
  // Its `parallelism` and `lookahead` are numbers of at least 1.
  DecodeMessage decode;
  std::vector<OutputSpec> outputs;
  MeanImage mean;
  // Opens files of a format with that patience and way of reading.
  std::function<Opener(const FormatMessage&, ReadMode)> opener;
  // Told once why the tier of the cache has ended.
  std::function<void(const std::string&)> warn;
};

// Runs one epoch after another, and gives the batches, the state and the
// statistics that the Dataset ops give for the same messages.
//
// Thread-compatible, but for Cancel and what `snapshot()` does.
class Loader {
 public:
  // What an epoch is told when it begins.
  struct EpochStart {
    std::vector<int64_t> fidelity;  // see Fidelity::Create
    // Where formats share samples, unless a rest begins; else empty.
    MixNumbers mixes;
    // Of the batch that it goes on behind; see BatchRepair.
    std::vector<int64_t> borrowed, skipped;
  };

  struct Batch {
    std::vector<Output> outputs;
    std::shared_ptr<PendingBatch> holds;  // texts of the outputs
    bool end = false;                     // there is none
    // Where its epoch goes on behind it: a step, which is that of no batch
    // behind the last one, and see EpochStart.
    int64_t epoch = 0;
    uint64_t step = 0;
    bool rest = false;  // of what other numbers of workers left
    std::vector<int64_t> borrowed, skipped;
  };

  // The allocator must outlive the loader and its batches. Errors: those of the
  // messages and of opening.
  static Status Create(LoaderConfig config, BatchAllocator* allocator,
                       std::unique_ptr<Loader>* loader);
  ~Loader();

  // Whether this process was forked from the one that made it, and that is
  // BatchPipeline::ForkedError whatever is called; it is then never to be
  // freed.
  bool Forked() const { return getpid() != process_; }

  // Makes the next epoch begin there: see Snapshot::Seek. `rest`: what other
  // numbers of workers left of it; or null.
  Status Seek(int64_t epoch, uint64_t step, const std::vector<uint64_t>& cached,
              const std::vector<int64_t>& mixes, const DrawConfig* rest);
  // Begins the epoch that the snapshot says is next, at its step. One that runs
  // is left.
  Status Begin(const EpochStart& start);
  // The next batch of the epoch that was begun, or its end. Errors: those of
  // BatchPipeline::Next; FailedPrecondition without an epoch.
  Status Next(Batch* batch);
  // Ends the epoch that runs. What it has read stays for the next one.
  void Leave();
  // Makes the epoch that runs, or is being begun, give nothing but Cancelled.
  // Thread-safe.
  void Cancel();

  size_t formats() const { return drawn_->plan.message.sources.size(); }
  Snapshot& snapshot() const { return *snapshot_; }

 private:
  class Epoch;
  // A plan with its files.
  struct Drawn : public DrawSource {
    DrawPlan plan;
    std::shared_ptr<const PlanSpec> spec;
    std::vector<FormatFiles> files;
  };

  Loader() = default;
  Status Open(const DrawConfig& config, Snapshot::Config* snapshot,
              std::shared_ptr<const Drawn>* drawn) const;

  const pid_t process_ = getpid();
  DecodeMessage decode_;
  std::function<Opener(const FormatMessage&, ReadMode)> opener_;
  std::shared_ptr<const Drawn> drawn_;
  std::vector<OutputFeature> features_;
  std::unique_ptr<BatchDecoder> decoder_;
  const std::shared_ptr<Snapshot> snapshot_ = std::make_shared<Snapshot>();
  std::unique_ptr<Threads> threads_;

  std::mutex mu_;
  // Guarded by mu_; others than Cancel may read it without.
  std::unique_ptr<Epoch> run_;
  bool cancelled_ = false;  // guarded by mu_
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_LOADER_H_
