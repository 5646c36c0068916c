#include "ops/image/resize_size.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace liquid::resize_size_test {
namespace {

using Kind = ResizeStep::Kind;

ResizeStep Step(Kind kind, uint32_t height, uint32_t width = 0) {
  ResizeStep step;
  step.kind = kind;
  step.height = height;
  step.width = width;
  return step;
}

TEST(ResizedSizeTest, SidesKeepTheirShapeRoundedDown) {
  struct Case {
    ResizeStep step;
    uint32_t height, width, resized_height, resized_width;
  };
  const Case cases[] = {
      {Step(Kind::kNone, 0), 375, 500, 375, 500},
      {Step(Kind::kExact, 20, 30), 375, 500, 20, 30},
      {Step(Kind::kShorter, 256), 375, 500, 256, 341},
      {Step(Kind::kShorter, 256), 500, 375, 341, 256},
      {Step(Kind::kShorter, 256), 500, 500, 256, 256},
      {Step(Kind::kShorter, 256), 100, 256, 256, 655},
      {Step(Kind::kShorter, 256), 256, 999, 256, 999},
      {Step(Kind::kLonger, 256), 375, 500, 192, 256},
      {Step(Kind::kLonger, 256), 500, 375, 256, 192},
      {Step(Kind::kLonger, 256), 256, 256, 256, 256},
      // No side vanishes.
      {Step(Kind::kLonger, 256), 1, 60000, 1, 256},
      {Step(Kind::kShorter, 1), 1, 60000, 1, 60000},
  };
  for (const Case& c : cases) {
    uint32_t height = 0, width = 0;
    ASSERT_TRUE(ResizedSize(c.step, c.height, c.width, &height, &width).ok());
    EXPECT_EQ(height, c.resized_height) << c.height << " x " << c.width;
    EXPECT_EQ(width, c.resized_width) << c.height << " x " << c.width;
  }
}

TEST(ResizedSizeTest, ASideThatIsTooLongIsRefused) {
  uint32_t height, width;
  const Status status =
      ResizedSize(Step(Kind::kShorter, 1u << 31), 1, 1u << 31, &height, &width);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("shorter=2147483648"), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace liquid::resize_size_test
