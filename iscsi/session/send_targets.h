// What Text Requests of full feature phase say, and their answers (RFC 7143 section 11.10 and
// Appendix C): SendTargets, from target records to text and back, and what may be declared anew.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "iscsi/login/parameters.h"
#include "iscsi/pdu/text.h"
#include "iscsi/session/target_session.h"

namespace openiser::iscsi {

struct TextAnswer {
  std::string text;
  // The initiator takes data segments of this size once the exchange is over.
  std::optional<std::uint32_t> max_recv_data_segment_length;
};

// The target's answer to the text of a Text Request in full feature phase. Keys that belong to
// login, or to a target, are answered Reject; unknown ones NotUnderstood. `look_up`: records by
// target name, "" for all.
Result<TextAnswer> answer_text(
    Bytes request, const Parameters& parameters,
    const std::function<std::vector<TargetRecord>(const std::string& name)>& look_up);

// MaxRecvDataSegmentLength in the target's text, if it may declare it here;
// errc::negotiation_failed if the value is none.
Result<std::optional<std::uint32_t>> declared_data_segment(Bytes text,
                                                           const Parameters& parameters);

// The initiator's answers to keys that a target brings up on its own account: it may declare what
// is a target's to declare in full feature phase; the rest is Reject, or NotUnderstood. Fails if
// the text is none.
Result<std::string> answer_target(Bytes text);

// The initiator's reading of the whole answer. Fails with errc::negotiation_failed if the target
// does not do SendTargets.
Result<std::vector<TargetRecord>> parse_target_records(Bytes text);

}  // namespace openiser::iscsi
