#include "rdmap/iwarp.h"
#include "tests/conformance/provider.h"
#include "tests/support/byte_shuttle.h"

namespace openiser::conformance {
namespace {

// How the simulated wire is.
struct Wire {
  const char* name;
  std::size_t chunk;
  std::uint32_t emss;
  std::size_t large;
  bool crc = true;
  bool markers_first = false;
  bool markers_second = false;
  std::uint8_t revision = 2;
};

constexpr Wire kWires[] = {
    {.name = "BytewiseSmallEmss", .chunk = 1, .emss = 136, .large = 20'003},
    {.name = "BytewiseMarkers",
     .chunk = 1,
     .emss = 536,
     .large = 20'003,
     .markers_first = true,
     .markers_second = true},
    {.name = "OddChunks", .chunk = 4093, .emss = 1460, .large = 300'001},
    {.name = "OddChunksMarkers",
     .chunk = 517,
     .emss = 1448,
     .large = 100'001,
     .markers_first = true,
     .markers_second = true},
    {.name = "MarkersOneWay", .chunk = 1000, .emss = 1460, .large = 100'001, .markers_first = true},
    {.name = "BigFrames", .chunk = 300'000, .emss = 65'483, .large = (3 << 20) + 5},
    {.name = "BigFramesOddChunks", .chunk = 7919, .emss = 65'483, .large = (1 << 20) + 3},
    {.name = "BigFramesNoCrc",
     .chunk = 100'000,
     .emss = 65'483,
     .large = (3 << 20) + 5,
     .crc = false},
    {.name = "BigFramesMarkers",
     .chunk = 70'000,
     .emss = 65'483,
     .large = (1 << 20) + 1,
     .markers_first = true,
     .markers_second = true},
    {.name = "JumboRevision1", .chunk = 20'000, .emss = 8948, .large = 700'001, .revision = 1},
    {.name = "Revision0", .chunk = 5000, .emss = 1460, .large = 100'001, .revision = 0},
};

std::vector<std::byte> text(std::string_view words) {
  const Bytes bytes = as_bytes(words);
  return {bytes.begin(), bytes.end()};
}

class SimulatedIwarp final : public Provider {
 public:
  SimulatedIwarp(const Wire& wire, const ProviderSettings& first, const ProviderSettings& second)
      : wire_(wire), shuttle_(wire.chunk, clock_) {
    first_ = make(rdmap::MpaRole::initiator, first, wire.markers_first, "from first");
    second_ = make(rdmap::MpaRole::responder, second, wire.markers_second, "from second");
  }
  rdmap::QueuePair& first() override { return *first_; }
  rdmap::QueuePair& second() override { return *second_; }
  void establish() override { shuttle_.join(*first_, *second_); }
  bool step() override { return shuttle_.step(); }
  std::size_t large() const override { return wire_.large; }
  bool cut() override {
    shuttle_.cut(make_error_code(boost::system::errc::connection_reset));
    return true;
  }

 private:
  std::unique_ptr<rdmap::IwarpQueuePair> make(rdmap::MpaRole role, const ProviderSettings& wanted,
                                              bool markers, std::string_view private_data) {
    rdmap::MpaSettings settings;
    settings.revision = wire_.revision;
    settings.crc = wire_.crc;
    settings.markers = markers;
    settings.emss = wire_.emss;
    settings.outbound_reads = static_cast<std::uint16_t>(wanted.outbound_reads);
    settings.inbound_reads = static_cast<std::uint16_t>(wanted.inbound_reads);
    settings.max_regions = wanted.max_regions;
    settings.zero_based_offsets = wanted.zero_based_offsets;
    settings.private_data = text(private_data);
    return make_iwarp_queue_pair(role, std::move(settings), clock_.now());
  }

  Wire wire_;
  ManualClock clock_;
  test::ByteShuttle shuttle_;
  std::unique_ptr<rdmap::IwarpQueuePair> first_;
  std::unique_ptr<rdmap::IwarpQueuePair> second_;
};

}  // namespace

std::vector<ProviderParam> simulated_iwarp_providers() {
  std::vector<ProviderParam> made;
  for (const Wire& wire : kWires) {
    made.push_back({std::string("SimulatedIwarp") + wire.name,
                    [&wire](const ProviderSettings& first, const ProviderSettings& second) {
                      return std::make_unique<SimulatedIwarp>(wire, first, second);
                    }});
  }
  return made;
}

}  // namespace openiser::conformance
