#include <cstring>

#include "ops/codecs/formats.h"
#include "ops/codecs/jpeg/jpeg_codec.h"
#include "ops/codecs/jpeg/jpeg_destination.h"
#include "ops/codecs/jpeg/jpeg_errors.h"

namespace liquid {
namespace {

static_assert(FindFormat(Format::kJpeg)->side == JPEG_MAX_DIMENSION);

class Writer {
 public:
  Writer() { std::memset(&library_, 0, sizeof(library_)); }
  ~Writer() { jpeg_destroy_compress(&library_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  Status Write(int quality, const ImageInfo& info, const uint8_t* pixels,
               std::string* out);

 private:
  jpeg_compress_struct library_;
  JpegStringDestination destination_ = {};
  JpegErrors errors_;
};

Status Writer::Write(int quality, const ImageInfo& info, const uint8_t* pixels,
                     std::string* out) {
  library_.err = errors_.Init();
  if (setjmp(errors_.jump) != 0) return errors_.ToStatus();
  jpeg_create_compress(&library_);
  destination_.Attach(&library_, out);
  library_.image_width = info.width;
  library_.image_height = info.height;
  library_.input_components = info.channels;
  library_.in_color_space = info.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&library_);
  jpeg_set_quality(&library_, quality, TRUE);
  library_.comp_info[0].h_samp_factor = 1;
  library_.comp_info[0].v_samp_factor = 1;
  library_.optimize_coding = TRUE;
  library_.dct_method = JDCT_ISLOW;
  jpeg_start_compress(&library_, TRUE);
  while (library_.next_scanline < library_.image_height) {
    JSAMPROW row =
        const_cast<JSAMPROW>(pixels + library_.next_scanline * info.RowBytes());
    jpeg_write_scanlines(&library_, &row, 1);
  }
  jpeg_finish_compress(&library_);
  return OkStatus();
}

}  // namespace

Status EncodeJpeg(const EncodeOptions& options, const ImageInfo& info,
                  const uint8_t* pixels, std::string* out) {
  if (options.jpeg_quality < 1 || options.jpeg_quality > 100) {
    return InvalidArgument("jpeg: jpeg_quality (" +
                           std::to_string(options.jpeg_quality) +
                           ") must be 1 to 100");
  }
  const size_t start = out->size();
  Writer writer;
  const Status status = writer.Write(options.jpeg_quality, info, pixels, out);
  if (!status.ok()) out->resize(start);
  return status;
}

}  // namespace liquid
