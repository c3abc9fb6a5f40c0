// Stands before a queue pair whose wire cannot be seen, counts what goes through, and can find out
// that nothing is on its way any more: by an RDMA Read of nothing behind everything else, of which
// the test hears nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "rdmap/rcap.h"

namespace openiser::conformance {

class ObservedPair final : public rdmap::QueuePair, public rdmap::QueuePairClient {
 public:
  // `told` is called whenever the client has been told something, or the probe is back.
  ObservedPair(std::unique_ptr<rdmap::QueuePair> inner, std::function<void()> told)
      : inner_(std::move(inner)), told_(std::move(told)) {
    inner_->set_client(this);
  }

  std::uint64_t calls = 0;  // to the client
  bool is_open = false;
  bool ending = false;
  bool ended = false;
  // Works that are flushed and have not come back.
  std::uint64_t outstanding() const { return flushed_ - completed_; }

  // Not while there is what the test has not flushed.
  bool can_probe() const { return capabilities().outbound_reads > 0 && posted_ == flushed_; }
  void probe() {
    probing = true;
    inner_->post_read({.id = kProbe, .sink = {}, .source = {}});
    inner_->flush();
  }
  bool probing = false;

  // QueuePair.
  void set_client(rdmap::QueuePairClient* client) override { client_ = client; }
  rdmap::Capabilities capabilities() const override { return inner_->capabilities(); }
  Result<rdmap::MemoryRegion> register_memory(MutableBytes memory, rdmap::Access access) override {
    return inner_->register_memory(memory, access);
  }
  void post_receive(Buffer buffer, rdmap::WorkId id) override {
    inner_->post_receive(std::move(buffer), id);
  }
  void post_send(rdmap::SendWork work) override {
    ++posted_;
    inner_->post_send(std::move(work));
  }
  void post_write(rdmap::WriteWork work) override {
    ++posted_;
    inner_->post_write(std::move(work));
  }
  void post_read(rdmap::ReadWork work) override {
    ++posted_;
    inner_->post_read(std::move(work));
  }
  void flush() override {
    flushed_ = posted_;
    inner_->flush();
  }
  std::size_t poll(std::span<rdmap::Completion> out) override {
    std::size_t kept = 0;
    while (kept < out.size() && inner_->poll(out.subspan(kept, 1)) == 1) {
      rdmap::Completion& one = out[kept];
      if (one.kind == rdmap::Completion::Kind::read && one.id == kProbe) {
        probing = false;
        continue;
      }
      if (one.kind != rdmap::Completion::Kind::receive) ++completed_;
      ++kept;
    }
    polled_ += kept;
    return kept;
  }
  void disconnect(ErrorCode reason) override {
    ending = true;
    inner_->disconnect(reason);
  }

  // QueuePairClient.
  void established(const rdmap::Established& how) override {
    is_open = true;
    ++calls;
    if (client_) client_->established(how);
    told_();
  }
  void completions_ready() override {
    const std::uint64_t before = polled_;
    if (client_) client_->completions_ready();
    if (polled_ != before) ++calls;
    told_();
  }
  void disconnected(ErrorCode why) override {
    ended = true;
    ++calls;
    if (client_) client_->disconnected(why);
    told_();
  }

 private:
  static constexpr rdmap::WorkId kProbe = UINT64_MAX;

  void deregister(rdmap::Stag) override {}  // regions are the inner one's

  std::unique_ptr<rdmap::QueuePair> inner_;
  std::function<void()> told_;
  rdmap::QueuePairClient* client_ = nullptr;
  std::uint64_t posted_ = 0;
  std::uint64_t flushed_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t polled_ = 0;
};

}  // namespace openiser::conformance
