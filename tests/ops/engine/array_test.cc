#include "ops/engine/array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/core/buffer_pool.h"

namespace liquid::array_test {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

Array Make(DType dtype, std::vector<int64_t> shape) {
  PoolBatchAllocator allocator;
  Array array;
  const Status status = allocator.Allocate(dtype, std::move(shape), &array);
  EXPECT_TRUE(status.ok()) << status.message();
  return array;
}

uint64_t UsedBytes() { return BufferPool::Process().counters().used_bytes; }

TEST(ArrayTest, TypesHaveTheirNamesAndSizes) {
  const struct {
    DType dtype;
    const char* name;
    size_t size;
  } types[] = {
      {DType::kBool, "bool", 1},         {DType::kUint8, "uint8", 1},
      {DType::kUint16, "uint16", 2},     {DType::kInt32, "int32", 4},
      {DType::kInt64, "int64", 8},       {DType::kFloat16, "float16", 2},
      {DType::kBfloat16, "bfloat16", 2}, {DType::kFloat32, "float32", 4},
      {DType::kFloat64, "float64", 8},   {DType::kString, "string", 0},
      {DType::kRecords, "records", 0}};
  for (const auto& type : types) {
    EXPECT_STREQ(NameOf(type.dtype), type.name);
    EXPECT_EQ(SizeOf(type.dtype), type.size) << type.name;
  }
}

TEST(ArrayTest, SizesFollowFromTheShape) {
  const Array array = Make(DType::kUint16, {2, 3, 4});
  EXPECT_EQ(array.dtype(), DType::kUint16);
  EXPECT_EQ(array.shape(), (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(array.rows(), 2);
  EXPECT_EQ(array.elements(), 24u);
  EXPECT_EQ(array.bytes(), 48u);
  EXPECT_EQ(array.row_bytes(), 24u);
  const Array one = Make(DType::kFloat64, {});
  EXPECT_EQ(one.elements(), 1u);
  EXPECT_EQ(one.bytes(), 8u);
  const std::vector<std::vector<int64_t>> empty = {
      {0, 7}, {7, 0}, {0, kMost, kMost}};
  for (const std::vector<int64_t>& shape : empty) {
    const Array none = Make(DType::kInt32, shape);
    EXPECT_EQ(none.bytes(), 0u) << ShapeText(shape);
    EXPECT_EQ(none.row_bytes(), 0u) << ShapeText(shape);
    // Copying nothing needs an address still.
    EXPECT_NE(none.data(), nullptr) << ShapeText(shape);
  }
}

TEST(ArrayTest, MemoryIsAlignedAndEachHasItsOwn) {
  std::vector<Array> arrays;
  for (int64_t rows = 0; rows < 70; ++rows) {
    arrays.push_back(Make(DType::kUint8, {rows, 61}));
    const Array& array = arrays.back();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data()) % 64, 0u) << rows;
    std::memset(array.data(), static_cast<int>(rows), array.bytes());
  }
  for (size_t rows = 0; rows < arrays.size(); ++rows) {
    const std::vector<uint8_t> values(
        arrays[rows].data(), arrays[rows].data() + arrays[rows].bytes());
    EXPECT_THAT(values, Each(rows));
  }
}

TEST(ArrayTest, CopiesShareTheMemoryUntilTheLastIsGone) {
  const uint64_t before = UsedBytes();
  Array copy;
  {
    const Array array = Make(DType::kInt64, {1 << 16});
    array.as<int64_t>()[(1 << 16) - 1] = -5;
    copy = array;
    EXPECT_EQ(copy.data(), array.data());
    EXPECT_EQ(copy.owner(), array.owner());
  }
  EXPECT_GE(UsedBytes() - before, copy.bytes());
  EXPECT_EQ(copy.as<int64_t>()[(1 << 16) - 1], -5);
  // What knows no Array may keep it.
  std::shared_ptr<void> owner = copy.owner();
  copy = Array();
  EXPECT_GE(UsedBytes() - before, uint64_t{8} << 16);
  owner.reset();
  EXPECT_EQ(UsedBytes(), before);
}

TEST(ArrayTest, WhatNoMemoryHasIsRefused) {
  PoolBatchAllocator allocator;
  Array array = Make(DType::kUint8, {3});
  const uint8_t* const data = array.data();
  const std::vector<std::vector<int64_t>> shapes = {
      {-1},
      {2, -1},
      {0, -1},
      {kMost},
      {kMost, kMost},
      {int64_t{1} << 32, int64_t{1} << 32},  // their product is 0
      {(int64_t{1} << 46) + 1},
      {int64_t{1} << 23, (int64_t{1} << 23) + 1},
      {std::numeric_limits<int64_t>::min()}};
  for (const std::vector<int64_t>& shape : shapes) {
    const Status status = allocator.Allocate(DType::kUint8, shape, &array);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << ShapeText(shape);
    EXPECT_EQ(status.message(), "an array cannot be uint8" + ShapeText(shape));
  }
  // A value's bytes count too.
  EXPECT_THAT(
      allocator.Allocate(DType::kFloat64, {(int64_t{1} << 43) + 1}, &array)
          .message(),
      HasSubstr("an array cannot be float64[8796093022209]"));
  EXPECT_EQ(array.data(), data);
  EXPECT_EQ(array.shape(), std::vector<int64_t>{3});
}

TEST(ArrayTest, TextsAreNoNumbers) {
  PoolBatchAllocator allocator;
  Array array;
  const Status status = allocator.Allocate(DType::kString, {2}, &array);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "an array cannot be string[2]");
}

TEST(ArrayTest, MemoryThatIsNotThereIsUnavailable) {
  int overcommit = 1;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> overcommit;
  if (overcommit == 1) GTEST_SKIP() << "this machine promises any memory";
  PoolBatchAllocator allocator;
  Array array;
  const Status status =
      allocator.Allocate(DType::kUint8, {int64_t{1} << 46}, &array);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "no memory for uint8[70368744177664]");
  EXPECT_EQ(array.data(), nullptr);
}

TEST(ArrayTest, BlobsAreCopies) {
  PoolBatchAllocator allocator;
  std::string text("some\0bytes", 10);
  const std::string given = text;
  std::unique_ptr<Blob> blob, none;
  ASSERT_TRUE(allocator.Keep(ByteSpan(text.data(), text.size()), &blob).ok());
  ASSERT_TRUE(allocator.Keep(ByteSpan(), &none).ok());
  text.assign(text.size(), 'x');
  const ByteSpan kept = blob->bytes();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(kept.data), kept.size),
            given);
  EXPECT_EQ(none->bytes().size, 0u);
}

TEST(ArrayTest, LengthsThatAreNotKnownAreWrittenAsSuch) {
  EXPECT_EQ(ShapeText({}), "[]");
  EXPECT_EQ(ShapeText({5}), "[5]");
  EXPECT_EQ(ShapeText({-1, 224, 3}), "[?,224,3]");
}

}  // namespace
}  // namespace liquid::array_test
