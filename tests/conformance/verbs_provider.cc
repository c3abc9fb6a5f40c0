// An RDMA device, both ends on one event loop. The address that it has is in
// OPENISER_VERBS_ADDRESS; OPENISER_VERBS_LACKS names what it cannot do: "invalidated"
// (tells_invalidated), "read-access" (checks_read_access), "read-end" (ends_reads_with_region).
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "rdmap/tcp/event_loop.h"
#include "rdmap/verbs/verbs.h"
#include "tests/conformance/observed_pair.h"
#include "tests/conformance/provider.h"

namespace openiser::conformance {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

bool lacks(const char* word) {
  return variable("OPENISER_VERBS_LACKS").find(word) != std::string::npos;
}

class Verbs final : public Provider {
 public:
  Verbs(const ProviderSettings& first, const ProviderSettings& second)
      : second_settings_(settings_of(second, "from second")) {
    const std::string address = variable("OPENISER_VERBS_ADDRESS");
    auto listener = rdmap::VerbsListener::open(
        loop_, address, 0, [this](rdmap::VerbsRequest request) { accept(std::move(request)); });
    listener_ = std::move(listener.value());
    connect_ =
        std::make_unique<rdmap::VerbsConnect>(loop_, pool_, address, listener_->port(),
                                              settings_of(first, "from first"), [this](auto made) {
                                                pairs_[0] = observed(std::move(made));
                                                if (!pairs_[0]) loop_.stop();
                                              });
    loop_.run();
    if (!pairs_[0] || !pairs_[1])
      throw std::runtime_error("no queue pairs on " + address + ": " + why_.message());
  }
  ~Verbs() override {
    for (auto& pair : pairs_) pair.reset();
  }

  rdmap::QueuePair& first() override { return *pairs_[0]; }
  rdmap::QueuePair& second() override { return *pairs_[1]; }
  std::size_t large() const override { return 200'001; }
  // It goes on as soon as the loop runs.
  void establish() override { begun_ = true; }

  bool step() override {
    if (!begun_) return false;
    const std::uint64_t before = calls();
    // So often that what is ready is found, and then done.
    for (int n = 0; n < 4 && calls() == before; ++n) {
      loop_.post([this] { loop_.stop(); });
      loop_.run();
    }
    // Generous; reached only when something is broken.
    const Time give_up = loop_.now() + std::chrono::seconds(30);
    rdmap::Timer guard(loop_, [this] { loop_.stop(); });
    guard.set(give_up);
    std::size_t probed = 0;
    while (calls() == before && loop_.now() < give_up) {
      if (quiet() && (over() || !probe(probed))) break;
      loop_.run();
    }
    return calls() != before;
  }

  bool tells_reasons() const override { return false; }
  bool tells_solicited_events() const override { return false; }
  bool tells_invalidated() const override { return !lacks("invalidated"); }
  bool checks_read_access() const override { return !lacks("read-access"); }
  bool ends_reads_with_region() const override { return !lacks("read-end"); }
  bool refuses_second_invalidation() const override { return false; }
  bool has_zero_based_offsets() const override { return false; }
  bool pads_private_data() const override { return true; }

 private:
  using Pair = std::unique_ptr<ObservedPair>;

  static rdmap::VerbsSettings settings_of(const ProviderSettings& wanted, std::string_view shown) {
    rdmap::VerbsSettings settings;
    settings.outbound_reads = static_cast<std::uint16_t>(wanted.outbound_reads);
    settings.inbound_reads = static_cast<std::uint16_t>(wanted.inbound_reads);
    settings.max_regions = wanted.max_regions;
    const Bytes bytes = as_bytes(shown);
    settings.private_data.assign(bytes.begin(), bytes.end());
    return settings;
  }
  Pair observed(Result<std::unique_ptr<rdmap::VerbsQueuePair>> made) {
    if (!made) {
      why_ = made.error();
      return nullptr;
    }
    return std::make_unique<ObservedPair>(std::move(*made), [this] { loop_.stop(); });
  }
  // The peer is told when the loop runs again.
  void accept(rdmap::VerbsRequest request) {
    pairs_[1] = observed(request.accept(loop_, pool_, second_settings_));
    loop_.stop();
  }

  std::uint64_t calls() const { return pairs_[0]->calls + pairs_[1]->calls; }
  bool over() const { return pairs_[0]->ended && pairs_[1]->ended; }
  // Nothing is being done that either end knows of.
  bool quiet() const {
    const ObservedPair &a = *pairs_[0], &b = *pairs_[1];
    if (over()) return true;
    if (!a.is_open || !b.is_open || a.ending || b.ending || a.ended || b.ended) return false;
    return a.outstanding() + b.outstanding() == 0 && !a.probing && !b.probing;
  }
  // An end's Read goes behind all that it has sent, and the response behind all that the other has;
  // both ends read, so that each has looked at all that came before. False if all have.
  bool probe(std::size_t& probed) {
    while (probed < 2) {
      ObservedPair& next = *pairs_[probed++];
      if (!next.can_probe()) continue;
      next.probe();
      return true;
    }
    return false;
  }

  rdmap::EventLoop loop_;
  BufferPool pool_;
  rdmap::VerbsSettings second_settings_;
  ErrorCode why_;
  std::unique_ptr<rdmap::VerbsListener> listener_;
  std::unique_ptr<rdmap::VerbsConnect> connect_;
  Pair pairs_[2];
  bool begun_ = false;
};

}  // namespace

std::vector<ProviderParam> verbs_providers() {
  if (variable("OPENISER_VERBS_ADDRESS").empty()) return {};
  return {{"Verbs", [](const ProviderSettings& first, const ProviderSettings& second) {
             return std::make_unique<Verbs>(first, second);
           }}};
}

}  // namespace openiser::conformance
