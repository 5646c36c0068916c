// Threads that work together, as the device has them.
//
// The decoder is written once, over a Block and its Warps, whose loops end
// where the threads have to wait for each other. On the device they are threads
// and barriers; a host that runs them one after the other has to come to the
// same pixels, in whatever order it takes them, and so the tests do.
//
//   Block   Warp                      their type
//           Threads()                 how many there are
//           EachThread(f(thread))     a barrier follows
//           EachWarp(count, f(warp, index))  likewise; of the first `count`
//           warps Sync()
//   Warp    Lanes                     a uint32_t for every lane
//           Zeros()                   such, all 0
//           Each(f(lane))             what it writes to memory is seen after it
//           Compute(f(lane))          the same for what touches Lanes only
//           FromBelow(lanes, n)       what the lane n places before has;
//                                     unspecified for the first n
//           FromFirst(lanes)          what lane 0 has
//           Xor(lanes)                of all lanes, in lane 0
//
// Whether a warp calls one of these must be the same for all of its threads,
// also where some are ahead of others: it must not depend on memory that a
// thread of the warp writes before the next barrier. The host cannot tell such
// a mistake.
#ifndef LIQUID_OPS_CODECS_L3_L3_DEVICE_TEAM_CUH_
#define LIQUID_OPS_CODECS_L3_L3_DEVICE_TEAM_CUH_

#include "ops/codecs/l3/l3_device.h"

#if defined(__CUDACC__)
#define LIQUID_DEVICE __device__
#define LIQUID_DEVICE_TABLE __device__ const
// Before a loop that runs seldom: instructions have caches, too.
#define LIQUID_SELDOM _Pragma("unroll 1")
#else
#include <cstdlib>
#include <cstring>
#define LIQUID_DEVICE
#define LIQUID_DEVICE_TABLE constexpr
#define LIQUID_SELDOM
#endif

namespace liquid {

struct alignas(16) L3Piece {
  uint32_t words[4];
};

// All addresses are multiples of 16. A device faults where they are not, and so
// does the host.
LIQUID_DEVICE inline void L3CopyPiece(const uint8_t* from, uint8_t* to) {
#if defined(__CUDACC__)
  *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
#else
  if ((reinterpret_cast<size_t>(from) | reinterpret_cast<size_t>(to)) % 16) {
    std::abort();
  }
  std::memcpy(to, from, sizeof(L3Piece));
#endif
}

LIQUID_DEVICE inline void L3WritePiece(const L3Piece& piece, void* to) {
#if defined(__CUDACC__)
  *reinterpret_cast<uint4*>(to) = make_uint4(piece.words[0], piece.words[1],
                                             piece.words[2], piece.words[3]);
#else
  if (reinterpret_cast<size_t>(to) % 16) std::abort();
  std::memcpy(to, &piece, sizeof(L3Piece));
#endif
}

// Sums of all lanes up to and with each.
template <typename Warp>
LIQUID_DEVICE void L3Sums(Warp& warp, typename Warp::Lanes& lanes) {
  for (uint32_t step = 1; step < kL3Warp; step *= 2) {
    auto below = warp.FromBelow(lanes, step);
    warp.Compute([&](uint32_t lane) {
      if (lane >= step) lanes[lane] += below[lane];
    });
  }
}

#if defined(__CUDACC__)

class L3DeviceWarp {
 public:
  // A thread holds its own only.
  struct Lanes {
    uint32_t value;
    __device__ uint32_t& operator[](uint32_t) { return value; }
  };
  __device__ Lanes Zeros() const { return {0}; }

  template <typename F>
  __device__ void Each(F f) {
    f(threadIdx.x % kL3Warp);
    __syncwarp();
  }
  template <typename F>
  __device__ void Compute(F f) {
    f(threadIdx.x % kL3Warp);
  }
  __device__ Lanes FromBelow(const Lanes& lanes, uint32_t places) {
    return {__shfl_up_sync(kAll, lanes.value, places)};
  }
  __device__ uint32_t FromFirst(const Lanes& lanes) {
    return __shfl_sync(kAll, lanes.value, 0);
  }
  __device__ uint32_t Xor(const Lanes& lanes) {
    uint32_t value = lanes.value;
    for (uint32_t step = kL3Warp / 2; step > 0; step /= 2) {
      value ^= __shfl_xor_sync(kAll, value, step);
    }
    return value;
  }

 private:
  static constexpr uint32_t kAll = 0xFFFFFFFF;
};

class L3DeviceBlock {
 public:
  using Warp = L3DeviceWarp;
  __device__ uint32_t Threads() const { return blockDim.x; }
  template <typename F>
  __device__ void EachThread(F f) {
    f(threadIdx.x);
    __syncthreads();
  }
  template <typename F>
  __device__ void EachWarp(uint32_t count, F f) {
    if (threadIdx.x / kL3Warp < count) {
      L3DeviceWarp warp;
      f(warp, threadIdx.x / kL3Warp);
    }
    __syncthreads();
  }
};

#endif  // defined(__CUDACC__)

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_L3_DEVICE_TEAM_CUH_
