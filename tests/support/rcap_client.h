// A queue pair's client that writes down everything it hears, and checks what must hold always:
// exactly one of established() and disconnected() first, each at most once, nothing after the end.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "rdmap/rcap.h"

namespace openiser::test {

class RecordingClient final : public rdmap::QueuePairClient {
 public:
  explicit RecordingClient(rdmap::QueuePair& pair) : pair_(pair) { pair.set_client(this); }

  void established(const rdmap::Established& how) override {
    EXPECT_FALSE(how_) << "established twice";
    EXPECT_FALSE(why_) << "established after the end";
    how_ = how;
    private_data.assign(how.private_data.begin(), how.private_data.end());
    how_->private_data = {};
    if (on_established) on_established();
  }
  void completions_ready() override {
    EXPECT_FALSE(why_) << "completions after the end";
    poll();
    if (on_completions) on_completions();
  }
  void disconnected(ErrorCode why) override {
    EXPECT_FALSE(why_) << "disconnected twice";
    poll();
    why_ = why;
  }

  void poll() {
    std::array<rdmap::Completion, 7> batch;
    while (const std::size_t n = pair_.poll(batch)) {
      std::move(batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(n),
                std::back_inserter(completions));
    }
  }

  const std::optional<rdmap::Established>& how() const { return how_; }
  // Set by the end.
  const std::optional<ErrorCode>& why() const { return why_; }

  std::vector<const rdmap::Completion*> of(rdmap::Completion::Kind kind) const {
    std::vector<const rdmap::Completion*> found;
    for (const auto& completion : completions) {
      if (completion.kind == kind) found.push_back(&completion);
    }
    return found;
  }
  std::size_t count(rdmap::Completion::Kind kind) const { return of(kind).size(); }
  // The nth of its kind, which must be there.
  const rdmap::Completion& at(rdmap::Completion::Kind kind, std::size_t n) const {
    return *of(kind).at(n);
  }

  std::vector<rdmap::Completion> completions;
  std::vector<std::byte> private_data;
  std::function<void()> on_established;
  std::function<void()> on_completions;

 private:
  rdmap::QueuePair& pair_;
  std::optional<rdmap::Established> how_;
  std::optional<ErrorCode> why_;
};

// Counts the leases that are out.
class CountingOwner final : public BufferOwner {
 public:
  Buffer lease(std::size_t size) {
    ++out;
    return Buffer(new std::byte[size + 1], size, this);
  }
  void release(std::byte* block, std::size_t) noexcept override {
    delete[] block;
    --out;
  }
  int out = 0;
};

// Bytes that repeat nowhere near, so that a misplaced piece is seen.
inline std::vector<std::byte> noise(std::size_t size, std::uint32_t seed = 1) {
  std::vector<std::byte> bytes(size);
  std::uint32_t state = seed * 2654435761u + 12345;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

}  // namespace openiser::test
