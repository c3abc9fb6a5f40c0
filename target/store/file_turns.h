// Which requests of an engine are under way at once. Each file has a share of the places and there
// is one to spare for a newcomer, so a disk that does not answer holds up only what was asked of
// it.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>

#include "target/store/store.h"

namespace openiser::target {

class FileTurns {
 public:
  struct Turn {
    int fd;
    StoreRequest* request;
  };

  explicit FileTurns(std::size_t places) : places_(places) {}

  // Whether the request starts now; if not, it waits until ended() gives it.
  bool begins(Turn turn);
  // A request to `fd` that was under way has ended: what starts now, if anything.
  std::optional<Turn> ended(int fd);

 private:
  struct File {
    std::size_t under_way = 0;
    std::deque<StoreRequest*> waiting;
  };
  using Files = std::map<int, File>;

  bool has_place(const File& file) const;
  std::optional<Turn> next_of(Files::iterator begin, Files::iterator end);

  const std::size_t places_;
  std::size_t under_way_ = 0;
  std::size_t waiting_ = 0;
  Files files_;  // all that there ever were: as many as there are disks
};

}  // namespace openiser::target
