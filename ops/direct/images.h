// The images of a batch, as C functions pass them on.
#ifndef LIQUID_OPS_DIRECT_IMAGES_H_
#define LIQUID_OPS_DIRECT_IMAGES_H_

#include <sys/types.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "ops/direct/direct_gpu.h"
#include "ops/gpu/loader/device_images.h"

struct LiquidImages {
  explicit LiquidImages(std::shared_ptr<const liquid::DeviceImages> given)
      : images(std::move(given)) {}
  // Whether a parent has the GPU.
  bool Forked() const { return getpid() != process; }

  const std::shared_ptr<const liquid::DeviceImages> images;
  const pid_t process = getpid();
};

#endif  // LIQUID_OPS_DIRECT_IMAGES_H_
