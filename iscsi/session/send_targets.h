// SendTargets in words: from target records to text and back (RFC 7143 Appendix C).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "iscsi/login/parameters.h"
#include "iscsi/pdu/text.h"
#include "iscsi/session/target_session.h"

namespace openiser::iscsi {

// The target's answer to the text of a Text Request in full feature phase, of which SendTargets is
// the only key we know. `look_up`: records by target name, "" for all.
Result<std::string> answer_text(
    Bytes request, const Parameters& parameters,
    const std::function<std::vector<TargetRecord>(const std::string& name)>& look_up);

// The initiator's reading of the whole answer. Fails with errc::negotiation_failed if the target
// does not do SendTargets.
Result<std::vector<TargetRecord>> parse_target_records(Bytes text);

}  // namespace openiser::iscsi
