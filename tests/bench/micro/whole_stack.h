// Initiator and target of one session in one thread, over a MemoryLink: all that the daemon does
// for an I/O between the bytes of a connection and a store, but for sockets and the event loop. It
// begins where a login has ended.
#pragma once

#include <memory>
#include <span>

#include "base/bytes.h"
#include "tests/bench/micro/memory_link.h"

namespace openiser::bench {

enum class Wire { plain, plain_digests, iser, iser_no_crc };
enum class Medium { null, memory };

class WholeStack {
 public:
  // The LUN has `blocks` blocks of kBlock bytes.
  WholeStack(Wire wire, Medium medium, std::uint64_t blocks);
  ~WholeStack();
  WholeStack(const WholeStack&) = delete;
  WholeStack& operator=(const WholeStack&) = delete;

  static constexpr std::uint32_t kBlock = 4096;

  struct Io {
    bool write = false;
    std::uint64_t lba = 0;
    MutableBytes data;
  };
  // All at once, and waits for the last; false if one has failed.
  bool run(std::span<const Io> ios);

  // Of run(), since the last reset.
  const Cost& initiator_cost() const;
  const Cost& target_cost() const;
  void reset_costs();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace openiser::bench
