// Images in a GPU's memory: made of files, and handed over by DLPack.
//
// As in direct_loader.h: all functions may be called by any thread, and in a
// child that was forked they are an error, or do nothing.
#ifndef LIQUID_OPS_DIRECT_DIRECT_GPU_H_
#define LIQUID_OPS_DIRECT_DIRECT_GPU_H_

#include <cstdint>

#include "ops/direct/direct.h"

extern "C" {

// A tensor as DLPack lays it out before version 1.0.
struct LiquidTensorDevice {
  int32_t type;  // kLiquidCuda
  int32_t number;
};
struct LiquidTensorType {
  uint8_t code;  // a LiquidTensorCode
  uint8_t bits;
  uint16_t lanes;  // 1
};
struct LiquidTensor {
  void* data;  // aligned to 256 bytes
  LiquidTensorDevice device;
  int32_t dimensions;
  LiquidTensorType type;
  int64_t* shape;
  int64_t* strides;  // null: the last dimension fastest, without gaps
  uint64_t offset;   // 0
};
struct LiquidManagedTensor {
  LiquidTensor tensor;
  void* owner;
  // Frees it; called once, by any thread. The last one of a loader that is gone
  // waits for what was given to the tensors' streams.
  void (*deleter)(LiquidManagedTensor*);
};
constexpr int32_t kLiquidCuda = 2;
enum LiquidTensorCode : uint8_t {
  kLiquidUnsigned = 1,
  kLiquidFloat = 2,
  kLiquidBfloat = 4,
};

// The images of a batch, or of one of its views. Their memory is used again
// when these and all tensors of them are freed, and what was given by then to
// the tensors' streams is over; but not while what decodes is there if a graph
// was captured of such a stream as its tensor was freed.
struct LiquidImages;

// Whether GPU `number` is there, and new enough: a LiquidStatus.
int32_t liquid_direct_gpu_check(int32_t number, LiquidProblem problem);

// Whether the engine's kernels are still to be compiled, by an NVRTC.
bool liquid_direct_gpu_compiles();

// Files of L3, of either profile, or raw, and what becomes of their images.
struct LiquidGpuFiles {
  int32_t number;            // of the GPU
  const LiquidBytes* files;  // which stay until the function ends
  const uint32_t* windows;   // [files, 4], y, x, height and width; or null
  uint64_t files_size;
  LiquidTensorType type;  // of the pixels; with 0 bits as the first is stored
  bool planar;            // whether channels come before rows
  const float* mean;      // one, or one a channel
  uint64_t mean_size;
  const float* std;  // likewise
  uint64_t std_size;
  uint64_t max_pixels;  // of a whole image
};

// Decodes them as one batch, and waits for it.
int32_t liquid_direct_gpu_decode(const LiquidGpuFiles* files,
                                 LiquidImages** images, LiquidProblem problem);
// What a tensor of them is. The shape has four sides.
void liquid_direct_images_describe(const LiquidImages* images, int64_t* shape,
                                   LiquidTensorType* type);

// Makes a tensor of images for who works on `stream`, a CUstream of that GPU's
// primary context, or 1, the legacy default one. What is given to it from
// now on finds the images complete, and the stream must be there when the
// tensor is freed. It is an error while a graph is captured of the stream.
int32_t liquid_direct_images_tensor(LiquidImages* images, uint64_t stream,
                                    LiquidManagedTensor** tensor,
                                    LiquidProblem problem);
// Null is allowed.
void liquid_direct_images_free(LiquidImages* images);

// Python's functions of these names. None changes an exception that is
// pending, or needs that there is none.
struct LiquidCapsules {
  int (*is_valid)(void* capsule, const char* name);   // PyCapsule_IsValid
  void* (*pointer)(void* capsule, const char* name);  // PyCapsule_GetPointer
  void* (*save_thread)();                             // PyEval_SaveThread
  void (*restore_thread)(void* saved);                // PyEval_RestoreThread
};
// Gives the destructor of a capsule "dltensor", which frees the tensor if no
// library has taken it. Python is others' meanwhile. The same functions are to
// be given each time.
void (*liquid_direct_capsule_destructor(LiquidCapsules capsules))(void*);

}  // extern "C"

#endif  // LIQUID_OPS_DIRECT_DIRECT_GPU_H_
