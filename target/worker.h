// A thread with everything its connections need: event loop, store engine, buffer pool. A
// connection stays on its worker for life.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

#include "target/server_connection.h"

namespace openiser::target {

// How many workers a daemon has.
std::size_t worker_count(const config::Limits& limits);

class Worker final : ServerConnection::Owner {
 public:
  // What all workers share; outlives them.
  struct Shared {
    const config::Daemon& config;
    const CurrentCatalogue& catalogue;
    SessionManager& sessions;
    // Any worker's thread: a connection has gone.
    std::function<void()> connection_gone;
  };

  // `processor`: where its thread runs, and nowhere else; none: where the system likes.
  Worker(const Shared& shared, std::optional<unsigned> processor);
  // Every connection has gone.
  ~Worker();

  // Any thread.
  void adopt(rdmap::Socket socket, Arrival arrival);
  void adopt(rdmap::VerbsRequest request, Arrival arrival);
  std::size_t connections() const { return count_; }
  void drain(Duration grace);
  void end_all(ErrorCode why);
  // Brings what is written to every store of `catalogue` to stable storage; `done` is called on the
  // worker's thread.
  void flush_stores(std::shared_ptr<const Catalogue> catalogue, std::function<void()> done);

 private:
  void run(const std::function<void()>& ready);
  template <class Incoming>
  void make_connection(Incoming incoming, Arrival arrival);
  void connection_finished(ServerConnection& connection) override;

  const Shared shared_;
  rdmap::EventLoop loop_;
  // Made and destroyed by the thread, as io_uring likes it.
  std::unique_ptr<StoreEngine> engine_;
  BufferPool pool_;
  std::unordered_map<ServerConnection*, std::unique_ptr<ServerConnection>> all_;
  std::atomic<std::size_t> count_ = 0;
  std::thread thread_;
};

}  // namespace openiser::target
