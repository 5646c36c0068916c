// The kernels that a program finds by name:
//
//   liquid_l3_SAMPLE_OUT          SAMPLE u8, u16; OUT the same, f32 or bf16
//   liquid_l3_u8_u8_sequential, _unpack, _predict
//                                 the steps of the paper's ablation: version 1
//                                 with nothing, only unpacking or only
//                                 prediction in parallel along a row
//
// Any number of blocks does all tasks; as many as tasks is fastest.
#include "ops/codecs/l3/device/l3_device.cuh"

// At most a warp for each of four channels; and few registers, for many blocks.
#define LIQUID_L3_KERNEL(name, sample, out, variant)                           \
  extern "C" __global__ void __launch_bounds__(128, 8) name(                   \
      const liquid::L3DeviceOutput* output, const liquid::L3DeviceTask* tasks, \
      uint32_t count, const uint8_t* bytes, void* pixels, uint32_t* results) { \
    liquid::L3DoTasks<sample, out, variant>(output, tasks, count, bytes,       \
                                            pixels, results);                  \
  }

using L3Sequential = liquid::L3VariantV1<false, false>;
using L3UnpacksOnly = liquid::L3VariantV1<true, false>;
using L3PredictsOnly = liquid::L3VariantV1<false, true>;

LIQUID_L3_KERNEL(liquid_l3_u8_u8, uint8_t, uint8_t, liquid::L3FastV1)
LIQUID_L3_KERNEL(liquid_l3_u8_f32, uint8_t, float, liquid::L3FastV1)
LIQUID_L3_KERNEL(liquid_l3_u8_bf16, uint8_t, liquid::L3BFloat16,
                 liquid::L3FastV1)
LIQUID_L3_KERNEL(liquid_l3_u16_u16, uint16_t, uint16_t, liquid::L3FastV1)
LIQUID_L3_KERNEL(liquid_l3_u16_f32, uint16_t, float, liquid::L3FastV1)
LIQUID_L3_KERNEL(liquid_l3_u16_bf16, uint16_t, liquid::L3BFloat16,
                 liquid::L3FastV1)
LIQUID_L3_KERNEL(liquid_l3_u8_u8_sequential, uint8_t, uint8_t, L3Sequential)
LIQUID_L3_KERNEL(liquid_l3_u8_u8_unpack, uint8_t, uint8_t, L3UnpacksOnly)
LIQUID_L3_KERNEL(liquid_l3_u8_u8_predict, uint8_t, uint8_t, L3PredictsOnly)
