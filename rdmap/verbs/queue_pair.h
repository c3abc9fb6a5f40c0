// A queue pair on an RDMA device: joins the queues of this folder, and owns the order of things at
// the start and at the end.
#pragma once

#include <memory>
#include <optional>

#include "rdmap/core/work_queue.h"
#include "rdmap/tcp/event_loop.h"
#include "rdmap/verbs/cm.h"
#include "rdmap/verbs/exposed_regions.h"
#include "rdmap/verbs/posted_receives.h"
#include "rdmap/verbs/protection_domain.h"
#include "rdmap/verbs/send_queue.h"
#include "rdmap/verbs/verbs.h"

namespace openiser::rdmap {

// What the peer's request offers.
struct PeerOffer {
  std::uint16_t inbound_reads = 0;
  std::uint16_t outbound_reads = 0;
  std::vector<std::byte> private_data;
};

class DeviceQueuePair final : public VerbsQueuePair {
 public:
  // `id` has its device, and a channel of its own. With an offer it accepts, else it connects, once
  // the caller has returned to the loop.
  static Result<std::unique_ptr<VerbsQueuePair>> make(EventLoop& loop, BufferPool& pool,
                                                      VerbsSettings settings, CmId id,
                                                      std::optional<PeerOffer> offer);
  ~DeviceQueuePair() override;

  void set_client(QueuePairClient* client) override { client_ = client; }
  Capabilities capabilities() const override { return capabilities_; }
  Result<MemoryRegion> register_memory(MutableBytes memory, Access access) override;
  void post_receive(Buffer buffer, WorkId id) override;
  void post_send(SendWork work) override { post(Work::of(std::move(work))); }
  void post_write(WriteWork work) override { post(Work::of(std::move(work))); }
  void post_read(ReadWork work) override { post(Work::of(std::move(work))); }
  void flush() override;
  std::size_t poll(std::span<Completion> out) override { return completions_.poll(out); }
  void disconnect(ErrorCode reason) override;
  std::string local_address() const override { return local_address_; }
  std::string peer_address() const override { return peer_address_; }

 private:
  enum class State {
    starting,  // the connection is being set up
    open,
    closing,  // disconnect() was called: what is flushed is still done
    parting,  // the connection manager is ending the connection
    ended,
  };
  // Completions handled before other connections of the loop get their turn.
  static constexpr std::size_t kMostPerTurn = 256;
  // From the decision to end until everything is dropped, as with our own RDMAP.
  static constexpr Duration kCloseTimeout = std::chrono::seconds(5);

  DeviceQueuePair(EventLoop& loop, VerbsSettings settings, CmId id,
                  std::shared_ptr<ProtectionDomain> domain, std::optional<PeerOffer> offer);
  Status create(std::uint32_t inlined);
  Status create_queue_pair(std::uint32_t inlined);
  void watch();
  void deregister(Stag stag) override;
  void post(Work&& work);

  // The set-up.
  void begin();
  void established(const CmEvent& event);
  void settle_reads(std::uint16_t inbound, std::uint16_t outbound);
  rdma_conn_param parameters() const;

  // Turns.
  void events_ready();
  void handle(const CmEvent& event);
  void completions_ready();
  void turn();
  std::size_t take_completions(std::size_t most);
  void take(const ibv_wc& completion);
  void pump();
  void finish_turn();
  void look_again();

  // The end.
  void fail(ErrorCode why);
  void part();
  void peer_parted();
  bool device_gave_up() const;
  void end();
  void close_device();

  EventLoop& loop_;
  VerbsSettings settings_;
  std::optional<PeerOffer> offer_;
  std::string local_address_;
  std::string peer_address_;
  CmId cm_;
  std::shared_ptr<ProtectionDomain> domain_;
  Owned<ibv_comp_channel> events_;
  Owned<ibv_cq> device_completions_;
  Capabilities capabilities_;

  CompletionQueue completions_;
  SendQueue sends_;
  PostedReceives receives_;
  ExposedRegions regions_;
  std::uint32_t receive_depth_ = 0;
  std::uint32_t inlined_ = 0;

  QueuePairClient* client_ = nullptr;
  State state_ = State::starting;
  // Why it ends; the first reason stays.
  std::optional<ErrorCode> why_;
  bool end_now_ = false;
  // The device flushed what it had without being told to.
  bool broken_ = false;
  bool in_turn_ = false;
  bool look_posted_ = false;

  Timer deadline_;
  std::unique_ptr<ReadableWatch> event_watch_;
  std::unique_ptr<ReadableWatch> completion_watch_;
  std::optional<RemovalNotice> removal_;
  // Gone with this: what is posted to the loop looks here first.
  std::shared_ptr<DeviceQueuePair*> self_;
};

}  // namespace openiser::rdmap
