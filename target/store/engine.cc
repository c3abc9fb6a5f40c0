#include <cerrno>

#include "base/log.h"
#include "target/store/thread_engine.h"
#include "target/store/uring_engine.h"

namespace openiser::target {

Status Store::grow(std::uint64_t) {
  return ErrorCode(EOPNOTSUPP, boost::system::generic_category());
}

std::unique_ptr<StoreEngine> StoreEngine::create(rdmap::EventLoop& loop, Kind kind) {
  if (kind != Kind::threads) {
    if (auto engine = UringEngine::create(loop)) return engine;
    log::info("store", "io_uring is not to be had here; using threads");
  }
  return std::make_unique<ThreadEngine>(loop);
}

}  // namespace openiser::target
