// How a logical text travels in login PDUs, both ways and for both roles: pieces of at most 8192
// bytes, all but the last with C=1, each answered by an empty PDU (RFC 7143 section 6.2). A peer
// may send 64 KiB in one login.
#pragma once

#include <string>
#include <utility>

#include "iscsi/errors.h"
#include "iscsi/pdu/pdu.h"
#include "iscsi/pdu/text.h"

namespace openiser::iscsi {

// Data segments are limited to the default MaxRecvDataSegmentLength (RFC 7143 section 6.3).
inline constexpr std::size_t kLoginSegment = 8192;
inline constexpr std::size_t kMaxLoginText = 65536;
// Request and response pairs a login may take: eight full texts and plenty of questions.
inline constexpr int kMaxLoginExchanges = 64;

class TextExchange {
 public:
  // --- receiving ---
  // One data segment. Fails if it is too long, or not empty while a text of ours is on its way.
  Status take(const ControlPdu& pdu, bool continues) {
    if (pdu.bhs.total_ahs_length() != 0 || pdu.ahs.size() != 0) return errc::bad_field;
    if (pdu.data.size() > kLoginSegment) return errc::data_too_long;
    if (sending() && (continues || !pdu.data.empty())) return errc::protocol_error;
    total_ += pdu.data.size();
    if (total_ > kMaxLoginText) return errc::text_too_long;
    return collector_.add(pdu.data.bytes());
  }
  Bytes text() const { return collector_.text(); }
  void clear() { collector_.clear(); }

  // --- sending ---
  void start(std::string text) {
    splitter_ = TextSplitter(std::move(text));
    begun_ = true;
  }
  // Whether pieces are left to send.
  bool sending() const { return begun_ && !splitter_.done(); }
  Bytes next() { return splitter_.next(kLoginSegment); }

 private:
  TextCollector collector_{kMaxLoginText};
  TextSplitter splitter_;
  std::size_t total_ = 0;
  bool begun_ = false;
};

inline ControlPdu login_pdu(const Bhs& bhs, Bytes text) {
  ControlPdu pdu{bhs, {}, {}};
  pdu.bhs.set_data_segment_length(static_cast<std::uint32_t>(text.size()));
  if (!text.empty()) pdu.data = Buffer::copy_of(text);
  return pdu;
}

// Stage changes of RFC 7143 section 6.3: security to operational or full feature, operational to
// full feature.
inline bool may_transit(std::uint8_t from, std::uint8_t to) {
  return to > from && (to == static_cast<std::uint8_t>(Stage::operational) ||
                       to == static_cast<std::uint8_t>(Stage::full_feature));
}

}  // namespace openiser::iscsi
