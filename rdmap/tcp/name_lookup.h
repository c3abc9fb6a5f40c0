// A host's addresses, without blocking: literal ones at once, names on the resolver's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "rdmap/tcp/address.h"
#include "rdmap/tcp/event_loop.h"

namespace openiser::rdmap {

class NameLookup {
 public:
  // At least one address, or the resolver's error.
  using Done = std::function<void(Result<std::vector<SocketAddress>>)>;

  explicit NameLookup(EventLoop& loop);
  ~NameLookup();
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;

  // Once. `done` is called once on the loop; for a literal address from inside the call.
  void start(const std::string& host, std::uint16_t port, Done done);
  // `done` is not called any more.
  void cancel();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace openiser::rdmap
