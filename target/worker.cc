#include "target/worker.h"

#include <algorithm>
#include <future>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "base/processor.h"
#include "iscsi/errors.h"
#include "target/store_flush.h"

namespace openiser::target {

namespace {

StoreEngine::Kind kind_of(config::Daemon::Store configured) {
  switch (configured) {
    case config::Daemon::Store::io_uring:
      return StoreEngine::Kind::io_uring;
    case config::Daemon::Store::threads:
      return StoreEngine::Kind::threads;
    case config::Daemon::Store::automatic:
      break;
  }
  return StoreEngine::Kind::automatic;
}

// A processor that there is not, or that the process may not use, is worth no more than a word.
void stay_on(unsigned processor) {
  if (const ErrorCode error = stay_on_processor(processor)) {
    log::warn("worker", "limits: cpus: processor " + std::to_string(processor) +
                            " is not to be had: " + error.message());
  }
}

}  // namespace

std::size_t worker_count(const config::Limits& limits) {
  return limits.threads != 0 ? limits.threads : std::max(std::thread::hardware_concurrency(), 1u);
}

Worker::Worker(const Shared& shared, std::optional<unsigned> processor)
    : shared_(shared), loop_(std::chrono::microseconds(shared.config.limits.busy_poll)) {
  std::promise<void> ready;
  thread_ = std::thread([this, &ready, processor] {
    if (processor) stay_on(*processor);
    run([&ready] { ready.set_value(); });
  });
  ready.get_future().wait();
}

Worker::~Worker() {
  loop_.stop();
  thread_.join();
}

void Worker::run(const std::function<void()>& ready) {
  engine_ = StoreEngine::create(loop_, kind_of(shared_.config.store_engine));
  log::debug("worker", std::string("stores are served by ") + engine_->name());
  ready();
  loop_.run();
  ISER_ASSERT(all_.empty());
  engine_.reset();
}

void Worker::adopt(rdmap::Socket socket, Arrival arrival) {
  make_connection(std::move(socket), std::move(arrival));
}

void Worker::adopt(rdmap::VerbsRequest request, Arrival arrival) {
  make_connection(std::move(request), std::move(arrival));
}

template <class Incoming>
void Worker::make_connection(Incoming incoming, Arrival arrival) {
  ++count_;
  // std::function wants something that can be copied.
  loop_.post([this, arrival = std::move(arrival),
              shared = std::make_shared<Incoming>(std::move(incoming))] {
    const ConnectionContext context{loop_,          *engine_,          pool_,
                                    shared_.config, shared_.catalogue, shared_.sessions};
    ServerConnection::Owner& owner = *this;
    auto connection =
        std::make_unique<ServerConnection>(context, std::move(*shared), arrival, owner);
    ServerConnection* const key = connection.get();
    all_.emplace(key, std::move(connection));
  });
}

void Worker::connection_finished(ServerConnection& connection) {
  loop_.defer([this, key = &connection] {
    all_.erase(key);
    pool_.trim();
    --count_;
    shared_.connection_gone();
  });
}

void Worker::drain(Duration grace) {
  loop_.post([this, grace] {
    for (const auto& [key, connection] : all_) connection->drain(grace);
  });
}

void Worker::end_all(ErrorCode why) {
  loop_.post([this, why] {
    for (const auto& [key, connection] : all_) connection->end(why);
  });
}

void Worker::flush_stores(std::shared_ptr<const Catalogue> catalogue, std::function<void()> done) {
  loop_.post([this, catalogue = std::move(catalogue), done = std::move(done)] {
    target::flush_stores(*catalogue, *engine_, done);
  });
}

}  // namespace openiser::target
