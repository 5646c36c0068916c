// An NVRTC under the name of a real one, which makes nothing of any source but
// "sound" and that of the kernels, and says why. What it makes, the fake driver
// takes.
#include <cstring>
#include <string>

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace {

const char kLog[] = "l3_device.cu(7): error: expected a \";\"";

struct Program {
  bool is_sound = false;
  std::string image;
};

}  // namespace

FAKE_API int nvrtcCreateProgram(Program** program, const char* source,
                                const char* /*name*/, int /*headers*/,
                                const char* const* /*sources*/,
                                const char* const* /*names*/) {
  *program = new Program{
      std::strcmp(source, "sound") == 0 ||
          std::strstr(source, "LIQUID_L3_KERNELS(v2, kV2, u8") != nullptr,
      "made "};
  return 0;
}
FAKE_API int nvrtcCompileProgram(Program* program, int count,
                                 const char* const* options) {
  for (int i = 0; i < count; ++i) program->image += options[i];
  return program->is_sound ? 0 : 6;
}
FAKE_API int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}
FAKE_API int nvrtcGetProgramLogSize(Program* /*program*/, size_t* size) {
  *size = sizeof(kLog);
  return 0;
}
FAKE_API int nvrtcGetProgramLog(Program* /*program*/, char* log) {
  std::memcpy(log, kLog, sizeof(kLog));
  return 0;
}
FAKE_API int nvrtcGetCUBINSize(Program* program, size_t* size) {
  *size = program->image.size();
  return 0;
}
FAKE_API int nvrtcGetCUBIN(Program* program, char* image) {
  std::memcpy(image, program->image.data(), program->image.size());
  return 0;
}
FAKE_API const char* nvrtcGetErrorString(int /*result*/) {
  return "NVRTC_ERROR_COMPILATION";
}
