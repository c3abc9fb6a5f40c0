// Login over a byte stream: frames PDUs without digests and with the limits of the login phase
// (data segments of at most 8192 bytes, no AHS; RFC 7143 section 6.3), until the connection changes
// into its final mode. Login goes to and fro: after each PDU nothing is framed until it has been
// answered by send(), so what follows the last one is never taken for login.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "base/output_queue.h"
#include "base/stream_endpoint.h"
#include "iscsi/login/login.h"

namespace openiser::iscsi {

class StreamLoginChannel final : public LoginChannel, public StreamEndpoint {
 public:
  // What the channel tells its owner. Calls come from received() and the like, never from send().
  class Client {
   public:
    virtual void login_pdu(ControlPdu pdu) = 0;
    // The stream ended, or brought no login PDU: `why`. Comes once at most, and not after close()
    // or take_unread(); nothing is framed afterwards.
    virtual void login_stream_failed(ErrorCode why) = 0;

   protected:
    ~Client() = default;
  };

  // `already_read`: bytes the owner took from the stream to find out what it is.
  explicit StreamLoginChannel(Client& client, Bytes already_read = {});
  ~StreamLoginChannel() override;

  void send(ControlPdu pdu) override;
  // Sends what there is, then closes.
  void close();

  // For the change of mode: no PDU is framed any more; what has been read beyond the last PDU, and
  // what has not been sent yet, change hands.
  std::vector<std::byte> take_unread();
  std::vector<std::byte> take_unsent();

  void attach(StreamHost* host) override;
  std::size_t receive_space(std::span<MutableBytes> into) override;
  void received(std::size_t n, Time now) override;
  std::size_t gather(std::span<Bytes> out) override;
  void sent(std::size_t n, Time now) override;
  void transport_closed(ErrorCode why, Time now) override;
  std::optional<Time> deadline() const override;
  void expired(Time now) override;
  CloseWish close_wish() const override;

 private:
  static constexpr std::array<std::byte, 3> kZeros{};

  std::optional<Bhs> header() const;
  ErrorCode fault() const;
  bool whole_pdu() const;
  void frame();
  void fail(ErrorCode why);
  void attention();

  Client& client_;
  StreamHost* host_ = nullptr;
  std::vector<std::byte> input_;  // of fixed size; of it are
  std::size_t input_used_ = 0;    // received and not framed
  OutputQueue output_;
  bool first_ = true;           // no PDU has been framed
  bool awaits_answer_ = false;  // one has been and was not answered
  bool closing_ = false;
  bool stopped_ = false;
};

}  // namespace openiser::iscsi
