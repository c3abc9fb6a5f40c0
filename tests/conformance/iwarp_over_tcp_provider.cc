// Our RDMAP over real TCP on loopback, both ends on one event loop.
#include "rdmap/iwarp.h"
#include "rdmap/tcp/event_loop.h"
#include "rdmap/tcp/tcp.h"
#include "tests/conformance/provider.h"
#include "tests/support/tcp.h"

namespace openiser::conformance {
namespace {

// Stands before an endpoint and counts what goes through, so that the test knows when no byte is on
// its way any more.
class Tap final : public StreamEndpoint {
 public:
  Tap(StreamEndpoint& inner, rdmap::EventLoop& loop) : inner_(inner), loop_(loop) {}

  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t calls = 0;
  bool closed = false;

  // It has nothing to do before something is done to it.
  bool waits() {
    Bytes piece;
    const auto due = inner_.deadline();
    return closed || (inner_.close_wish() == CloseWish::none && inner_.gather({&piece, 1}) == 0 &&
                      (!due || *due > loop_.now()));
  }

  void attach(StreamHost* host) override { inner_.attach(host); }
  std::size_t receive_space(std::span<MutableBytes> into) override {
    return inner_.receive_space(into);
  }
  void received(std::size_t n, Time now) override {
    bytes_received += n;
    inner_.received(n, now);
    pause();
  }
  std::size_t gather(std::span<Bytes> out) override { return inner_.gather(out); }
  void sent(std::size_t n, Time now) override {
    bytes_sent += n;
    inner_.sent(n, now);
    pause();
  }
  void transport_closed(ErrorCode why, Time now) override {
    closed = true;
    inner_.transport_closed(why, now);
    pause();
  }
  std::optional<Time> deadline() const override { return inner_.deadline(); }
  void expired(Time now) override {
    inner_.expired(now);
    pause();
  }
  CloseWish close_wish() const override { return inner_.close_wish(); }

 private:
  void pause() {
    ++calls;
    loop_.stop();
  }
  StreamEndpoint& inner_;
  rdmap::EventLoop& loop_;
};

struct Link {
  const char* name;
  std::size_t large;
  bool crc;
  bool markers;
  bool own_emss;  // that of the connection, or that of an Ethernet
};

constexpr Link kLinks[] = {
    {.name = "", .large = (3 << 20) + 5, .crc = true, .markers = false, .own_emss = true},
    {.name = "EthernetFrames",
     .large = (1 << 20) + 5,
     .crc = true,
     .markers = false,
     .own_emss = false},
    {.name = "Markers", .large = (1 << 20) + 5, .crc = true, .markers = true, .own_emss = false},
    {.name = "NoCrc", .large = (3 << 20) + 5, .crc = false, .markers = false, .own_emss = true},
};

class IwarpOverTcp final : public Provider {
 public:
  IwarpOverTcp(const Link& link, const ProviderSettings& first, const ProviderSettings& second)
      : link_(link), sockets_(test::connected_pair()) {
    pairs_[0] = make(rdmap::MpaRole::initiator, first, "from first");
    pairs_[1] = make(rdmap::MpaRole::responder, second, "from second");
  }
  ~IwarpOverTcp() override {
    for (auto& driver : drivers_) driver.reset();
  }
  rdmap::QueuePair& first() override { return *pairs_[0]; }
  rdmap::QueuePair& second() override { return *pairs_[1]; }
  std::size_t large() const override { return link_.large; }

  void establish() override {
    for (std::size_t i = 0; i < 2; ++i) {
      taps_[i] = std::make_unique<Tap>(*pairs_[i], loop_);
      drivers_[i] = std::make_unique<rdmap::TcpDriver>(
          loop_, std::move(i == 0 ? sockets_.first : sockets_.second), nullptr);
      drivers_[i]->drive(*taps_[i]);
    }
  }

  bool step() override {
    if (!taps_[0]) return false;
    const std::uint64_t before = calls();
    loop_.post([this] { loop_.stop(); });
    loop_.run();
    // A generous limit for bytes that are on their way; reached only when something is broken.
    const Time give_up = loop_.now() + std::chrono::seconds(10);
    rdmap::Timer guard(loop_, [this] { loop_.stop(); });
    guard.set(give_up);
    while (calls() == before && !quiet() && loop_.now() < give_up) loop_.run();
    return calls() != before;
  }

 private:
  std::uint64_t calls() const { return taps_[0]->calls + taps_[1]->calls; }
  bool quiet() {
    if (taps_[0]->closed != taps_[1]->closed) return false;
    if (taps_[0]->closed) return true;
    return taps_[0]->waits() && taps_[1]->waits() &&
           taps_[0]->bytes_sent == taps_[1]->bytes_received &&
           taps_[1]->bytes_sent == taps_[0]->bytes_received;
  }

  std::unique_ptr<rdmap::IwarpQueuePair> make(rdmap::MpaRole role, const ProviderSettings& wanted,
                                              std::string_view private_data) {
    rdmap::MpaSettings settings;
    settings.crc = link_.crc;
    settings.markers = link_.markers;
    if (link_.own_emss) settings.emss = sockets_.first.emss();
    settings.outbound_reads = static_cast<std::uint16_t>(wanted.outbound_reads);
    settings.inbound_reads = static_cast<std::uint16_t>(wanted.inbound_reads);
    settings.max_regions = wanted.max_regions;
    settings.zero_based_offsets = wanted.zero_based_offsets;
    const Bytes shown = as_bytes(private_data);
    settings.private_data.assign(shown.begin(), shown.end());
    return make_iwarp_queue_pair(role, std::move(settings), loop_.now());
  }

  Link link_;
  rdmap::EventLoop loop_;
  test::SocketPair sockets_;
  std::array<std::unique_ptr<rdmap::IwarpQueuePair>, 2> pairs_;
  std::array<std::unique_ptr<Tap>, 2> taps_;
  std::array<std::unique_ptr<rdmap::TcpDriver>, 2> drivers_;
};

}  // namespace

std::vector<ProviderParam> iwarp_over_tcp_providers() {
  std::vector<ProviderParam> made;
  for (const Link& link : kLinks) {
    made.push_back({std::string("IwarpOverTcp") + link.name,
                    [&link](const ProviderSettings& first, const ProviderSettings& second) {
                      return std::make_unique<IwarpOverTcp>(link, first, second);
                    }});
  }
  return made;
}

}  // namespace openiser::conformance
