// The send queue over a device that only notes what it is given.
#include "rdmap/verbs/send_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "rdmap/errors.h"

namespace openiser::rdmap {
namespace {

using Kind = Completion::Kind;

std::vector<ibv_send_wr> given;
std::size_t calls = 0;

int note(ibv_qp*, ibv_send_wr* first, ibv_send_wr**) {
  ++calls;
  for (; first; first = first->next) given.push_back(*first);
  return 0;
}

class SendQueueTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kDepth = 8;

  SendQueueTest() {
    given.clear();
    calls = 0;
    device_.ops.post_send = note;
    pair_.context = &device_;
    queue_.open(&pair_, {.works = kDepth, .inlined = 64, .max_send = 100}, 4);
  }
  void send(WorkId id, std::size_t size = 10) {
    SendWork work;
    work.id = id;
    work.head = Buffer::allocate(size);
    queue_.post(Work::of(std::move(work)));
  }
  void read(WorkId id) {
    ReadWork work;
    work.id = id;
    queue_.post(Work::of(std::move(work)));
  }
  void flush() {
    queue_.flush();
    EXPECT_FALSE(queue_.pump());
  }
  // The device has done what it was given as the nth.
  void done(std::size_t n, ErrorCode status = {}) {
    queue_.completed(given.at(n).wr_id, status);
    queue_.retire();
    EXPECT_FALSE(queue_.pump());
  }
  std::vector<Completion> polled() {
    std::array<Completion, 64> batch;
    const std::size_t n = completions_.poll(batch);
    std::vector<Completion> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back(std::move(batch[i]));
    return all;
  }
  static bool signalled(std::size_t n) { return (given.at(n).send_flags & IBV_SEND_SIGNALED) != 0; }

  ibv_context device_{};
  ibv_qp pair_{};
  BufferPool pool_;
  ProtectionDomain domain_{nullptr, pool_, {}};
  CompletionQueue completions_;
  SendQueue queue_{domain_, completions_};
};

TEST_F(SendQueueTest, GoesWithOneCallAndIsSignalledOnce) {
  for (WorkId id = 1; id <= 3; ++id) send(id);
  EXPECT_FALSE(queue_.pump());
  EXPECT_EQ(calls, 0u) << "not flushed";
  flush();
  EXPECT_EQ(calls, 1u);
  ASSERT_EQ(given.size(), 3u);
  EXPECT_FALSE(signalled(0) || signalled(1));
  EXPECT_TRUE(signalled(2));
  EXPECT_NE(given[0].send_flags & IBV_SEND_INLINE, 0u);
  done(2);
  const auto all = polled();
  ASSERT_EQ(all.size(), 3u);
  for (std::size_t n = 0; n < 3; ++n) {
    EXPECT_EQ(all[n].id, n + 1);
    EXPECT_FALSE(all[n].status);
    EXPECT_EQ(all[n].buffer.size(), 10u);
  }
  EXPECT_TRUE(queue_.idle());
  EXPECT_FALSE(queue_.lost());
}

TEST_F(SendQueueTest, WhatTheDeviceDoesNotTakeWaits) {
  for (WorkId id = 1; id <= 20; ++id) send(id);
  flush();
  EXPECT_EQ(given.size(), kDepth);
  EXPECT_TRUE(signalled(kDepth - 1)) << "nothing would go on";
  done(kDepth - 1);
  EXPECT_EQ(given.size(), 2 * kDepth);
  done(2 * kDepth - 1);
  EXPECT_EQ(given.size(), 20u);
  EXPECT_FALSE(queue_.idle());
  done(19);
  EXPECT_TRUE(queue_.idle());
  EXPECT_EQ(polled().size(), 20u);
}

// RFC 5040 section 5.5 rule 15, where a device says earlier that the Send is done.
TEST_F(SendQueueTest, ASendBehindAReadCompletesAfterIt) {
  read(1);
  send(2);
  flush();
  ASSERT_EQ(given.size(), 2u);
  EXPECT_TRUE(signalled(0));
  done(1);
  EXPECT_TRUE(polled().empty());
  done(0);
  const auto all = polled();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].kind, Kind::read);
  EXPECT_EQ(all[1].kind, Kind::send);
}

// siw sends what is not signalled from its place, as long as TCP likes.
TEST_F(SendQueueTest, OverIwarpLargeWorksAreEachSignalled) {
  DeviceFacts facts;
  facts.iwarp = true;
  ProtectionDomain iwarp(nullptr, pool_, facts);
  SendQueue queue(iwarp, completions_);
  queue.open(&pair_, {.works = kDepth, .inlined = 10'000, .max_send = 10'000}, 4);
  for (const std::size_t size : {4096, 4095, 1}) {
    SendWork work;
    work.head = Buffer::allocate(size);
    queue.post(Work::of(std::move(work)));
  }
  queue.flush();
  EXPECT_FALSE(queue.pump());
  ASSERT_EQ(given.size(), 3u);
  EXPECT_TRUE(signalled(0));
  EXPECT_FALSE(signalled(1));
  queue.abandon(errc::flushed);
}

TEST_F(SendQueueTest, WhatFailsAloneIsNotGiven) {
  queue_.open(&pair_, {.works = kDepth, .inlined = 64, .max_send = 100}, 0);
  send(1, 101);
  read(2);
  send(3);
  flush();
  ASSERT_EQ(given.size(), 1u);
  done(0);
  const auto all = polled();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].status, errc::send_too_long);
  EXPECT_EQ(all[1].status, errc::mpa_insufficient_ird);
  EXPECT_FALSE(all[2].status);
  EXPECT_FALSE(queue_.lost());
}

TEST_F(SendQueueTest, AFailureLeavesWhatWasBeforeDoneAndTheRestFlushed) {
  for (WorkId id = 1; id <= 4; ++id) send(id);
  flush();
  send(5);
  done(1, errc::rdmap_protection_unspecified);
  EXPECT_TRUE(queue_.lost());
  queue_.abandon(errc::flushed);
  const auto all = polled();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_FALSE(all[0].status);
  EXPECT_EQ(all[1].status, errc::rdmap_protection_unspecified);
  for (std::size_t n = 2; n < 5; ++n) EXPECT_EQ(all[n].status, errc::flushed);
}

TEST_F(SendQueueTest, BindingsGoBeforeWorksThatWaited) {
  for (WorkId id = 1; id <= kDepth + 1; ++id) send(id);
  flush();
  ibv_mw mw{};
  Window window;
  window.window.reset(&mw);
  window.key = 77;
  queue_.bind(window);
  EXPECT_FALSE(queue_.pump());
  ASSERT_EQ(given.size(), kDepth + 1);
  EXPECT_EQ(given.back().opcode, IBV_WR_BIND_MW);
  EXPECT_EQ(window.state, Window::State::with_device);
  EXPECT_EQ(mw.rkey, 77u);
  done(kDepth);
  EXPECT_EQ(window.state, Window::State::settled);
  EXPECT_EQ(given.size(), kDepth + 2);
  (void)window.window.release();
}

TEST_F(SendQueueTest, ABindingMayBeForgottenBeforeItGoes) {
  ibv_mw mw{};
  Window window;
  window.window.reset(&mw);
  window.key = 77;
  queue_.bind(window);
  queue_.forget(window);
  flush();
  EXPECT_TRUE(given.empty());
  EXPECT_EQ(window.state, Window::State::waiting);
  (void)window.window.release();
}

}  // namespace
}  // namespace openiser::rdmap
