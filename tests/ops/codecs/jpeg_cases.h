// Cases of our JPEG decoder in a folder: files and indices, and what decoding
// gives. A program with libjpeg-turbo writes them, and one without it checks
// them on another machine.
#ifndef LIQUID_TESTS_OPS_CODECS_JPEG_CASES_H_
#define LIQUID_TESTS_OPS_CODECS_JPEG_CASES_H_

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <ios>
#include <istream>
#include <iterator>
#include <ostream>
#include <string>

#include "ops/codecs/jpeg/baseline/baseline_decode.h"
#include "ops/codecs/jpeg/baseline/baseline_targets.h"
#include "ops/core/crc32c.h"
#include "tests/ops/codecs/codec_testing.h"

namespace liquid {

struct JpegCase {
  std::string file, index;  // names in the folder; "-": no index
  uint32_t denominator = 1;
  Window window;
  int result = 0;    // a BaselineResult
  uint32_t crc = 0;  // of the pixels; 0 where there are none
};

inline std::ostream& operator<<(std::ostream& out, const JpegCase& one) {
  return out << one.file << ' ' << one.index << ' ' << one.denominator << ' '
             << one.window.y << ' ' << one.window.x << ' ' << one.window.height
             << ' ' << one.window.width << ' ' << one.result << ' ' << one.crc
             << '\n';
}

inline std::istream& operator>>(std::istream& in, JpegCase& one) {
  return in >> one.file >> one.index >> one.denominator >> one.window.y >>
         one.window.x >> one.window.height >> one.window.width >> one.result >>
         one.crc;
}

inline std::string ReadFrom(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void WriteTo(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Decodes with the current vector set; an empty index is none. `*crc` is as a
// case's.
inline BaselineResult RunCase(const std::string& file, const std::string& index,
                              uint32_t denominator, const Window& window,
                              uint32_t* crc) {
  // Bytes that end where an allocation does.
  const Bytes bytes(file.begin(), file.end());
  const Bytes entries(index.begin(), index.end());
  const ByteSpan jpeg(bytes.data(), bytes.size());
  *crc = 0;
  BaselineHeader header;
  if (!ReadBaselineHeader(jpeg, &header)) return BaselineResult::kLibrarys;
  BaselineIndex read;
  if (!entries.empty() &&
      !read.Read(ByteSpan(entries.data(), entries.size()), bytes.size(), header)
           .ok()) {
    return BaselineResult::kDisagrees;
  }
  // A damaged header may say any size.
  const ImageInfo info = BaselineInfo(header, denominator);
  if (window.y + window.height > info.height ||
      window.x + window.width > info.width) {
    return BaselineResult::kLibrarys;
  }
  const size_t row_bytes = size_t{window.width} * header.components;
  Bytes pixels(window.height * row_bytes);
  const BaselineResult result =
      DecodeBaseline(jpeg, header, entries.empty() ? nullptr : &read,
                     denominator, window, pixels.data(), row_bytes);
  if (result == BaselineResult::kDecoded) {
    *crc = Crc32c(ByteSpan(pixels.data(), pixels.size()));
  }
  return result;
}

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_CODECS_JPEG_CASES_H_
