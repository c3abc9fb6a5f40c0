// A queue pair against any bytes at all. LLVMFuzzerTestOneInput() is what a fuzzer calls; built by
// g++ it is driven by a seeded mutator over a stream in which everything occurs. Whatever comes:
// no access out of bounds, no assertion, all leases back, one end, bounded output.
#include <map>
#include <random>

#include "rdmap/wire/fpdu.h"
#include "tests/unit/rdmap/core_support.h"

namespace openiser::rdmap::core_test {
namespace {

// A region whose STag the mutated stream can name: streams are made with kStagMark where it goes.
constexpr std::uint32_t kStagMark = 0x57a657a6;
constexpr Stag kMarked{kStagMark};
constexpr std::size_t kRegion = 40'000;

void put_stag(ByteVector& bytes, Stag stag) {
  for (std::size_t i = 0; i + 4 <= bytes.size(); ++i) {
    if (load_be32(bytes.data() + i) == kStagMark) store_be32(bytes.data() + i, stag.value);
  }
}

// Drives one queue pair with `input`: its first octet chooses role, CRC, markers and the size of
// the pieces that the rest is given in.
class Drive {
 public:
  explicit Drive(Bytes input) {
    const auto options = input.empty() ? 0u : static_cast<unsigned>(input[0]);
    MpaSettings settings;
    settings.revision = 1;
    settings.crc = (options & 1) != 0;
    settings.markers = (options & 2) != 0;
    settings.zero_based_offsets = true;
    settings.inbound_reads = 4;
    pair_ = make_iwarp_queue_pair((options & 4) != 0 ? MpaRole::initiator : MpaRole::responder,
                                  settings, clock_.now());
    client_.emplace(*pair_);
    auto region = pair_->register_memory(memory_, Access::remote_read_write);
    region_ = std::move(*region);
    post();
    static constexpr std::size_t kChunks[] = {1, 7, 100, 1460, 5000, 20'000, 70'000, 1u << 20};
    chunk_ = kChunks[options >> 5];
    bytes_.assign(input.begin() + (input.empty() ? 0 : 1), input.end());
    put_stag(bytes_, region_.stag());
  }

  // Gives what the client was told of the end.
  ErrorCode run(bool end_region = true) {
    pair_->attach(nullptr);
    std::size_t at = 0;
    for (int turn = 0; at < bytes_.size(); ++turn) {
      at += give(Bytes(bytes_).subspan(at));
      if (turn % 16 == 15) take();
      if (end_region && turn == 300) region_.invalidate();
    }
    take();
    pair_->transport_closed({}, clock_.now());
    region_.invalidate();
    EXPECT_TRUE(client_->why());
    EXPECT_EQ(client_->completions.size(), posted_);
    client_->completions.clear();
    EXPECT_EQ(leases_.out, 0);
    return client_->why().value_or(ErrorCode());
  }

 private:
  void post() {
    // The last is used first.
    for (const std::size_t size : {3000u, 100u, 20'000u, 100u}) {
      pair_->post_receive(leases_.lease(size), ++posted_);
    }
    for (int n = 0; n < 3; ++n) {
      pair_->post_read(
          {.id = ++posted_, .sink = leases_.lease(20'000), .source = {Stag{0x01020304}, 0}});
    }
    pair_->post_send({.id = ++posted_,
                      .head = leases_.lease(50),
                      .body = leases_.lease(3000),
                      .invalidate = std::nullopt});
    pair_->flush();
  }

  std::size_t give(Bytes rest) {
    std::array<MutableBytes, 3> places;
    const std::size_t count = pair_->receive_space(places);
    std::size_t given = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t n = std::min({places[i].size(), rest.size() - given, chunk_ - given});
      std::ranges::copy(rest.subspan(given, n), places[i].begin());
      given += n;
    }
    EXPECT_GT(given, 0u);
    pair_->received(given, clock_.now());
    return given == 0 ? rest.size() : given;
  }

  void take() {
    std::array<Bytes, 64> pieces;
    std::size_t count;
    while ((count = pair_->gather(pieces)) > 0) {
      std::size_t taken = 0;
      for (std::size_t i = 0; i < count; ++i) taken += pieces[i].size();
      sent_ += taken;
      pair_->sent(taken, clock_.now());
    }
    // Four reads of the region at a time, in a stream of at most a few hundred requests.
    EXPECT_LT(sent_, std::size_t{1} << 30);
  }

  ManualClock clock_;
  test::CountingOwner leases_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(kRegion);
  std::unique_ptr<IwarpQueuePair> pair_;
  std::optional<test::RecordingClient> client_;
  MemoryRegion region_;
  ByteVector bytes_;
  std::size_t chunk_ = 1;
  std::size_t sent_ = 0;
  std::uint64_t posted_ = 0;
};

}  // namespace
}  // namespace openiser::rdmap::core_test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using openiser::rdmap::core_test::Drive;
  Drive({reinterpret_cast<const std::byte*>(data), size}).run();
  return 0;
}

namespace openiser::rdmap::core_test {
namespace {

// A valid stream of everything a peer may send, with the octet of options in front.
class Corpus {
 public:
  explicit Corpus(std::uint8_t options)
      : options_(options), framer_((options & 1) != 0, (options & 2) != 0) {
    // The STag is put in later, which a CRC would tell of: no region where there is one.
    const bool region = (options & 1) == 0;
    add(write_header({}, 0));
    add(send_header(1) + to_hex(noise(100)));
    if (region) add(write_header(kMarked, 5) + to_hex(noise(1300)));
    if (region) add(write_header(kMarked, 0) + to_hex(noise(30'000)));
    add(read_request(1, 0, {}, 0));
    if (region) add(read_request(2, 5000, kMarked, 100));
    add(send_header(2, 0, false) + to_hex(noise(18'000)));
    add(send_header(2, 18'000) + to_hex(noise(2000)));
    if (region) add(read_request(3, 40'000, kMarked, 0));
    add("4145"
        "00000000"
        "00000000"
        "00000003"
        "00000000" +
        to_hex(noise(10)));
    add((region ? "4146" + be32_hex(kStagMark)
                : std::string("4145"
                              "00000000")) +
        "00000000"
        "00000004"
        "00000000" +
        to_hex(noise(3000)));
    add("414700000000000000020000000100000000"
        "02080000");
  }

  ByteVector stream() const {
    const std::string flags = std::string((options_ & 1) != 0 ? "40" : "00") + "010000";
    const std::string key = (options_ & 4) != 0 ? kReplyKey : kRequestKey;
    ByteVector whole{static_cast<std::byte>(options_)};
    return whole + hex(key + flags) + framer_.stream;
  }

 private:
  void add(const std::string& ulpdu) { framer_.add(hex(ulpdu)); }
  std::uint8_t options_;
  test::SlowFramer framer_;
};

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  ByteVector operator()(ByteVector bytes) {
    for (unsigned n = below(4) + 1; n > 0 && bytes.size() > 2; --n) mutate(bytes);
    return bytes;
  }

 private:
  unsigned below(std::size_t limit) { return static_cast<unsigned>(random_() % limit); }
  std::ptrdiff_t place(const ByteVector& bytes) {
    // Most of the stream is payload; headers lie where FPDUs begin, so aim at the front often.
    const std::size_t range = below(2) ? bytes.size() : std::min<std::size_t>(bytes.size(), 400);
    return static_cast<std::ptrdiff_t>(below(range));
  }
  void mutate(ByteVector& bytes) {
    const std::ptrdiff_t at = place(bytes);
    switch (below(6)) {
      case 0:
        bytes[static_cast<std::size_t>(at)] ^= static_cast<std::byte>(1u << below(8));
        break;
      case 1:
        bytes[static_cast<std::size_t>(at)] = static_cast<std::byte>(below(256));
        break;
      case 2:
        bytes.resize(static_cast<std::size_t>(at) + 1);
        break;
      case 3:
        bytes.erase(bytes.begin() + at);
        break;
      case 4:
        bytes.insert(bytes.begin() + at, below(300), static_cast<std::byte>(below(256)));
        break;
      default: {
        const std::ptrdiff_t from = place(bytes);
        const auto size =
            std::min<std::ptrdiff_t>(below(2000), static_cast<std::ptrdiff_t>(bytes.size()) - from);
        const ByteVector piece(bytes.begin() + from, bytes.begin() + from + size);
        bytes.insert(bytes.begin() + at, piece.begin(), piece.end());
      }
    }
  }
  std::mt19937 random_;
};

// Made once: the framer works a bit at a time.
const ByteVector& corpus(std::uint8_t options) {
  static std::map<std::uint8_t, ByteVector> made;
  ByteVector& stream = made[options];
  if (stream.empty()) stream = Corpus(options).stream();
  return stream;
}

// Else the mutations would start from something that is thrown out at its first octet.
TEST(CoreFuzz, TheUnmutatedStreamsAreGoodToTheirEnd) {
  for (unsigned options = 0; options < 256; options += options % 8 == 7 ? 25 : 1) {
    // What the Terminate tells that is the last thing in them.
    EXPECT_EQ(Drive(corpus(static_cast<std::uint8_t>(options))).run(false),
              errc::rdmap_global_catastrophic)
        << options;
  }
}

TEST(CoreFuzz, MutatedStreams) {
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    // Without CRC most mutations get as far as the headers.
    auto options = static_cast<std::uint8_t>((seed * 37) & 0xe7);
    if (seed % 4 != 0) options &= 0xfe;
    Drive(Mutator(seed)(corpus(options))).run();
    if (::testing::Test::HasFailure()) break;
  }
}

// Headers alone, well framed: every field wrong in turn.
TEST(CoreFuzz, MutatedHeadersInGoodFrames) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const auto options = static_cast<std::uint8_t>(round & 0xe5);
    test::SlowFramer framer((options & 1) != 0, false);
    for (int n = 0; n < 6; ++n) {
      ByteVector ulpdu =
          hex(random() % 2
                  ? read_request(random() % 3, random() % 50'000, kMarked, random() % 50'000)
                  : send_header(random() % 3, random() % 100, random() % 2)) +
          noise(random() % 60);
      if (random() % 2) ulpdu[random() % 18] = static_cast<std::byte>(random());
      if (random() % 3 == 0) ulpdu.resize(random() % ulpdu.size());
      framer.add(ulpdu);
    }
    const std::string flags = std::string((options & 1) != 0 ? "40" : "00") + "010000";
    const std::string key = (options & 4) != 0 ? kReplyKey : kRequestKey;
    ByteVector whole{static_cast<std::byte>(options)};
    Drive(whole + hex(key + flags) + framer.stream).run();
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace openiser::rdmap::core_test
