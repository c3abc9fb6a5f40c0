#include "tests/bench/ping_pong/client.h"

#include <stdexcept>

namespace openiser::bench {
namespace {

class Measurement {
 public:
  Measurement(const Options& options, int server) : options_(options), server_(server) {
    result_.bytes_per_io = options.payload ? options.payload : options.larger();
  }

  // Warm-up begins with the first answer: before it the server maps its LUN.
  void answered(Connection& connection, unsigned messages) {
    const std::int64_t t = now();
    if (state_ == State::waiting) enter(State::warming, t);
    for (; messages > 0; --messages) {
      if (state_ == State::measuring)
        result_.latencies.add(static_cast<std::uint64_t>(t - connection.begun.front()));
      connection.begun.pop_front();
      connection.begun.push_back(t);
    }
    if (state_ == State::warming && t >= since_ + ns(options_.warm_up)) enter(State::measuring, t);
    if (state_ == State::measuring && t >= since_ + ns(options_.seconds)) enter(State::done, t);
  }
  bool done() const { return state_ == State::done; }
  const Result& result() const { return result_; }

  static std::int64_t now() {
    return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
  }

 private:
  enum class State { waiting, warming, measuring, done };

  static std::int64_t ns(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

  void enter(State state, std::int64_t t) {
    const ProcessorTime cpu = processor_time();
    const double peer = cpu_time_of(server_);
    if (state == State::done) {
      result_.seconds = static_cast<double>(t - since_) / 1e9;
      result_.cpu = {cpu.user - cpu_.user, cpu.system - cpu_.system};
      result_.peer_cpu = peer - peer_;
    }
    state_ = state, since_ = t, cpu_ = cpu, peer_ = peer;
  }

  const Options& options_;
  const int server_;
  Result result_;
  State state_ = State::waiting;
  std::int64_t since_ = 0;
  ProcessorTime cpu_;
  double peer_ = 0;
};

}  // namespace

Result measure(const Options& options, Connections& connections, int server) {
  Measurement measurement(options, server);
  for (Connection& connection : connections.all()) {
    connection.begun.assign(options.depth, Measurement::now());
    connection.sender.owe(options.depth);
    connections.flush(connection);
  }
  const auto on_messages = [&](Connection& c, unsigned n) { measurement.answered(c, n); };
  while (!measurement.done()) {
    if (!connections.turn(on_messages)) throw std::runtime_error("the server went away");
  }
  return measurement.result();
}

}  // namespace openiser::bench
