#include "target/store/guarded_copy.h"

#include <csetjmp>
#include <csignal>

#include "target/store/transfer.h"

namespace openiser::target {
namespace {

// Where this thread goes on after a bus error; null: it has none to expect.
thread_local sigjmp_buf* volatile way_out = nullptr;

// The thread was copying: nothing it holds is left half done by leaving.
void bus_error(int) {
  if (way_out) siglongjmp(*way_out, 1);
  // Met again when the instruction is repeated, and fatal then.
  std::signal(SIGBUS, SIG_DFL);
}

bool catch_bus_errors() {
  struct sigaction action {};
  action.sa_handler = bus_error;
  // The handler is left by a jump, which does not restore the signal mask.
  action.sa_flags = SA_NODEFER;
  return sigaction(SIGBUS, &action, nullptr) == 0;
}

}  // namespace

bool copy_pieces_guarded(const StoreRequest& request, std::byte* memory) {
  static const bool caught = catch_bus_errors();
  if (!caught) return false;
  sigjmp_buf here;
  if (sigsetjmp(here, 0) != 0) {
    way_out = nullptr;
    return false;
  }
  way_out = &here;
  copy_pieces(request, memory);
  way_out = nullptr;
  return true;
}

}  // namespace openiser::target
