// Epochs of a dataset as batches, for who has no graph.
#ifndef LIQUID_OPS_ENGINE_LOADER_H_
#define LIQUID_OPS_ENGINE_LOADER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/core/status.h"
#include "ops/engine/array.h"
#include "ops/engine/batch_pipeline.h"
#include "ops/engine/decode_config.h"
#include "ops/engine/draw_plan.h"
#include "ops/engine/format_stream.h"
#include "ops/engine/snapshot.h"
#include "ops/engine/threads.h"
#include "ops/message/messages.h"
#include "ops/reader/open_shards.h"

namespace liquid {

struct LoaderConfig {
  InterleaveMessage draws;
  std::vector<uint16_t> groups;
  std::vector<uint32_t> record_blocks;
  // Of each format of the plan; `chosen`: see OpenShards.
  std::vector<FormatMessage> formats;
  std::vector<std::vector<uint8_t>> chosen;
  // Its `parallelism` and `lookahead` are numbers of at least 1.
  DecodeMessage decode;
  std::vector<OutputSpec> outputs;
  MeanImage mean;
};

// Runs one epoch after another, of a fixed mix and fidelity, and gives the
// batches, the state and the statistics that the Dataset ops give for the same
// messages.
//
// Thread-compatible, but for Cancel.
class Loader {
 public:
  // `opener` opens files of a format with that patience and way of reading. The
  // allocator must outlive the loader and its batches. Errors: those of the
  // messages and of opening.
  using OpenerOf = std::function<Opener(const FormatMessage&, ReadMode)>;
  static Status Create(LoaderConfig config, const OpenerOf& opener,
                       BatchAllocator* allocator,
                       std::unique_ptr<Loader>* loader);
  ~Loader();

  // Makes the next epoch begin there: see Snapshot::Seek.
  Status Seek(int64_t epoch, uint64_t step, const std::vector<uint64_t>& cached,
              const std::vector<int64_t>& mixes);
  // Begins the epoch that the snapshot says is next, at its step. One that runs
  // is left.
  Status Begin();
  // The next batch of the epoch that was begun, or its end. The outputs are
  // valid while `batch->holds` is.
  Status Next(BatchPipeline::Batch* batch);
  // Makes a Next that waits return. Thread-safe.
  void Cancel();

  int64_t epoch() const { return epoch_; }
  Snapshot& snapshot() { return *snapshot_; }
  const std::vector<OutputFeature>& features() const { return features_; }

 private:
  class Epoch;
  Loader() = default;

  LoaderConfig config_;
  DrawPlan draws_;
  std::shared_ptr<const PlanSpec> spec_;
  std::vector<FormatFiles> files_;
  std::vector<OutputFeature> features_;
  std::unique_ptr<BatchDecoder> decoder_;
  std::shared_ptr<Snapshot> snapshot_ = std::make_shared<Snapshot>();
  std::unique_ptr<Threads> threads_;
  int64_t epoch_ = -1;
  std::mutex mu_;
  std::unique_ptr<Epoch> run_;  // guarded by mu_ where Cancel may come
};

}  // namespace liquid

#endif  // LIQUID_OPS_ENGINE_LOADER_H_
