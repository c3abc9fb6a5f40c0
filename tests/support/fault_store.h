// A store for tests: bytes in memory behind a desk where requests can be held back, failed, counted
// and looked at, and whose properties are what the test says.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "target/store/store.h"

namespace openiser::test {

// What happened and what is to happen; shared by the test and the store. One thread.
struct StoreDesk {
  using Operation = target::StoreRequest::Operation;

  struct Seen {
    Operation operation;
    std::uint64_t offset;
    std::uint64_t length;
    bool force_unit_access;
    std::size_t pieces;
  };
  std::vector<Seen> seen;

  // Asked of every request before it is done; an error number fails it.
  std::function<int(const target::StoreRequest&)> fault;
  // Keep requests until release().
  bool hold = false;
  std::deque<target::StoreRequest*> held;
  target::StoreProperties properties;
  std::vector<std::byte> bytes;
  // What find_extent says is one; ascending.
  struct Hole {
    std::uint64_t start;
    std::uint64_t end;
  };
  std::vector<Hole> holes;
  bool is_cached = false;    // what prefetch says
  target::StoreSpace space;  // what query_space says

  // Fails requests of one kind, all of them.
  void fail(Operation operation, int error) {
    fault = [=](const target::StoreRequest& request) {
      return request.operation == operation ? error : 0;
    };
  }
  std::size_t count(Operation operation) const {
    std::size_t n = 0;
    for (const Seen& each : seen) n += each.operation == operation ? 1 : 0;
    return n;
  }
  // Lets the held request number `index` go.
  void release(std::size_t index = 0) {
    target::StoreRequest* request = held.at(index);
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(index));
    carry_out(*request);
  }
  void release_all() {
    while (!held.empty()) release();
  }

  void carry_out(target::StoreRequest& request) {
    const int error = fault ? fault(request) : 0;
    request.error = error == 0 ? ErrorCode() : ErrorCode(error, boost::system::generic_category());
    if (error == 0) move(request);
    if (error == 0 && request.operation == Operation::find_extent) find_extent(request);
    request.is_cached = is_cached;
    request.space = space;
    request.done();
  }

 private:
  void move(const target::StoreRequest& request) {
    std::uint64_t at = request.offset;
    std::uint64_t rest = request.length;
    switch (request.operation) {
      case Operation::read:
      case Operation::write:
        for (const MutableBytes& piece : request.pieces) {
          const std::size_t size = std::min<std::uint64_t>(piece.size(), rest);
          std::byte* here = &bytes.at(at + size - 1) - (size - 1);
          if (request.operation == Operation::read) {
            std::memcpy(piece.data(), here, size);
          } else {
            std::memcpy(here, piece.data(), size);
          }
          at += size;
          rest -= size;
        }
        return;
      case Operation::discard:
      case Operation::write_zeroes:
        for (; rest != 0; --rest) bytes.at(at++) = std::byte{0};
        return;
      case Operation::flush:
      case Operation::find_extent:
      case Operation::prefetch:
      case Operation::query_space:
        return;
    }
  }
  void find_extent(target::StoreRequest& request) const {
    for (const Hole& hole : holes) {
      if (request.offset >= hole.end) continue;
      request.is_hole = request.offset >= hole.start;
      const std::uint64_t end = request.is_hole ? hole.end : hole.start;
      request.length = std::min(request.length, end - request.offset);
      return;
    }
  }
};

class FaultStore final : public target::Store {
 public:
  explicit FaultStore(std::shared_ptr<StoreDesk> desk) : desk_(std::move(desk)) {}

  // `size` bytes that can be discarded, behind a volatile cache, and go with the process.
  static std::shared_ptr<StoreDesk> make_desk(std::uint64_t size) {
    auto desk = std::make_shared<StoreDesk>();
    desk->properties = {.size = size,
                        .read_only = false,
                        .discard = true,
                        .volatile_cache = true,
                        .volatile_content = true,
                        .description = "fault store"};
    desk->bytes.resize(size);
    return desk;
  }

  target::StoreProperties properties() const override { return desk_->properties; }
  void submit(target::StoreEngine&, target::StoreRequest& request) override {
    desk_->seen.push_back({request.operation, request.offset, request.length,
                           request.force_unit_access, request.pieces.size()});
    if (desk_->hold) {
      desk_->held.push_back(&request);
    } else {
      desk_->carry_out(request);
    }
  }

 private:
  std::shared_ptr<StoreDesk> desk_;
};

}  // namespace openiser::test
