// Why the daemon cannot start, in one line: what, where, what to do.
#pragma once

#include <stdexcept>

namespace openiser::target {

class StartError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace openiser::target
