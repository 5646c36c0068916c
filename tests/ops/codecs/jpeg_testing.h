// JPEG files of every sampling and coding that libjpeg-turbo writes.
#ifndef LIQUID_TESTS_OPS_CODECS_JPEG_TESTING_H_
#define LIQUID_TESTS_OPS_CODECS_JPEG_TESTING_H_

// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <cstdlib>
#include <ostream>
#include <string>

#include "ops/codecs/codec_util.h"
#include "ops/codecs/jpeg/baseline/baseline_decode.h"
#include "ops/codecs/jpeg/baseline/baseline_targets.h"
#include "ops/codecs/jpeg/jpeg_codec.h"
#include "ops/codecs/jpeg/jpeg_index.h"
#include "ops/core/crc32c.h"
#include "tests/ops/codecs/codec_testing.h"

namespace liquid {

// A kind of file that libjpeg-turbo writes.
struct JpegKind {
  const char* name;
  int channels;
  int h_samp, v_samp;  // of luma; chroma has 1 x 1
  bool progressive = false;
  bool arithmetic = false;
  int restart_interval = 0;
  int quality = 85;
  bool optimize = false;  // Huffman tables of its own
  bool apart = false;     // a sequential scan for each component
};

inline void PrintTo(const JpegKind& kind, std::ostream* out) {
  *out << kind.name;
}

// A file that libjpeg-turbo writes.
class JpegCompressor {
 public:
  // With the library's defaults of an image of this color space.
  JpegCompressor(const ImageInfo& info, J_COLOR_SPACE space) : info_(info) {
    library_.err = jpeg_std_error(&errors_);
    jpeg_create_compress(&library_);
    jpeg_mem_dest(&library_, &buffer_, &size_);
    library_.image_width = info.width;
    library_.image_height = info.height;
    library_.input_components = info.channels;
    library_.in_color_space = space;
    jpeg_set_defaults(&library_);
  }
  ~JpegCompressor() {
    jpeg_destroy_compress(&library_);
    std::free(buffer_);
  }
  JpegCompressor(const JpegCompressor&) = delete;
  JpegCompressor& operator=(const JpegCompressor&) = delete;

  jpeg_compress_struct* get() { return &library_; }
  jpeg_compress_struct* operator->() { return &library_; }

  void WritePixels(const Bytes& pixels) {
    jpeg_start_compress(&library_, TRUE);
    while (library_.next_scanline < library_.image_height) {
      JSAMPROW row = const_cast<JSAMPROW>(
          pixels.data() + library_.next_scanline * info_.RowBytes());
      jpeg_write_scanlines(&library_, &row, 1);
    }
  }
  // The file, of which all was written.
  std::string Finish() {
    jpeg_finish_compress(&library_);
    return std::string(reinterpret_cast<char*>(buffer_), size_);
  }

 private:
  const ImageInfo info_;
  jpeg_compress_struct library_;
  jpeg_error_mgr errors_;
  unsigned char* buffer_ = nullptr;
  unsigned long size_ = 0;  // NOLINT: the library's type
};

inline std::string WriteJpeg(const JpegKind& kind, const ImageInfo& info,
                             const Bytes& pixels,
                             J_COLOR_SPACE space = JCS_UNKNOWN) {
  if (space == JCS_UNKNOWN) {
    space = info.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  }
  JpegCompressor library(info, space);
  jpeg_set_quality(library.get(), kind.quality, TRUE);
  library->comp_info[0].h_samp_factor = kind.h_samp;
  library->comp_info[0].v_samp_factor = kind.v_samp;
  library->restart_interval = static_cast<unsigned>(kind.restart_interval);
  library->arith_code = kind.arithmetic ? TRUE : FALSE;
  library->optimize_coding = kind.optimize ? TRUE : FALSE;
  if (kind.progressive) jpeg_simple_progression(library.get());
  jpeg_scan_info scans[3] = {};
  if (kind.apart) {
    for (int i = 0; i < info.channels; ++i) {
      scans[i] = {1, {i}, 0, DCTSIZE2 - 1, 0, 0};
    }
    library->scan_info = scans;
    library->num_scans = info.channels;
  }
  library.WritePixels(pixels);
  return library.Finish();
}

// Writes coefficients of any size that the format holds.
inline std::string WriteCoefficients(Noise* noise, const ImageInfo& info) {
  JpegCompressor library(info, JCS_RGB);
  jpeg_set_quality(library.get(), 1 + static_cast<int>(noise->Below(60)), TRUE);
  library->optimize_coding = TRUE;
  const auto common = reinterpret_cast<j_common_ptr>(library.get());
  jvirt_barray_ptr arrays[3];
  for (int c = 0; c < 3; ++c) {
    const int factor = c == 0 ? 2 : 1;
    library->comp_info[c].h_samp_factor = factor;
    library->comp_info[c].v_samp_factor = factor;
    arrays[c] = library->mem->request_virt_barray(
        common, JPOOL_IMAGE, TRUE, factor * ((info.width + 15) / 16),
        factor * ((info.height + 15) / 16), factor);
  }
  jpeg_write_coefficients(library.get(), arrays);
  for (int c = 0; c < 3; ++c) {
    const uint32_t factor = c == 0 ? 2 : 1;
    for (uint32_t y = 0; y < factor * ((info.height + 15) / 16); ++y) {
      JBLOCKARRAY row =
          library->mem->access_virt_barray(common, arrays[c], y, 1, TRUE);
      for (uint32_t x = 0; x < factor * ((info.width + 15) / 16); ++x) {
        for (int k = 0; k < DCTSIZE2; ++k) {
          const uint32_t bound = 1u << noise->Below(10);
          row[0][x][k] = static_cast<JCOEF>(
              noise->Below(4) == 0 ? noise->Below(2 * bound) - bound : 0);
        }
      }
    }
  }
  return library.Finish();
}

inline const JpegKind kJpegKinds[] = {
    {"Gray", 1, 1, 1},
    {"S444", 3, 1, 1},
    {"S422", 3, 2, 1},
    {"S420", 3, 2, 2},
    {"S440", 3, 1, 2},
    {"S411", 3, 4, 1},
    {"S441", 3, 1, 4},
    {"S410", 3, 4, 2},
    {"GrayProgressive", 1, 1, 1, true},
    {"S420Progressive", 3, 2, 2, true},
    {"S422Progressive", 3, 2, 1, true},
    {"S420Arithmetic", 3, 2, 2, false, true},
    {"S420ProgressiveArithmetic", 3, 2, 2, true, true},
    {"S420Restarts", 3, 2, 2, false, false, 3},
    {"S444Restarts", 3, 1, 1, false, false, 5},
};

// The kinds that the decoder of our own takes.
inline const JpegKind kBaselineKinds[] = {
    {"Gray", 1, 1, 1},
    {"GrayOfFour", 1, 2, 2},
    {"S444", 3, 1, 1},
    {"S422", 3, 2, 1},
    {"S420", 3, 2, 2},
    {"S440", 3, 1, 2},
    {"S411", 3, 4, 1},
    {"GrayRestarts", 1, 1, 1, false, false, 1},
    {"S420Restarts", 3, 2, 2, false, false, 3},
    {"S444Restarts", 3, 1, 1, false, false, 5},
};

// Decodes bytes that end where an allocation does by the decoder of our own,
// with every vector set. Returns how one differs from the scalar one, or
// nothing; `*decodes` is false for a file that is the library's.
inline std::string DecodeOwn(const std::string& file, uint32_t denominator,
                             const Window& window, bool* decodes,
                             Bytes* pixels) {
  const Bytes copy(file.begin(), file.end());
  const ByteSpan bytes(copy.data(), copy.size());
  BaselineHeader header;
  *decodes = false;
  if (!ReadBaselineHeader(bytes, &header)) return "";
  const size_t row_bytes = size_t{window.width} * header.components;
  for (const VectorTarget target : RunnableTargets()) {
    const ScopedBaselineTarget scoped(target);
    Bytes found(window.height * row_bytes, 0xA5);
    const bool now =
        DecodeBaseline(bytes, header, nullptr, denominator, window,
                       found.data(), row_bytes) == BaselineResult::kDecoded;
    if (target == VectorTarget::kScalar) {
      *decodes = now;
      *pixels = found;
    } else if (now != *decodes) {
      return std::string(VectorTargetName(target)) +
             " differs in what it takes";
    } else if (now && found != *pixels) {
      return std::string(VectorTargetName(target)) + " gives other pixels";
    }
  }
  return "";
}

inline std::string IndexOf(const std::string& file, uint32_t spacing) {
  std::string index;
  const Status status =
      AppendJpegIndex(SpanIn(file), DecodeLimits(), spacing, &index);
  return status.ok() ? index : status.message();
}

// Decodes bytes that end where an allocation does, and so the index's.
inline Status DecodeByIndex(const std::string& file, const std::string& index,
                            const ImageInfo& info, const Window& window,
                            Bytes* pixels) {
  const Bytes bytes(file.begin(), file.end());
  const Bytes entries(index.begin(), index.end());
  const size_t row_bytes = window.width * info.BytesPerPixel();
  pixels->assign(window.height * row_bytes, 0xA5);
  return DecodeJpegDraft(ByteSpan(bytes.data(), bytes.size()),
                         ByteSpan(entries.data(), entries.size()),
                         DecodeLimits(), info, 1, window, pixels->data(),
                         row_bytes);
}

// Makes the checksum of an index right.
inline void SignIndex(std::string* index) {
  if (index->size() < 20) return;
  uint8_t* p = reinterpret_cast<uint8_t*>(&(*index)[0]);
  const uint32_t start = Crc32c(ByteSpan(p, 16));
  StoreLittle32(ExtendCrc32c(start, ByteSpan(p + 20, index->size() - 20)),
                p + 16);
}

inline Status DecodeByLibrary(const std::string& file, const ImageInfo& info,
                              uint32_t denominator, const Window& window,
                              Bytes* pixels) {
  const size_t row_bytes = window.width * info.BytesPerPixel();
  pixels->assign(window.height * row_bytes, 0x5A);
  return DecodeJpegByLibrary(SpanIn(file), DecodeLimits(), info, denominator,
                             window, pixels->data(), row_bytes);
}

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_CODECS_JPEG_TESTING_H_
