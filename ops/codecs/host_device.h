// Integers, for the host and for a device.
#ifndef LIQUID_OPS_CODECS_HOST_DEVICE_H_
#define LIQUID_OPS_CODECS_HOST_DEVICE_H_

#if defined(__CUDACC_RTC__)
// The run-time compiler has no standard headers.
using size_t = decltype(sizeof(0));
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
#else
#include <cstddef>
#include <cstdint>
#endif

#if defined(__CUDACC__)
#define LIQUID_HOST_DEVICE __host__ __device__
#else
#define LIQUID_HOST_DEVICE
#endif

#endif  // LIQUID_OPS_CODECS_HOST_DEVICE_H_
