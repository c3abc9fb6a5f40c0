#include "base/output_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>

namespace openiser {
namespace {

std::string drain(OutputQueue& queue, std::size_t step) {
  std::string all;
  while (!queue.empty()) {
    std::array<Bytes, 4> pieces;
    const std::size_t n = queue.gather(pieces);
    std::string now;
    for (std::size_t i = 0; i < n; ++i) now += as_text(pieces[i]).substr(0, step - now.size());
    all += now;
    queue.consume(now.size());
  }
  return all;
}

TEST(OutputQueue, KeepsTheOrderOfCopiesAndReferences) {
  OutputQueue queue;
  const std::string payload = "payload";
  queue.append_copy(as_bytes("head"));
  queue.append_reference(as_bytes(payload));
  queue.append_copy(as_bytes("tail"));
  EXPECT_EQ(queue.size(), 15u);
  EXPECT_EQ(drain(queue, 100), "headpayloadtail");
}

TEST(OutputQueue, SendsAReferenceFromWhereItLies) {
  OutputQueue queue;
  std::string payload = "payload";
  queue.append_reference(as_bytes(payload));
  std::array<Bytes, 1> pieces;
  ASSERT_EQ(queue.gather(pieces), 1u);
  EXPECT_EQ(static_cast<const void*>(pieces[0].data()), payload.data());
}

TEST(OutputQueue, JoinsNeighbouringCopiesIntoOnePiece) {
  OutputQueue queue;
  queue.append_copy(as_bytes("one"));
  queue.append_copy(as_bytes("two"));
  std::array<Bytes, 4> pieces;
  ASSERT_EQ(queue.gather(pieces), 1u);
  EXPECT_EQ(as_text(pieces[0]), "onetwo");
}

TEST(OutputQueue, MatchesAModelUnderRandomUseAndAnyStep) {
  std::mt19937 random(42);
  for (const std::size_t step : {1, 7, 1000, 100000}) {
    OutputQueue queue;
    std::deque<std::string> kept;
    std::string expected, seen;
    for (int i = 0; i < 300; ++i) {
      std::string piece(random() % (i % 50 == 0 ? 40000 : 300), static_cast<char>('a' + i % 26));
      expected += piece;
      if (i % 3 == 0) {
        kept.push_back(piece);
        queue.append_reference(as_bytes(kept.back()));
      } else {
        queue.append_copy(as_bytes(piece));
      }
      if (i % 20 == 19) seen += drain(queue, step);
    }
    seen += drain(queue, step);
    EXPECT_EQ(seen, expected) << step;
    EXPECT_EQ(queue.sent_total(), expected.size());
  }
}

TEST(OutputQueue, DetachCopiesWhatStillRefersToTheMemory) {
  OutputQueue queue;
  std::string payload = "0123456789", other = "other";
  queue.append_reference(as_bytes(payload));
  queue.append_reference(as_bytes(other));
  queue.consume(3);
  queue.detach(as_bytes(payload).subspan(5, 1));
  payload.assign(10, 'x');
  other = "OTHER";
  queue.append_copy(as_bytes("!"));
  EXPECT_EQ(drain(queue, 2), "3456789OTHER!");
}

TEST(OutputQueue, DetachFromAnEmptyArenaDoesNotLendTheCopyToLaterHeaders) {
  OutputQueue queue;
  std::string payload = "payload";
  queue.append_reference(as_bytes(payload));
  queue.detach(as_bytes(payload));
  queue.append_copy(as_bytes("xxxxxxxx"));
  EXPECT_EQ(drain(queue, 100), "payloadxxxxxxxx");
}

TEST(OutputQueue, ClearForgetsEverything) {
  OutputQueue queue;
  queue.append_copy(as_bytes("gone"));
  queue.clear();
  EXPECT_TRUE(queue.empty());
  queue.append_copy(as_bytes("new"));
  EXPECT_EQ(drain(queue, 1), "new");
}

}  // namespace
}  // namespace openiser
