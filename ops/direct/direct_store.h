// What Python reads of a dataset's files: headers of images, the index of
// progressive records, features of tf.train.Examples.
//
// As in direct.h. Functions that fill arrays are called twice: without arrays
// they say how much room is needed.
#ifndef LIQUID_OPS_DIRECT_DIRECT_STORE_H_
#define LIQUID_OPS_DIRECT_DIRECT_STORE_H_

#include <cstdint>

#include "ops/direct/direct.h"

extern "C" {

// What an index of progressive records says, record after record.
struct LiquidPcrIndex {
  uint64_t records;
  uint64_t name_bytes;
  uint64_t parts;      // of all records
  uint64_t checksums;  // likewise

  // Null, or arrays of that room.
  char* names;              // without ends
  uint64_t* name_ends;      // [records], in `names`
  uint64_t* part_ends;      // [records], in `lengths`
  uint64_t* checksum_ends;  // [records], in `crc32cs`
  uint32_t* lengths;        // [parts]
  uint32_t* crc32cs;        // [checksums]
};

// The kinds of values of a tf.train.Feature.
enum LiquidKind : int32_t {
  kLiquidNone = 0,
  kLiquidByteStrings = 1,
  kLiquidFloats = 2,
  kLiquidInt64s = 3,
};

// One feature of several tf.train.Examples.
struct LiquidFeature {
  LiquidBytes bytes;        // Examples, one after another
  const uint64_t* offsets;  // [examples + 1], in `bytes`
  uint64_t examples;
  LiquidBytes name;

  int32_t* kinds;    // [examples], of a LiquidKind each
  uint64_t* counts;  // [examples], values of each
  // Each null, or room for all values, of which those of its kind are written;
  // of byte strings offset and size, in `bytes`.
  float* floats;
  int64_t* int64s;
  uint64_t* places;  // [values, 2]
};

// Reads size, channels and bits of an image of any format, in limits; fills in
// the format too. Returns whether it could.
bool liquid_direct_peek(LiquidBytes file, LiquidImage* image,
                        LiquidProblem problem);

// Reads an index. Returns whether it is right.
bool liquid_direct_pcr_index(LiquidBytes contents, LiquidPcrIndex* index,
                             LiquidProblem problem);

// Reads a feature. Returns whether all are Examples; else `*wrong` is the
// position of the one that is not.
bool liquid_direct_examples(LiquidFeature* feature, uint64_t* wrong,
                            LiquidProblem problem);

}  // extern "C"

#endif  // LIQUID_OPS_DIRECT_DIRECT_STORE_H_
