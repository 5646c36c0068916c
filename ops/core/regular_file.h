// Local files that end, and that no read waits for.
//
// A pipe, a socket or a device in a file's place would be waited for, or read,
// for ever.
#ifndef LIQUID_OPS_CORE_REGULAR_FILE_H_
#define LIQUID_OPS_CORE_REGULAR_FILE_H_

#include <sys/types.h>

#include <string>

#include "ops/core/status.h"

namespace liquid {

// The error of a system call on a file: NotFound, Unavailable where the process
// or the machine has no room for it, else Internal.
Status FromErrno(const std::string& message, int error);

// Whether `mode`, as stat gives it, is that of a regular file.
// Error: InvalidArgument, which names the path and what is there.
Status CheckRegular(const std::string& path, mode_t mode);

// Opens a regular file for reading; never waits. `flags`: others of open, such
// as O_DIRECT. The caller closes `*fd`, which is -1 after an error.
// Errors: those of FromErrno and CheckRegular.
Status OpenRegular(const std::string& path, int flags, int* fd);

}  // namespace liquid

#endif  // LIQUID_OPS_CORE_REGULAR_FILE_H_
