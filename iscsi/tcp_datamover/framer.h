// From a byte stream to PDUs (RFC 7143 section 11.2): header, additional header segments, header
// digest, data segment, padding, data digest, however the stream cuts them.
//
// Headers and small PDUs are received into a staging buffer, many at a time, and parsed there. When
// the header of a large data segment has been parsed, the rest of the segment is received straight
// to where it belongs. Digests are computed as the bytes come, in one pass.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/result.h"
#include "iscsi/pdu/pdu.h"

namespace openiser::iscsi {

// Where the data segment of a PDU goes.
struct Placement {
  enum class Kind : std::uint8_t {
    collect,  // a buffer from the pool, which becomes ControlPdu::data
    place,    // `memory`, which has the data segment's length
    drop,     // nowhere
  };
  Kind kind = Kind::collect;
  MutableBytes memory;
};

class PduFramer {
 public:
  class Client {
   public:
    // A header is complete and its digest right, its data segment within the limit. An error ends
    // the connection. Must not call the framer.
    virtual Result<Placement> header_arrived(const Bhs& bhs) = 0;
    // The whole PDU has come. `kind`: what was done with its data in the end. May call stop().
    virtual Status pdu_arrived(ControlPdu pdu, Placement::Kind kind) = 0;

   protected:
    ~Client() = default;
  };

  struct Settings {
    bool header_digest = false;
    bool data_digest = false;
    // Largest DataSegmentLength we declared; padding is not counted.
    std::uint32_t max_data_segment = 8192;
  };

  PduFramer(Client& client, Settings settings, BufferPool& pool);

  // As in StreamEndpoint. An error of received() is final.
  std::size_t receive_space(std::span<MutableBytes> into);
  Status received(std::size_t n);

  // The memory of the PDU under way is no longer ours to write: what is left of it is dropped.
  void drop_rest();
  // Nothing is parsed any more; what comes is discarded.
  void stop() { state_ = State::stopped; }

 private:
  enum class State : std::uint8_t { header, data, trailer, stopped };

  enum class Step : std::uint8_t { advanced, needs_more };

  Result<Step> step();
  Result<Step> take_header();
  Status begin_data();
  Result<Step> take_data();
  Result<Step> take_trailer();
  std::size_t trailer_size() const;
  Bytes staged() const { return staging_.bytes().subspan(begin_, end_ - begin_); }
  Bytes consume(std::size_t n);
  void compact();

  Client& client_;
  const Settings settings_;
  BufferPool& pool_;

  State state_ = State::header;
  Buffer staging_;
  std::size_t begin_ = 0;  // of what is staged and not parsed
  std::size_t end_ = 0;
  std::size_t direct_space_ = 0;  // of what receive_space() offered, the part that is not staging

  // The PDU under way.
  ControlPdu pdu_;
  Placement::Kind kind_ = Placement::Kind::collect;
  MutableBytes unfilled_;    // rest of its place
  std::size_t missing_ = 0;  // bytes of the data segment that have not come
  Crc32c digest_;
};

}  // namespace openiser::iscsi
