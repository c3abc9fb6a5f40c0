// Anything the other side may send before the login is over: over a byte stream, to a target or to
// an initiator.
//
// Input: flags, step, then the stream.
#include "iscsi/login/login.h"
#include "iscsi/login/stream_login_channel.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/stream_feeder.h"

namespace openiser {
namespace {

enum Flags : std::uint8_t {
  rdma_connection = 1,
  initiator = 2,
  discovery = 4,
  rdma_extensions = 8,
  rdma_required = 16,
  rfc7145 = 32,
  unknown_target = 64,
  refuses = 128,
};

// For want of a bit: a target that both refuses and has no such target demands CHAP instead, and an
// initiator, which refuses nobody, has it.
bool with_chap(std::uint8_t flags) {
  return (flags & refuses) != 0 && (flags & (initiator | unknown_target)) != 0;
}

iscsi::SharedChapSettings chap_settings() {
  iscsi::ChapSettings settings;
  settings.initiators.push_back({"user", Secret(as_bytes("a-secret-of-the-user"))});
  settings.target = iscsi::ChapAccount{"target", Secret(as_bytes("that-of-the-target"))};
  settings.random = [](MutableBytes bytes) {
    for (std::byte& b : bytes) b = std::byte{0x5a};
    return true;
  };
  return std::make_shared<const iscsi::ChapSettings>(std::move(settings));
}

iscsi::Preferences preferences_of(std::uint8_t flags) {
  iscsi::Preferences wanted;
  wanted.rdma_extensions = (flags & rdma_extensions) != 0;
  wanted.rdma_required = wanted.rdma_extensions && (flags & rdma_required) != 0;
  wanted.rfc7145 = (flags & rfc7145) != 0;
  wanted.iser_hello_required = wanted.tagged_buffer_for_solicited_data_only = wanted.rfc7145;
  wanted.max_outstanding_unexpected_pdus = 16;
  wanted.header_digest_crc32c = wanted.data_digest_crc32c = true;
  return wanted;
}

class Login : public iscsi::StreamLoginChannel::Client {
 public:
  iscsi::StreamLoginChannel& channel() { return channel_; }
  void login_stream_failed(ErrorCode) override {}
  void login_pdu(iscsi::ControlPdu pdu) override {
    if (!over_) take(receive(pdu));
  }

 protected:
  virtual iscsi::LoginStep receive(const iscsi::ControlPdu& pdu) = 0;
  void take(iscsi::LoginStep step) {
    if (step.send) channel_.send(std::move(*step.send));
    over_ = step.outcome != iscsi::LoginStep::Outcome::going_on;
    if (over_) channel_.close();
  }

 private:
  bool over_ = false;
  iscsi::StreamLoginChannel channel_{*this};
};

class Target final : public Login, public iscsi::LoginAuthority {
 public:
  explicit Target(std::uint8_t flags)
      : flags_(flags),
        login_(preferences_of(flags), *this, (flags & rdma_connection) != 0, fuzz::kStart) {}

  Verdict identify(const Request&) override {
    if ((flags_ & unknown_target) == 0) return {};
    if (with_chap(flags_)) {
      Verdict verdict;
      verdict.chap = chap_settings();
      return verdict;
    }
    return {.error = iscsi::errc::login_target_not_found,
            .target_alias = "a",
            .target_portal_group_tag = 1,
            .chap = nullptr};
  }

 private:
  iscsi::LoginStep receive(const iscsi::ControlPdu& pdu) override {
    iscsi::LoginStep step = login_.receive(pdu, fuzz::kStart);
    if (step.outcome != iscsi::LoginStep::Outcome::authorize) return step;
    return (flags_ & refuses) != 0 && !with_chap(flags_)
               ? login_.refuse(iscsi::errc::login_out_of_resources)
               : login_.grant(1, 64);
  }
  const std::uint8_t flags_;
  iscsi::TargetLogin login_;
};

class Initiator final : public Login {
 public:
  explicit Initiator(std::uint8_t flags)
      : login_(identity(flags), preferences_of(flags), (flags & rdma_connection) != 0,
               fuzz::kStart) {
    take(login_.start(fuzz::kStart));
  }

 private:
  static iscsi::InitiatorIdentity identity(std::uint8_t flags) {
    iscsi::InitiatorIdentity identity;
    identity.initiator_name = "iqn.2026-11.org.example:i";
    if ((flags & discovery) == 0) identity.target_name = "iqn.2026-11.org.example:x";
    if (with_chap(flags)) identity.chap = chap_settings();
    return identity;
  }
  iscsi::LoginStep receive(const iscsi::ControlPdu& pdu) override {
    return login_.receive(pdu, fuzz::kStart);
  }
  iscsi::InitiatorLogin login_;
};

void run(Login& login, ByteReader in) {
  fuzz::Feeder feeder(login.channel(), fuzz::step_of(in.u8()), fuzz::kStart);
  feeder.feed(in.rest());
  feeder.close();
}

}  // namespace
}  // namespace openiser

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace openiser;
  if (size < 2) return 0;
  ByteReader in = fuzz::input_of(data, size);
  const std::uint8_t flags = in.u8();
  if ((flags & initiator) != 0) {
    Initiator login(flags);
    run(login, in);
  } else {
    Target login(flags);
    run(login, in);
  }
  return 0;
}
