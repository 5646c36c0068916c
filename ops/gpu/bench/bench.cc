// Measures a GPU: what bounds decoding, every kernel, every way of a batch,
// recipes, and the delay of a step.
//
//   liquid_gpu_bench --output=gpu.json [--images=FOLDER] [--help]
//
// It needs an NVIDIA driver, and neither TensorFlow nor CuPy. Each step runs in
// a process of its own, which ends when its time is over: a fault of the device
// ends one step. Findings are written as they are made.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "ops/core/clock.h"
#include "ops/gpu/bench/photographs.h"
#include "ops/gpu/bench/row.h"
#include "ops/gpu/bench/step.h"

namespace liquid {
namespace {

constexpr char kHelp[] =
    R"(Measures a GPU with the decoders of liquid_tf, and writes JSON.

  --output=FILE        takes what is found; written after each finding
  --images=FOLDER      photographs, of a format that liquid_tf decodes to RGB of
                       8 bits; by default they are made up
  --scratch=FOLDER     has a file for a while, which is read past the page
                       cache; by default the folder of the output
  --size=WxH           of the kernels' images, in pixels (1920x1080)
  --batch-size=WxH     of a batch's images (1280x720)
  --recipe-size=WxH    of the images of recipes (500x375)
  --batch=N            images of a batch (64)
  --megabytes=N        of pixels that a kernel decodes (300)
  --repeats=N          of each measurement, at most (20)
  --warm-up=SECONDS    before each (0.2)
  --steps=NAME,NAME    these alone: device, copies, pieces, registering, disk,
                       kernels, batches, recipes, jpeg, delay
  --limits=FACTOR      of the steps' time limits, which sum up to ten minutes (1)

Exit code 1: a step failed, ran out of time, or lacks something of the machine.
)";

struct Images {
  Photographs of_kernels, of_batches, of_recipes;
};

// What became of a step.
struct Outcome {
  const char* state = "not reached";
  std::string why;
  bool lacks = false;  // something of the machine
  double seconds = 0;
  std::string expected = "null";
  std::string findings;  // JSON, separated by commas
  std::string skipped;
};

class Report {
 public:
  Report(const std::string& path, const Row& settings)
      : path_(path), settings_(settings) {
    outcomes.resize(sizeof(kBenchSteps) / sizeof(kBenchSteps[0]));
  }

  // Puts all of it in place of what the file had.
  bool Save() const {
    Row all;
    all.Add("settings", settings_);
    all.Add("photographs", photographs);
    std::vector<Row> steps;
    for (size_t i = 0; i < outcomes.size(); ++i) {
      const Outcome& outcome = outcomes[i];
      Row row;
      row.Add("step", kBenchSteps[i].name)
          .Add("limit_seconds", kBenchSteps[i].limit_seconds)
          .Add("state", outcome.state)
          .Add("seconds", outcome.seconds);
      if (!outcome.why.empty()) row.Add("why", outcome.why);
      row.AddJson("expected", outcome.expected)
          .AddJson("findings", "[" + outcome.findings + "]")
          .AddJson("skipped", "[" + outcome.skipped + "]");
      steps.push_back(row);
    }
    all.Add("steps", steps);
    const std::string text = all.Json() + "\n";
    const std::string part = path_ + ".part";
    FILE* const file = std::fopen(part.c_str(), "w");
    bool is_written =
        file != nullptr &&
        std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (file != nullptr && std::fclose(file) != 0) is_written = false;
    if (is_written && std::rename(part.c_str(), path_.c_str()) == 0) {
      return true;
    }
    std::fprintf(stderr, "%s: %s\n", path_.c_str(), std::strerror(errno));
    return false;
  }

  Row photographs;
  std::vector<Outcome> outcomes;

 private:
  const std::string path_;
  const Row settings_;
};

// A line of the pipe: what it is, and its JSON or its text.
constexpr char kExpected = 'N', kFinding = 'F', kSkipped = 'S', kFailed = 'E',
               kLacking = 'L';

void Tell(int pipe, char kind, std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  text = kind + text + "\n";
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t more = write(pipe, text.data() + at, text.size() - at);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) std::_Exit(2);  // there is no other end
    at += static_cast<size_t>(more);
  }
}

// In the step's own process.
[[noreturn]] void RunStep(const BenchStep& step, const BenchOptions& options,
                          const Images& images, int pipe) {
  const BenchContext context = {
      options,
      images.of_kernels,
      images.of_batches,
      images.of_recipes,
      [pipe](size_t count) { Tell(pipe, kExpected, std::to_string(count)); },
      [pipe](const Row& row) { Tell(pipe, kFinding, row.Json()); },
      [pipe](const std::string& what, const std::string& why) {
        Tell(pipe, kSkipped, Row().Add("what", what).Add("why", why).Json());
      }};
  const Status status = step.run(context);
  // A machine without a GPU, or one that is too old.
  const bool lacks = status.code() == StatusCode::kNotFound ||
                     status.code() == StatusCode::kUnimplemented;
  if (!status.ok()) Tell(pipe, lacks ? kLacking : kFailed, status.message());
  // Without the ends of static objects, which a fault of the device may hang.
  std::_Exit(status.ok() ? 0 : 1);
}

void Take(const std::string& line, Outcome* outcome) {
  const std::string text = line.substr(1);
  if (line[0] == kExpected) {
    outcome->expected = text;
    return;
  }
  if (line[0] == kFailed || line[0] == kLacking) {
    outcome->lacks = line[0] == kLacking;
    outcome->why = text;
    return;
  }
  std::string& list =
      line[0] == kFinding ? outcome->findings : outcome->skipped;
  list += (list.empty() ? "\n" : ",\n") + text;
}

// Whether it ended within some seconds: a driver may hold a process for ever.
bool HasEnded(pid_t child, int* status) {
  constexpr double kSeconds = 10;
  const double end = MonotonicSeconds() + kSeconds;
  while (waitpid(child, status, WNOHANG) != child) {
    if (MonotonicSeconds() > end) return false;
    usleep(1000);
  }
  return true;
}

// Runs one and notes what it finds, until it ends or its time is over.
bool Watch(size_t number, const BenchOptions& options, const Images& images,
           Report* report) {
  const BenchStep& step = kBenchSteps[number];
  Outcome* const outcome = &report->outcomes[number];
  outcome->state = "running";
  if (!report->Save()) return false;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    outcome->state = "failed";
    outcome->why = std::strerror(errno);
    return false;
  }
  const double begin = MonotonicSeconds();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    RunStep(step, options, images, ends[1]);
  }
  close(ends[1]);
  const double end = begin + step.limit_seconds * options.limit_scale;
  std::string rest;
  bool is_late = child < 0;
  while (child > 0) {
    const double left = end - MonotonicSeconds();
    is_late = left <= 0;
    if (is_late) break;
    pollfd wait = {ends[0], POLLIN, 0};
    if (poll(&wait, 1, static_cast<int>(1e3 * left) + 1) <= 0) continue;
    char buffer[1 << 16];
    const ssize_t more = read(ends[0], buffer, sizeof(buffer));
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;  // it has ended
    rest.append(buffer, static_cast<size_t>(more));
    bool is_new = false;
    for (size_t line; (line = rest.find('\n')) != std::string::npos;) {
      Take(rest.substr(0, line), outcome);
      rest.erase(0, line + 1);
      is_new = true;
    }
    outcome->seconds = MonotonicSeconds() - begin;
    if (is_new && !report->Save()) break;
  }
  close(ends[0]);
  int status = 0;
  if (is_late && child > 0) kill(child, SIGKILL);
  const bool has_ended = child > 0 && HasEnded(child, &status);
  outcome->seconds = MonotonicSeconds() - begin;
  if (is_late) {
    outcome->state = "failed";
    outcome->why = child < 0 ? "no process could be made"
                             : "its time was over: it found no more";
  } else if (!has_ended) {
    outcome->state = "failed";
    outcome->why = "its process does not end";
  } else if (WIFSIGNALED(status)) {
    outcome->state = "failed";
    outcome->why =
        std::string("its process ended: ") + strsignal(WTERMSIG(status));
  } else if (outcome->lacks) {
    outcome->state = "skipped";
  } else if (WEXITSTATUS(status) != 0) {
    outcome->state = "failed";
    if (outcome->why.empty()) outcome->why = "its process ended early";
  } else {
    outcome->state = "done";
  }
  std::fprintf(stderr, "%s: %s after %.1f s%s%s\n", step.name, outcome->state,
               outcome->seconds, outcome->why.empty() ? "" : ": ",
               outcome->why.c_str());
  return report->Save() && std::strcmp(outcome->state, "done") == 0;
}

// The flag's value, where `argument` is that flag.
bool Flag(const char* argument, const char* name, std::string* value) {
  const size_t size = std::strlen(name);
  if (std::strncmp(argument, name, size) != 0 || argument[size] != '=') {
    return false;
  }
  *value = argument + size + 1;
  return true;
}

bool Number(const std::string& text, double least, double most, double* value) {
  char* end = nullptr;
  *value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && *value >= least && *value <= most;
}

bool Whole(const std::string& text, uint32_t least, uint32_t most,
           uint32_t* value) {
  double number = 0;
  if (!Number(text, least, most, &number)) return false;
  *value = static_cast<uint32_t>(number);
  return *value == number;
}

bool Size(const std::string& text, uint32_t* width, uint32_t* height) {
  const size_t by = text.find('x');
  return by != std::string::npos &&
         Whole(text.substr(0, by), 1, 16384, width) &&
         Whole(text.substr(by + 1), 1, 16384, height);
}

bool IsNamed(const std::string& names, const std::string& name) {
  return ("," + names + ",").find("," + name + ",") != std::string::npos;
}

bool AreSteps(const std::string& names) {
  size_t size = 0;
  for (const BenchStep& step : kBenchSteps) {
    if (IsNamed(names, step.name)) size += std::strlen(step.name) + 1;
  }
  return size == names.size() + 1;  // with a comma behind each
}

bool Parse(int count, char** arguments, BenchOptions* options) {
  for (int i = 1; i < count; ++i) {
    std::string value;
    const char* const argument = arguments[i];
    bool is_right = true;
    if (Flag(argument, "--output", &options->output) ||
        Flag(argument, "--images", &options->images) ||
        Flag(argument, "--scratch", &options->scratch)) {
      is_right = true;
    } else if (Flag(argument, "--size", &value)) {
      is_right = Size(value, &options->width, &options->height);
    } else if (Flag(argument, "--steps", &options->steps)) {
      is_right = AreSteps(options->steps);
    } else if (Flag(argument, "--batch-size", &value)) {
      is_right = Size(value, &options->batch_width, &options->batch_height);
    } else if (Flag(argument, "--recipe-size", &value)) {
      is_right = Size(value, &options->recipe_width, &options->recipe_height);
    } else if (Flag(argument, "--batch", &value)) {
      is_right = Whole(value, 1, 4096, &options->batch);
    } else if (Flag(argument, "--megabytes", &value)) {
      is_right = Number(value, 0, 4096, &options->megabytes);
    } else if (Flag(argument, "--repeats", &value)) {
      is_right = Whole(value, 1, 10000, &options->repeats);
    } else if (Flag(argument, "--warm-up", &value)) {
      is_right = Number(value, 0, 60, &options->warm_up_seconds);
    } else if (Flag(argument, "--limits", &value)) {
      is_right = Number(value, 0.001, 1000, &options->limit_scale);
    } else {
      is_right = false;
    }
    if (!is_right) {
      std::fprintf(stderr, "%s: there is no such flag, or value of it\n\n%s",
                   argument, kHelp);
      return false;
    }
  }
  if (options->output.empty()) {
    std::fprintf(stderr, "--output is missing\n\n%s", kHelp);
    return false;
  }
  if (options->scratch.empty()) {
    const size_t slash = options->output.rfind('/');
    options->scratch =
        slash == std::string::npos ? "." : options->output.substr(0, slash + 1);
  }
  return true;
}

int Main(int count, char** arguments) {
  if (count == 2 && std::strcmp(arguments[1], "--help") == 0) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  BenchOptions options;
  if (!Parse(count, arguments, &options)) return 2;
  Row settings;
  settings.Add("images", options.images)
      .Add("batch", options.batch)
      .Add("megabytes", options.megabytes)
      .Add("repeats", options.repeats)
      .Add("warm_up_seconds", options.warm_up_seconds)
      .Add("limits", options.limit_scale);
  Report report(options.output, settings);
  if (!report.Save()) return 2;

  Images images;
  const double begin = MonotonicSeconds();
  // Ends this process; no step is reached then.
  alarm(static_cast<unsigned>(kPhotographSeconds * options.limit_scale) + 1);
  const struct {
    uint32_t width, height;
    Photographs* photographs;
  } sets[] = {
      {options.width, options.height, &images.of_kernels},
      {options.batch_width, options.batch_height, &images.of_batches},
      {options.recipe_width, options.recipe_height, &images.of_recipes}};
  Status status;
  for (const auto& set : sets) {
    if (!status.ok()) break;
    status =
        MakePhotographs(options.images, set.width, set.height, set.photographs);
  }
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    report.photographs.Add("error", status.message());
    report.Save();
    return 2;
  }
  alarm(0);
  report.photographs.Add("limit_seconds", kPhotographSeconds)
      .Add("seconds", MonotonicSeconds() - begin);
  for (const char* format : kBenchFormats) {
    const Photographs& of_kernels = images.of_kernels;
    size_t stored = 0;
    for (const Photograph& image : of_kernels.images) {
      stored += image.File(format).size();
    }
    report.photographs.Add(
        (std::string(format) + " share of pixels").c_str(),
        static_cast<double>(stored) /
            static_cast<double>(of_kernels.info.PixelBytes() *
                                of_kernels.images.size()));
  }
  bool is_well = true;
  for (size_t i = 0; i < report.outcomes.size(); ++i) {
    if (!options.steps.empty() &&
        !IsNamed(options.steps, kBenchSteps[i].name)) {
      report.outcomes[i].state = "skipped";
      report.outcomes[i].why = "--steps does not name it";
      continue;
    }
    is_well = Watch(i, options, images, &report) && is_well;
  }
  return report.Save() && is_well ? 0 : 1;
}

}  // namespace
}  // namespace liquid

int main(int count, char** arguments) { return liquid::Main(count, arguments); }
