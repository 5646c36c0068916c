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
//                                            warps
//           PutAside(number)          keeps in memory what all threads have;
//           TakeBack()                gives it back, a barrier later
//   Warp    LanesOf<T>, Lanes         a T, a uint32_t for every lane
//           Zeros()                   Lanes, all 0
//           Each(f(lane))             what it writes to memory is seen after it
//           Compute(f(lane))          the same for what writes Lanes only
//           FromBelow(lanes, n)       what the lane n places before has;
//                                     unspecified for the first n
//           AddBelow<run>(lanes, n)  adds what FromBelow gives, where that is
//                                 of the same run of so many lanes
//           FromLane(lanes, which)    what lane which[lane] % kL3Warp has
//           FromOne(lanes, lane)      what that lane has, to all of them
//           Ballot(f(lane))           bit l: what f says of lane l; to all
//           Xor(lanes)                of all lanes, to all of them
//
// Whether a warp calls one of these must be the same for all of its threads,
// also where some are ahead of others: it must not depend on memory that a
// thread of the warp writes before the next barrier. The host cannot tell such
// a mistake; an interpreter of the compiled kernels can (tests/gpu/ptx.py).
#ifndef LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_TEAM_CUH_
#define LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_TEAM_CUH_

#include "ops/codecs/l3/device/l3_device.h"

#if defined(__CUDACC__)
#define LIQUID_DEVICE __device__
#define LIQUID_DEVICE_TABLE __device__ const
// Before a loop that runs seldom: instructions have caches, too.
#define LIQUID_SELDOM _Pragma("unroll 1")
// Before a loop over an array that is to be in registers.
#define LIQUID_UNROLL _Pragma("unroll")
#else
#include <cstdlib>
#include <cstring>
#define LIQUID_DEVICE
#define LIQUID_DEVICE_TABLE constexpr
#define LIQUID_SELDOM
#define LIQUID_UNROLL
#endif

namespace liquid {

struct alignas(16) L3Piece {
  uint32_t words[4];
};

// A T in one access. A device faults where an address is no multiple of T's
// size, and so does the host.
template <typename T>
LIQUID_DEVICE inline T L3Read(const void* from) {
#if defined(__CUDACC__)
  return *static_cast<const T*>(from);
#else
  if (reinterpret_cast<size_t>(from) % sizeof(T) != 0) std::abort();
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
#endif
}

template <typename T>
LIQUID_DEVICE inline void L3Write(const T& value, void* to) {
#if defined(__CUDACC__)
  *static_cast<T*>(to) = value;
#else
  if (reinterpret_cast<size_t>(to) % sizeof(T) != 0) std::abort();
  std::memcpy(to, &value, sizeof(value));
#endif
}

// Leaves at `to` the lesser of both, or the sum, whichever threads do so. The
// host has one.

LIQUID_DEVICE inline void L3AtomicMin(uint64_t value, uint64_t* to) {
#if defined(__CUDACC__)
  atomicMin(reinterpret_cast<unsigned long long*>(to),
            static_cast<unsigned long long>(value));
#else
  *to = value < *to ? value : *to;
#endif
}

LIQUID_DEVICE inline void L3AtomicAdd(uint64_t value, uint64_t* to) {
#if defined(__CUDACC__)
  atomicAdd(reinterpret_cast<unsigned long long*>(to),
            static_cast<unsigned long long>(value));
#else
  *to += value;
#endif
}

LIQUID_DEVICE inline void L3AtomicAdd(uint32_t value, uint32_t* to) {
#if defined(__CUDACC__)
  atomicAdd(to, value);
#else
  *to += value;
#endif
}

// The value, of which the compiler knows nothing: it stays in a register, and
// is not computed anew wherever it is used.
template <typename T>
LIQUID_DEVICE inline T L3Opaque(T value) {
#if defined(__CUDACC__)
  if constexpr (sizeof(T) == 8) {
    asm("" : "+l"(value));
  } else {
    asm("" : "+r"(value));
  }
#endif
  return value;
}

// An address in the device's memory, or in a block's shared memory, that stays
// in a register; and accesses that know which of the two it is.
class L3Global {
 public:
  L3Global() = default;
#if defined(__CUDACC__)
  __device__ explicit L3Global(const void* at)
      : at_(L3Opaque(__cvta_generic_to_global(at))) {}
  __device__ uint32_t Word(uint32_t number) const {
    uint32_t word;
    asm("ld.global.nc.u32 %0, [%1];"
        : "=r"(word)
        : "l"(at_ + size_t{number} * 4));
    return word;
  }
  __device__ void Write(const L3Piece& piece) const {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at_),
                 "r"(piece.words[0]), "r"(piece.words[1]), "r"(piece.words[2]),
                 "r"(piece.words[3])
                 : "memory");
  }
#else
  explicit L3Global(const void* at) : at_(reinterpret_cast<size_t>(at)) {}
  uint32_t Word(uint32_t number) const {
    return L3Read<uint32_t>(reinterpret_cast<const uint32_t*>(at_) + number);
  }
  void Write(const L3Piece& piece) const {
    L3Write(piece, reinterpret_cast<void*>(at_));
  }
#endif
  LIQUID_DEVICE void Add(size_t bytes) { at_ += bytes; }

 private:
  size_t at_;
};

class L3Shared {
 public:
  L3Shared() = default;
#if defined(__CUDACC__)
  __device__ explicit L3Shared(const void* at)
      : at_(L3Opaque(static_cast<uint32_t>(__cvta_generic_to_shared(at)))) {}
  // Of an address that the compiler knows: it takes no register.
  static __device__ L3Shared Known(const void* at) {
    L3Shared known;
    known.at_ = static_cast<uint32_t>(__cvta_generic_to_shared(at));
    return known;
  }
  __device__ uint32_t Byte(uint32_t offset) const {
    uint32_t byte;
    asm volatile("ld.shared.u8 %0, [%1];"
                 : "=r"(byte)
                 : "r"(at_ + offset)
                 : "memory");
    return byte;
  }
  __device__ uint32_t Word(uint32_t offset) const {
    uint32_t word;
    asm volatile("ld.shared.u32 %0, [%1];"
                 : "=r"(word)
                 : "r"(at_ + offset)
                 : "memory");
    return word;
  }
  // Two words, the lower one first.
  __device__ uint64_t Long(uint32_t offset) const {
    uint64_t both;
    asm volatile("ld.shared.u64 %0, [%1];"
                 : "=l"(both)
                 : "r"(at_ + offset)
                 : "memory");
    return both;
  }
  __device__ L3Piece Piece(uint32_t offset) const {
    L3Piece piece;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(piece.words[0]), "=r"(piece.words[1]),
                   "=r"(piece.words[2]), "=r"(piece.words[3])
                 : "r"(at_ + offset)
                 : "memory");
    return piece;
  }
  __device__ void Write(uint32_t low, uint32_t high, uint32_t offset) const {
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(at_ + offset),
                 "r"(low), "r"(high)
                 : "memory");
  }
  __device__ void WriteWord(uint32_t word, uint32_t offset) const {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(at_ + offset), "r"(word)
                 : "memory");
  }
  __device__ void WriteByte(uint32_t byte, uint32_t offset) const {
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(at_ + offset), "r"(byte)
                 : "memory");
  }

 private:
  uint32_t at_;
#else
  explicit L3Shared(void* at) : at_(static_cast<uint8_t*>(at)) {}
  static L3Shared Known(void* at) { return L3Shared(at); }
  uint32_t Byte(uint32_t offset) const { return at_[offset]; }
  uint32_t Word(uint32_t offset) const {
    return L3Read<uint32_t>(at_ + offset);
  }
  uint64_t Long(uint32_t offset) const {
    return L3Read<uint64_t>(at_ + offset);
  }
  L3Piece Piece(uint32_t offset) const { return L3Read<L3Piece>(at_ + offset); }
  void Write(uint32_t low, uint32_t high, uint32_t offset) const {
    L3Write(uint64_t{high} << 32 | low, at_ + offset);
  }
  void WriteWord(uint32_t word, uint32_t offset) const {
    L3Write(word, at_ + offset);
  }
  void WriteByte(uint32_t byte, uint32_t offset) const {
    at_[offset] = static_cast<uint8_t>(byte);
  }

 private:
  uint8_t* at_;
#endif
};

// Instructions of a device, and what they do.

LIQUID_DEVICE inline uint32_t L3CountBits(uint32_t value) {
#if defined(__CUDACC__)
  return static_cast<uint32_t>(__popc(value));
#else
  return static_cast<uint32_t>(__builtin_popcount(value));
#endif
}

// The number of the highest bit that is set; one is.
LIQUID_DEVICE inline uint32_t L3HighestBit(uint32_t value) {
#if defined(__CUDACC__)
  return 31 - static_cast<uint32_t>(__clz(static_cast<int>(value)));
#else
  return 31 - static_cast<uint32_t>(__builtin_clz(value));
#endif
}

// The same; all ones if none is.
LIQUID_DEVICE inline uint32_t L3HighestBitOrNone(uint32_t value) {
#if defined(__CUDACC__)
  uint32_t bit;
  asm("bfind.u32 %0, %1;" : "=r"(bit) : "r"(value));
  return bit;
#else
  return value == 0 ? ~0u : L3HighestBit(value);
#endif
}

// The word with bit `at` % 32 alone.
LIQUID_DEVICE inline uint32_t L3OneBit(uint32_t at) {
#if defined(__CUDACC__)
  return __funnelshift_l(0, 1, at);
#else
  return 1u << at % 32;
#endif
}

// The word with that bit alone, which is 0 from bit 32 on.
LIQUID_DEVICE inline uint32_t L3OneBitOrNone(uint32_t at) {
#if defined(__CUDACC__)
  return __funnelshift_lc(0, 1, at);
#else
  return at < 32 ? 1u << at : 0;
#endif
}

// The bits in the other order.
LIQUID_DEVICE inline uint32_t L3Reverse(uint32_t value) {
#if defined(__CUDACC__)
  return __brev(value);
#else
  uint32_t reversed = 0;
  for (uint32_t i = 0; i < 32; ++i) reversed |= (value >> i & 1) << (31 - i);
  return reversed;
#endif
}

// 32 bits of two words from bit `at` % 32 of the first on.
LIQUID_DEVICE inline uint32_t L3Funnel(uint32_t low, uint32_t high,
                                       uint32_t at) {
#if defined(__CUDACC__)
  return __funnelshift_r(low, high, at);
#else
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> at % 32);
#endif
}

// The same from bit `at` on, up to 32, which is the second word.
LIQUID_DEVICE inline uint32_t L3FunnelTo(uint32_t low, uint32_t high,
                                         uint32_t at) {
#if defined(__CUDACC__)
  return __funnelshift_rc(low, high, at);
#else
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) >>
                               (at < 32 ? at : 32));
#endif
}

// The bytes of two words, 0 to 3 and 4 to 7, that the low four digits of
// `which` name, each 0 to 7.
LIQUID_DEVICE inline uint32_t L3Permute(uint32_t a, uint32_t b,
                                        uint32_t which) {
#if defined(__CUDACC__)
  return __byte_perm(a, b, which);
#else
  const uint64_t both = uint64_t{b} << 32 | a;
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t byte = which >> 4 * i & 7;
    bytes |= static_cast<uint32_t>(both >> 8 * byte & 255) << 8 * i;
  }
  return bytes;
#endif
}

// `start` and the first `count` samples of a word, added up.
template <typename Sample>
LIQUID_DEVICE uint32_t L3AddSamples(uint32_t word, uint32_t count,
                                    uint32_t start) {
#if defined(__CUDACC__)
  const uint32_t ones = 0x01010101 >> (32 - 8 * count);
  if (sizeof(Sample) == 1) return __dp4a(word, ones, start);
  return __dp2a_lo(word, ones, start);
#else
  for (uint32_t i = 0; i < count; ++i) {
    start += static_cast<Sample>(word >> 8 * sizeof(Sample) * i);
  }
  return start;
#endif
}

// `start` and the bytes of a word, each as often as that of `times` says.
LIQUID_DEVICE inline uint32_t L3AddBytes(uint32_t word, uint32_t times,
                                         uint32_t start) {
#if defined(__CUDACC__)
  return __dp4a(word, times, start);
#else
  for (uint32_t i = 0; i < 32; i += 8) {
    start += (word >> i & 255) * (times >> i & 255);
  }
  return start;
#endif
}

// In every run of `kRun` lanes, the sums of all up to and with each.
template <uint32_t kRun, typename Warp>
LIQUID_DEVICE void L3Sums(Warp& warp, typename Warp::Lanes& lanes) {
  LIQUID_UNROLL
  for (uint32_t step = 1; step < kRun; step *= 2) {
    warp.template AddBelow<kRun>(lanes, step);
  }
}

#if defined(__CUDACC__)

class L3DeviceWarp {
 public:
  // A thread holds its own only.
  template <typename T>
  struct LanesOf {
    T value;
    __device__ T& operator[](uint32_t) { return value; }
  };
  using Lanes = LanesOf<uint32_t>;
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
  template <uint32_t kRun>
  __device__ void AddBelow(Lanes& lanes, uint32_t places) {
    // The exchange says by itself who has got something.
    asm volatile(
        "{ .reg .pred below; .reg .b32 value;\n\t"
        "shfl.sync.up.b32 value|below, %0, %1, %2, -1;\n\t"
        "@below add.u32 %0, %0, value; }"
        : "+r"(lanes.value)
        : "r"(places), "n"((kL3Warp - kRun) << 8));
  }
  __device__ Lanes FromLane(const Lanes& lanes, const Lanes& which) {
    return {__shfl_sync(kAll, lanes.value, static_cast<int>(which.value))};
  }
  __device__ uint32_t FromOne(const Lanes& lanes, uint32_t lane) {
    return __shfl_sync(kAll, lanes.value, static_cast<int>(lane));
  }
  template <typename F>
  __device__ uint32_t Ballot(F f) {
    return __ballot_sync(kAll, f(threadIdx.x % kL3Warp));
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
  __device__ void PutAside(uint32_t number) {
    if (threadIdx.x == 0) *Aside() = number;
  }
  __device__ uint32_t TakeBack() {
    const uint32_t number = *Aside();
    __syncthreads();
    return number;
  }

 private:
  // The compiler must not know what lies there.
  static __device__ volatile uint32_t* Aside() {
    __shared__ volatile uint32_t number[1];
    return number;
  }
};

#endif  // defined(__CUDACC__)

}  // namespace liquid

#endif  // LIQUID_OPS_CODECS_L3_DEVICE_L3_DEVICE_TEAM_CUH_
