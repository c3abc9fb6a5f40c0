// Stores by themselves: requests run to their end on a loop of their own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "rdmap/tcp/event_loop.h"
#include "target/store/store.h"
#include "tests/support/bytes.h"

namespace openiser::test {

// A request that stops its loop when it is done.
class SignalledRequest final : public target::StoreRequest {
 public:
  SignalledRequest(rdmap::EventLoop& loop, Operation what, std::uint64_t at, std::uint64_t size)
      : loop_(loop) {
    operation = what;
    offset = at;
    length = size;
  }
  // Memory of the request, in pieces of `piece` bytes.
  void use(ByteVector& memory, std::size_t piece) {
    for (std::size_t at = 0; at < memory.size(); at += piece) {
      pieces_.push_back(MutableBytes(memory).subspan(at, std::min(piece, memory.size() - at)));
    }
    pieces = pieces_;
  }
  void done() override {
    EXPECT_FALSE(is_done);
    is_done = true;
    loop_.stop();
  }
  bool is_done = false;

 private:
  rdmap::EventLoop& loop_;
  std::vector<MutableBytes> pieces_;
};

// A loop with an engine, and requests run to their end on it.
class StoreBench {
 public:
  using Operation = target::StoreRequest::Operation;

  explicit StoreBench(target::StoreEngine::Kind kind)
      : engine_(target::StoreEngine::create(loop_, kind)) {}

  rdmap::EventLoop& loop() { return loop_; }
  target::StoreEngine& engine() { return *engine_; }
  void finish(const SignalledRequest& request) {
    bool late = false;
    rdmap::Timer limit(loop_, [&] {
      late = true;
      loop_.stop();
    });
    limit.set(loop_.now() + std::chrono::seconds(20));
    while (!request.is_done && !late) loop_.run();
    ASSERT_FALSE(late);
  }
  ErrorCode run(target::Store& store, SignalledRequest& request) {
    store.submit(*engine_, request);
    finish(request);
    return request.error;
  }
  ErrorCode write(target::Store& store, std::uint64_t at, ByteVector bytes,
                  std::size_t piece = 4096, bool force = false) {
    SignalledRequest request(loop_, Operation::write, at, bytes.size());
    request.force_unit_access = force;
    request.use(bytes, piece);
    return run(store, request);
  }
  ErrorCode read(target::Store& store, std::uint64_t at, ByteVector& bytes,
                 std::size_t piece = 4096) {
    SignalledRequest request(loop_, Operation::read, at, bytes.size());
    request.use(bytes, piece);
    return run(store, request);
  }
  ErrorCode other(target::Store& store, Operation operation, std::uint64_t at, std::uint64_t size) {
    SignalledRequest request(loop_, operation, at, size);
    return run(store, request);
  }
  // One stretch of memory, as it lies.
  ErrorCode move(target::Store& store, Operation operation, std::uint64_t at, MutableBytes memory) {
    SignalledRequest request(loop_, operation, at, memory.size());
    request.pieces = {&memory, 1};
    return run(store, request);
  }
  target::StoreSpace space(target::Store& store) {
    SignalledRequest request(loop_, Operation::query_space, 0, 0);
    EXPECT_FALSE(run(store, request));
    return request.space;
  }
  // "hole" or "data", and how long it is.
  std::string extent(target::Store& store, std::uint64_t at, std::uint64_t size) {
    SignalledRequest request(loop_, Operation::find_extent, at, size);
    EXPECT_FALSE(run(store, request));
    return (request.is_hole ? "hole " : "data ") + std::to_string(request.length);
  }

 private:
  rdmap::EventLoop loop_;
  std::unique_ptr<target::StoreEngine> engine_;
};

}  // namespace openiser::test
