// Drives a fuzzer where the compiler has no libFuzzer, as g++: mutates inputs
// at random, and keeps those that reach code that none has reached. fuzzers.sh
// builds it. Flags, as libFuzzer has them:
//
//   -max_total_time=SECONDS -max_len=BYTES -artifact_prefix=PREFIX FOLDER
//
// FOLDER has the inputs to begin with, and gets those that are kept. An input
// that ends the process is written to PREFIXcrash.
#include <sanitizer/common_interface_defs.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// Some fuzzers have one.
extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(
    uint8_t* data, size_t size, size_t max_size, unsigned int seed);

namespace liquid {

extern bool reached_new_code;

}  // namespace liquid

namespace {

std::string input, prefix;
std::vector<std::string> corpus;
std::mt19937 generator(std::random_device{}());

uint32_t Below(size_t end) {
  return static_cast<uint32_t>((uint64_t{generator()} * end) >> 32);
}

void Write(const std::string& path) {
  std::ofstream(path, std::ios::binary)
      .write(input.data(), static_cast<std::streamsize>(input.size()));
}

void KeepCrash() {
  std::fprintf(stderr, "the input is %scrash\n", prefix.c_str());
  Write(prefix + "crash");
}

bool Run() {
  liquid::reached_new_code = false;
  // Of its own size, so that the sanitizer sees a byte too many.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  return liquid::reached_new_code;
}

void Mutate(std::string* bytes) {
  const std::string& other = corpus[Below(corpus.size())];
  for (uint32_t left = 1 + Below(5); left > 0; --left) {
    const uint32_t at = Below(bytes->size() + 1), count = 1 + Below(8);
    const bool empty = bytes->empty();
    char* const byte = empty ? nullptr : &(*bytes)[at % bytes->size()];
    switch (empty ? 0 : Below(6)) {
      case 0:
        bytes->insert(at, count, static_cast<char>(generator()));
        break;
      case 1:
        bytes->erase(at, count);
        break;
      case 2:
        *byte = static_cast<char>(*byte ^ 1 << Below(8));
        break;
      case 3:
        *byte = static_cast<char>(generator());
        break;
      case 4:
        // What is often the edge of something.
        *byte = "\x00\x01\x7f\x80\xfe\xff"[Below(6)];
        break;
      default:
        bytes->replace(at, count, other, Below(other.size()), 1 + Below(64));
    }
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size,
                                   size_t max_size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  Mutate(&bytes);
  bytes.resize(std::min(bytes.size(), max_size));
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  double seconds = 600;
  size_t most = 4096;
  std::string folder;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], value = word.substr(word.find('=') + 1);
    if (word[0] != '-') folder = word;
    if (word.rfind("-max_total_time=", 0) == 0) seconds = std::stod(value);
    if (word.rfind("-max_len=", 0) == 0) most = std::stoul(value);
    if (word.rfind("-artifact_prefix=", 0) == 0) prefix = value;
  }
  __sanitizer_set_death_callback(KeepCrash);
  std::signal(SIGABRT, [](int) {
    KeepCrash();
    std::_Exit(1);
  });
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    input.assign(std::istreambuf_iterator<char>(file), {});
    Run();
    corpus.push_back(input);
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "%s has no inputs to begin with\n", folder.c_str());
    return 2;
  }
  std::vector<uint8_t> buffer(most);
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  uint64_t runs = 0;
  size_t kept = 0;
  for (; Clock::now() < end; ++runs) {
    const std::string& seed = corpus[Below(corpus.size())];
    size_t size = std::min(seed.size(), most);
    std::copy_n(seed.begin(), size, buffer.begin());
    size = LLVMFuzzerCustomMutator == nullptr
               ? LLVMFuzzerMutate(buffer.data(), size, most)
               : LLVMFuzzerCustomMutator(buffer.data(), size, most,
                                         static_cast<uint32_t>(generator()));
    input.assign(buffer.begin(), buffer.begin() + size);
    if (!Run()) continue;
    corpus.push_back(input);
    Write(folder + "/kept-" + std::to_string(generator()));
    ++kept;
  }
  std::printf("%s: %llu runs, %zu inputs kept, no crash\n", argv[0],
              static_cast<unsigned long long>(runs), kept);
  return 0;
}
