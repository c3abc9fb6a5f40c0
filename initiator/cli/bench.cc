// bench: a load of one kind, and what it achieved.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <future>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <vector>

#include "base/buffer.h"
#include "base/latency_histogram.h"
#include "base/processor.h"
#include "initiator/cli/commands.h"
#include "initiator/cli/output.h"
#include "initiator/lun.h"
#include "initiator/scsi_error.h"
#include "initiator/session_thread.h"

namespace openiser::initiator::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Load {
  bool random, reads, writes, verify;
  std::uint32_t block_size, depth, mix;
  std::uint64_t blocks;  // of block_size
};

Load load_of(const BenchArguments& a, const BlockDeviceProperties& p) {
  const std::string& rw = a.rw;
  Load load{};
  load.random = rw.starts_with("rand");
  const std::string kind = load.random ? rw.substr(4) : rw;
  load.reads = kind == "read" || kind == "rw";
  load.writes = kind == "write" || kind == "rw";
  if ((!load.reads && !load.writes) || rw == "rw") {
    throw UsageError("--rw takes read, write, randread, randwrite or randrw, not '" + rw + "'");
  }
  if (a.block_size == 0 || a.block_size % p.block_size != 0 || a.block_size > (1u << 24)) {
    throw UsageError("--bs " + std::to_string(a.block_size) +
                     ": a multiple of the LUN's block size (" + std::to_string(p.block_size) +
                     "), 16M at most");
  }
  const std::uint64_t size = a.size ? std::min(a.size, p.size()) : p.size();
  load.blocks = size / a.block_size;
  if (load.blocks == 0) throw UsageError("--size is smaller than one block of --bs");
  load.verify = a.verify;
  load.block_size = a.block_size, load.depth = a.iodepth, load.mix = a.mix;
  return load;
}

// A pattern by which every 512 bytes tell where they belong.
void stamp(MutableBytes data, std::uint64_t offset) {
  for (std::size_t at = 0; at < data.size(); at += 512) {
    for (std::size_t i = 0; i < 512; i += 8)
      store_be64(&data[at + i], (offset + at) * 0x9e3779b97f4a7c15u + i);
  }
}
bool stamped(Bytes data, std::uint64_t offset) {
  for (std::size_t at = 0; at < data.size(); at += 512) {
    for (std::size_t i = 0; i < 512; i += 8) {
      if (load_be64(&data[at + i]) != (offset + at) * 0x9e3779b97f4a7c15u + i) return false;
    }
  }
  return true;
}

// One session with its queue of commands; everything after start() happens on the session's thread.
class Worker {
 public:
  Worker(std::shared_ptr<Session> session, std::uint16_t lun, std::uint32_t lun_block,
         const Load& load, unsigned seed)
      : session_(std::move(session)),
        lun_(encode_lun(lun)),
        lun_block_(lun_block),
        load_(load),
        random_(seed) {
    next_ = load.blocks / 7 * seed % load.blocks;
  }

  void start(Clock::time_point end) {
    end_ = end;
    session_->post([this] { issue_all(); });
  }
  void wait() { finished_.get_future().get(); }

  const LatencyHistogram& latencies() const { return latencies_; }
  std::uint64_t errors() const { return errors_; }
  const std::string& first_error() const { return first_error_; }

 private:
  struct Slot {
    Command command;
    Buffer memory;
    std::uint64_t offset = 0;
    bool reading = false;
    Clock::time_point begun;
  };

  void issue_all() {
    slots_.resize(load_.depth);
    open_ = load_.depth;
    for (Slot& slot : slots_) {
      slot.memory = Buffer::allocate(load_.block_size);
      std::memset(slot.memory.data(), 0x5a, slot.memory.size());
      slot.command.lun = lun_;
      slot.command.on_done = [this, &slot](Command&) { done(slot); };
      issue(slot);
    }
  }

  void issue(Slot& slot, Clock::time_point now = Clock::now()) {
    const std::uint64_t block = load_.random ? random_() % load_.blocks : next_++ % load_.blocks;
    slot.offset = block * load_.block_size;
    slot.reading = load_.reads && (!load_.writes || random_() % 100 < load_.mix);
    Command& c = slot.command;
    store_u8(&c.cdb[0], slot.reading ? 0x88 : 0x8a);
    store_be64(&c.cdb[2], slot.offset / lun_block_);
    store_be32(&c.cdb[10], load_.block_size / lun_block_);
    c.data_in = slot.reading ? slot.memory.bytes() : MutableBytes();
    c.data_out = slot.reading ? Bytes() : Bytes(slot.memory.bytes());
    if (!slot.reading && load_.verify) stamp(slot.memory.bytes(), slot.offset);
    slot.begun = now;
    session_->submit(c);
  }

  void done(Slot& slot) {
    const Clock::time_point now = Clock::now();
    ErrorCode error = slot.command.error ? slot.command.error
                                         : scsi_error(slot.command.status, slot.command.sense);
    if (has_sense_key(error, kUnitAttention)) return issue(slot);
    if (!error && slot.reading && load_.verify && !stamped(slot.memory.bytes(), slot.offset)) {
      error = boost::system::errc::make_error_code(boost::system::errc::illegal_byte_sequence);
    }
    if (error) {
      if (errors_++ == 0)
        first_error_ = "at byte " + std::to_string(slot.offset) + ": " + error.message();
    } else {
      latencies_.add(
          static_cast<std::uint64_t>(std::chrono::nanoseconds(now - slot.begun).count()));
    }
    if (now < end_ && errors_ < 1000) return issue(slot, now);
    if (--open_ == 0) finished_.set_value();
  }

  const std::shared_ptr<Session> session_;
  const iscsi::Lun lun_;
  const std::uint32_t lun_block_;
  const Load load_;
  std::mt19937_64 random_;
  std::uint64_t next_ = 0;
  Clock::time_point end_;
  std::deque<Slot> slots_;
  std::uint32_t open_ = 0;
  LatencyHistogram latencies_;
  std::uint64_t errors_ = 0;
  std::string first_error_;
  std::promise<void> finished_;
};

// On no more threads than run at once: more would only take turns.
std::vector<std::shared_ptr<Session>> open_sessions(const Url& url, SessionOptions options,
                                                    std::uint32_t count) {
  std::vector<std::shared_ptr<SessionThread>> threads(
      std::min(count, std::max(1u, std::thread::hardware_concurrency())));
  for (auto& thread : threads) thread = std::make_shared<SessionThread>(options.busy_poll);
  std::vector<std::shared_ptr<Session>> sessions;
  for (std::uint32_t i = 0; i < count; ++i) {
    options.thread = threads[i % threads.size()];
    sessions.push_back(Session::open(url, options));
  }
  return sessions;
}

// Writes the pattern that --rate-verify reads back.
void fill(Lun& lun, const Load& load) {
  const std::uint64_t total = load.blocks * load.block_size;
  Progress progress("filling", total);
  Buffer buffer = Buffer::allocate(std::min<std::uint64_t>(4u << 20, total));
  for (std::uint64_t at = 0; at < total; at += buffer.size()) {
    buffer.resize(std::min<std::uint64_t>(buffer.room(), total - at));
    stamp(buffer.bytes(), at);
    if (const ErrorCode error = lun.write(at, buffer.bytes()))
      throw SessionError("filling: " + error.message());
    progress.at(at + buffer.size());
  }
}

}  // namespace

int bench(const Common& common, const BenchArguments& arguments) {
  const Url url = parse_url(arguments.url);
  if (!url.lun)
    throw UsageError("URL '" + arguments.url + "' names no LUN: iser://HOST/TARGET/LUN");
  if (arguments.threads == 0 || arguments.iodepth == 0)
    throw UsageError("--threads and --iodepth start at 1");
  const auto sessions = open_sessions(url, common.session, arguments.threads);
  const auto lun = Lun::open(sessions[0], *url.lun);
  const Load load = load_of(arguments, lun->properties());
  if (load.verify && load.reads) fill(*lun, load);

  std::vector<std::unique_ptr<Worker>> workers;
  for (std::uint32_t i = 0; i < arguments.threads; ++i) {
    workers.push_back(
        std::make_unique<Worker>(sessions[i], *url.lun, lun->properties().block_size, load, i));
  }
  const ProcessorTime before = processor_time();
  const Clock::time_point start = Clock::now();
  const auto length =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(arguments.runtime));
  for (auto& worker : workers) worker->start(start + length);
  for (auto& worker : workers) worker->wait();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const ProcessorTime after = processor_time();

  auto all = std::make_unique<LatencyHistogram>();
  std::uint64_t errors = 0;
  std::string first_error;
  for (const auto& worker : workers) {
    all->merge(worker->latencies());
    errors += worker->errors();
    if (first_error.empty()) first_error = worker->first_error();
  }
  const double ios = static_cast<double>(all->count());
  const double bytes = ios * load.block_size;
  const double user = after.user - before.user;
  const double system = after.system - before.system;
  const char* wire = name_of(sessions[0]->info().wire);
  if (common.json) {
    const nlohmann::ordered_json out{{"iops", ios / seconds},
                                     {"bytes_per_s", bytes / seconds},
                                     {"ios", all->count()},
                                     {"bytes", all->count() * load.block_size},
                                     {"seconds", seconds},
                                     {"lat_us",
                                      {{"p50", all->percentile_us(50)},
                                       {"p90", all->percentile_us(90)},
                                       {"p99", all->percentile_us(99)},
                                       {"p999", all->percentile_us(99.9)},
                                       {"max", all->max_us()},
                                       {"mean", all->mean_us()}}},
                                     {"cpu_user_s", user},
                                     {"cpu_sys_s", system},
                                     {"errors", errors},
                                     {"rw", arguments.rw},
                                     {"bs", load.block_size},
                                     {"iodepth", load.depth},
                                     {"threads", arguments.threads},
                                     {"wire", wire}};
    std::cout << out.dump(2) << '\n';
  } else {
    std::printf("%s, %s blocks, depth %u, %u thread(s), over %s, %.1f s\n", arguments.rw.c_str(),
                size_text(load.block_size).c_str(), load.depth, arguments.threads, wire, seconds);
    std::printf("%.0f IOPS, %.3f GB/s, %.3f CPU seconds a GB\n", ios / seconds,
                bytes / seconds / 1e9, bytes > 0 ? (user + system) / (bytes / 1e9) : 0);
    std::printf("latency us: p50 %.0f  p90 %.0f  p99 %.0f  p99.9 %.0f  max %.0f  mean %.0f\n",
                all->percentile_us(50), all->percentile_us(90), all->percentile_us(99),
                all->percentile_us(99.9), all->max_us(), all->mean_us());
    if (load.verify) std::printf("every block read was compared with what belongs there\n");
  }
  if (errors) {
    std::fprintf(stderr, "iser bench: %llu errors; the first %s\n",
                 static_cast<unsigned long long>(errors), first_error.c_str());
  }
  return errors ? 1 : 0;
}

}  // namespace openiser::initiator::cli
