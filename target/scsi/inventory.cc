// Commands about the unit as such: is it there, what others are there, how is it.
#include <vector>

#include "target/scsi/handlers.h"
#include "target/scsi/jobs.h"
#include "target/scsi/nexus_state.h"

namespace openiser::target {

// SPC-4 section 6.33. SELECT REPORT: 0 without well known units, 1 these alone (there are none),
// 2 all. Who asks knows of any change of the inventory afterwards.
void report_luns(Command& command) {
  const Cdb cdb = command.cdb();
  const std::uint8_t select = cdb.u8(2);
  if (select > 2) return command.fail(invalid_cdb(2));
  command.nexus().clear_attention(Condition::reported_luns_changed);
  std::vector<std::byte> list(8);
  if (select != 1) {
    const auto& units = command.nexus().device().units;
    list.reserve(8 + units.size() * sizeof(iscsi::Lun));
    for (const auto& [lun, unit] : units) {
      const iscsi::Lun encoded = encode_lun(lun);
      list.insert(list.end(), encoded.begin(), encoded.end());
    }
  }
  store_be32(list.data(), static_cast<std::uint32_t>(list.size() - 8));
  command.answer(list, cdb.be32(6));
}

// SPC-4 section 6.47
void test_unit_ready(Command& command) {
  command.good();
}

namespace {

// A test of informational exceptions, to be reported in this way (SPC-4 section 7.5.11).
bool has_exception_on_request(const LogicalUnit& unit) {
  const std::uint32_t flags = unit.flags();
  return (flags & unit_flag::exceptions_test) != 0 &&
         (flags & unit_flag::exceptions_method) == exceptions_on_request;
}

}  // namespace

// SPC-4 section 6.39: a pending unit attention is given as data, and is over then.
void request_sense(Command& command) {
  const Cdb cdb = command.cdb();
  Sense sense;
  if (!command.unit()) {
    sense.condition = Condition::logical_unit_not_supported;
  } else if (const auto attention = command.unit_state()->attentions.take()) {
    sense.condition = *attention;
  } else if (const auto trouble = command.unit()->medium().trouble()) {
    sense = *trouble;
  } else if (has_exception_on_request(*command.unit())) {
    sense.condition = Condition::exception_on_request;
  }
  const auto format = cdb.bit(1, 0) ? SenseFormat::descriptor : SenseFormat::fixed;
  command.answer(EncodedSense(sense, format).bytes(), cdb.u8(4));
}

// SBC-3 section 5.25. There is nothing that spins: stopping brings the cache to the medium, unless
// NO_FLUSH says not to, and the unit stays ready.
void start_stop_unit(Command& command) {
  const Cdb cdb = command.cdb();
  if ((cdb.u8(4) & 0xf0) != 0) return command.fail(invalid_cdb(4, 7));  // POWER CONDITION
  if (cdb.bit(4, 1)) return command.fail(invalid_cdb(4, 1));            // LOEJ: not removable
  const bool stop = !cdb.bit(4, 0);
  // SBC-3 table 13: only starting is allowed to whom a reservation locks out.
  const auto kind = stop ? ConflictsWith::any_reservation : ConflictsWith::reserve;
  if (conflicts_with_reservation(command, kind)) return command.refuse_for_reservation();
  if (stop && !cdb.bit(4, 2)) return command.run(flush_job());
  command.good();
}

}  // namespace openiser::target
