#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace openiser {

void assertion_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "open-iser: internal fault at %s:%d: %s does not hold; please report it\n",
               file, line, what);
  std::abort();
}

}  // namespace openiser
