// Files on servers of http:// and https://, and objects of s3://.
#ifndef LIQUID_OPS_READER_HTTP_FILE_H_
#define LIQUID_OPS_READER_HTTP_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "ops/core/status.h"
#include "ops/reader/file.h"

namespace liquid {

// Seconds for which what fails is repeated: a server that starts again, or
// sends its clients away for a while, ends no training.
constexpr double kHttpPatience = 120;

// Opens a file without asking for it: the first read shows whether it is there.
// Reads are made by the client of the process, and are all of one version of
// the file. Errors: those of HttpClient.
Status OpenHttpFile(const std::string& url, double patience,
                    std::unique_ptr<RandomFile>* file);
// The same, and asks for the file's size.
Status OpenHttpFile(const std::string& url, double patience,
                    std::unique_ptr<RandomFile>* file, uint64_t* size);

}  // namespace liquid

#endif  // LIQUID_OPS_READER_HTTP_FILE_H_
