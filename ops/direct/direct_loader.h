// Epochs of a dataset as batches, for Python without TensorFlow: what the ops
// Liquid>FormatDataset, Liquid>InterleaveDataset, Liquid>DecodeBatchDataset and
// those on a snapshot do, of the same messages.
//
// As in direct.h, but a loader has threads of its own. All functions may be
// called by any thread: those that one loader must not run at once wait for
// each other. In a child that was forked, every one of them is an error, or
// does nothing.
#ifndef LIQUID_OPS_DIRECT_DIRECT_LOADER_H_
#define LIQUID_OPS_DIRECT_DIRECT_LOADER_H_

#include <cstdint>

#include "ops/direct/direct.h"
#include "ops/direct/direct_gpu.h"

extern "C" {

// How a function ended: 0, or a liquid::StatusCode, with a sentence.
enum LiquidStatus : int32_t {
  kLiquidOk = 0,
  kLiquidInvalidArgument = 1,
  kLiquidNotFound = 2,
  kLiquidDataLoss = 3,
  kLiquidResourceExhausted = 4,
  kLiquidUnimplemented = 5,
  kLiquidUnavailable = 6,
  kLiquidCancelled = 7,
  kLiquidFailedPrecondition = 8,
  kLiquidInternal = 9,
};

// The type of values: a liquid::DType.
enum LiquidDType : int32_t {
  kLiquidBool = 0,
  kLiquidUint8 = 1,
  kLiquidUint16 = 2,
  kLiquidInt32 = 3,
  kLiquidInt64 = 4,
  kLiquidFloat16 = 5,
  kLiquidBfloat16 = 6,
  kLiquidFloat32 = 7,
  kLiquidFloat64 = 8,
  kLiquidString = 9,
  kLiquidRecords = 10,  // of the output "image[stored]" alone
};

// Numbers that somebody else owns.
struct LiquidNumbers {
  const int64_t* data;
  uint64_t size;
};

// One format: the inputs of Liquid>FormatDataset.
struct LiquidFormat {
  LiquidBytes message;  // a FormatMessage
  LiquidBytes chosen;   // without bytes: all samples
};

// What is drawn: the inputs of Liquid>InterleaveDataset.
struct LiquidDraws {
  LiquidBytes message;  // an InterleaveMessage
  const uint16_t* groups;
  uint64_t groups_size;
  const uint32_t* record_blocks;
  uint64_t record_blocks_size;
  const LiquidFormat* formats;  // in the plan's order
  uint64_t formats_size;
};

// What a feature is in every batch; -1 for a length that is not known.
struct LiquidOutput {
  int32_t dtype;  // a LiquidDType
  LiquidNumbers shape;
};

// Where images are decoded.
struct LiquidGpu {
  int32_t number;
  const int32_t* dtypes;  // of the images of each view, a LiquidDType
  uint64_t dtypes_size;
  uint64_t cache_bytes;  // of its memory, for what is kept between epochs
};

// A loader: the inputs of the three ops. `lookahead` and `parallelism` of the
// DecodeMessage are at least 1.
struct LiquidLoaderPlan {
  LiquidDraws draws;
  LiquidBytes decode;           // a DecodeMessage
  const LiquidOutput* outputs;  // of each of its features
  uint64_t outputs_size;
  const float* mean_image;  // [height, width, channels]; 0 values for none
  int64_t mean_shape[3];
  // With an output of kLiquidRecords, which batches then have images of; or
  // null.
  const LiquidGpu* gpu;
};

// Where an epoch begins.
struct LiquidPlace {
  int64_t epoch;
  uint64_t step;  // batches of it that are left out
  bool rest;      // of an epoch that other numbers of workers began
};

// The mixes of formats that share samples: of epochs up to the one that begins,
// each [epochs, formats], as the input `mixes` of Liquid>InterleaveDataset.
struct LiquidMixes {
  uint64_t epochs;
  const int64_t* samples;
  const int64_t* cached;
  const int64_t* fill;
  const int64_t* resident;
  const int64_t* kept;
};

// What is told to an epoch that begins.
struct LiquidEpoch {
  LiquidNumbers fidelity;  // scan groups of its batches, the last one goes on;
                           // none: all
  // Of a plan with sections, unless a rest begins: else 0 epochs.
  LiquidMixes mixes;
  // What the batch before had of these (LiquidBatch), where the epoch goes on.
  LiquidNumbers borrowed;
  LiquidNumbers skipped;
};

// One feature of a batch. The memory is writable, and aligned to 64 bytes.
struct LiquidArray {
  int32_t dtype;  // a LiquidDType
  LiquidNumbers shape;
  uint8_t* data;            // the last dimension fastest; of strings all bytes;
                            // of images on a GPU null
  const uint64_t* offsets;  // where each string begins, then their end; of
                            // numbers null
};

// A batch, and where its epoch goes on behind it. Behind the last one `next`
// has as many steps as the epoch has batches: what goes on is the next epoch.
struct LiquidBatch {
  const LiquidArray* outputs;  // in the order of the plan's
  uint64_t outputs_size;
  LiquidPlace next;
  // With `skip_errors`: draws behind it that were delivered already, and the
  // samples that were left out so far.
  LiquidNumbers borrowed;
  LiquidNumbers skipped;
  // Images on a GPU: of each view, the first of which is the output of
  // kLiquidRecords, or of all views in one array, [n * views, ...].
  const LiquidArray* images;
  uint64_t images_size;
};

struct LiquidLoader;

// Opens the files of a plan, which need not outlive the call. Paths that are
// neither local, nor http://, https:// or s3:// are Unimplemented.
int32_t liquid_direct_loader_create(const LiquidLoaderPlan* plan,
                                    LiquidLoader** loader,
                                    LiquidProblem problem);
// Ends its threads. No other function may be under way, or follow, but for
// batches, which stay. Null is allowed.
void liquid_direct_loader_free(LiquidLoader* loader);

// Liquid>SeekSnapshot: makes the next epoch `epoch`, from its batch `step` on.
// `cached` and `mixes` without numbers leave these as they are. `rest`: what is
// left of the epoch, which other numbers of workers began, or null; its formats
// are those of the plan.
int32_t liquid_direct_loader_seek(LiquidLoader* loader, int64_t epoch,
                                  uint64_t step, LiquidNumbers cached,
                                  LiquidNumbers mixes, const LiquidDraws* rest,
                                  LiquidProblem problem);
// Where the epoch will begin that is next: to find out what it is told.
int32_t liquid_direct_loader_next_epoch(LiquidLoader* loader,
                                        LiquidPlace* place,
                                        LiquidProblem problem);
// Begins that epoch, and leaves one that runs.
int32_t liquid_direct_loader_begin(LiquidLoader* loader,
                                   const LiquidEpoch* epoch,
                                   LiquidProblem problem);
// The next batch, which the caller releases; null at the epoch's end. Waits.
// Cancelled after liquid_direct_loader_cancel; FailedPrecondition without an
// epoch.
int32_t liquid_direct_loader_next(LiquidLoader* loader, LiquidBatch** batch,
                                  LiquidProblem problem);
// Ends the epoch that runs: what it has read stays for the next one, and
// nothing else. One of which all batches were not given is run again.
int32_t liquid_direct_loader_leave(LiquidLoader* loader, LiquidProblem problem);
// Makes the epoch that runs, or is being begun, give nothing but Cancelled:
// also a liquid_direct_loader_next that waits. Never waits itself.
void liquid_direct_loader_cancel(LiquidLoader* loader);

// The images of a batch on a GPU of that number, which the caller frees; null
// where they are not there, or were taken.
LiquidImages* liquid_direct_batch_take_images(LiquidBatch* batch,
                                              uint64_t number);
// Frees the arrays, and images that were not taken. Null is allowed.
void liquid_direct_batch_release(LiquidBatch* batch);

// The counters as one JSON object: see StatsBoard::Json. `*json` is then freed.
// Does not wait for other functions.
int32_t liquid_direct_loader_stats(LiquidLoader* loader, bool batches,
                                   LiquidBytes* json, LiquidProblem problem);
void liquid_direct_stats_free(LiquidBytes json);

}  // extern "C"

#endif  // LIQUID_OPS_DIRECT_DIRECT_LOADER_H_
