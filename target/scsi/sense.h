// Sense data (SPC-4 section 4.5): every condition this device server reports, in one table, and the
// two formats.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "target/store/store.h"

namespace openiser::target {

enum class Condition : std::uint8_t {
  no_sense,
  exception_on_request,
  // What the initiator asked is wrong.
  invalid_opcode,
  invalid_field_in_cdb,
  invalid_field_in_parameter_list,
  parameter_list_length_error,
  lba_out_of_range,
  saving_not_supported,
  invalid_message,
  invalid_release,
  insufficient_registration_resources,
  logical_unit_not_supported,
  incorrect_amount_of_data,
  data_phase_error,
  // What is wrong with a copy before it begins, and where it ended (EXTENDED COPY).
  too_many_copy_targets,
  unsupported_copy_target_type,
  too_many_copy_segments,
  unsupported_copy_segment_type,
  inline_data_length_exceeded,
  operation_in_progress,
  unreachable_copy_target,
  third_party_device_failure,
  copy_target_not_reachable,
  incorrect_copy_target_type,
  copy_aborted,
  copy_parameter_invalid,
  unexpected_inexact_segment,
  // How the unit is accessed through the port that the command came in at.
  access_state_transition,
  port_in_standby_state,
  port_in_unavailable_state,
  // What the medium says.
  sanitize_in_progress,
  format_in_progress,
  sanitize_failed,
  format_failed,
  write_protected,
  software_write_protected,
  space_allocation_failed,
  unrecovered_read_error,
  write_error,
  internal_target_failure,
  self_test_failed,
  miscompare,
  // Unit attentions, the weightiest first; at most 32.
  power_on,
  device_reset,
  nexus_loss,
  commands_cleared,
  mode_parameters_changed,
  capacity_changed,
  reservations_preempted,
  reservations_released,
  registrations_preempted,
  access_state_changed,
  timestamp_changed,
  device_identifier_changed,
  reported_luns_changed,
  soft_threshold_reached,
  exception_test,
};

struct ConditionRow {
  Condition condition;
  std::uint8_t key;
  std::uint8_t asc;
  std::uint8_t ascq;
  std::string_view name;
};
const ConditionRow& row_of(Condition condition);

// Sense-key specific data for ILLEGAL REQUEST (SPC-4 section 4.5.2.4.2): the first byte of the
// field in error and, for fields smaller than a byte, its leftmost bit.
struct FieldPointer {
  bool in_cdb = true;
  std::uint16_t byte = 0;
  std::optional<std::uint8_t> bit = {};
};

struct Sense {
  Condition condition = Condition::no_sense;
  std::optional<FieldPointer> field = {};
  std::optional<std::uint64_t> information = {};  // an LBA, or what the command says it is
  // Sense-key specific data for NOT READY: how much is done, in 65536ths. Not with `field`.
  std::optional<std::uint16_t> progress = {};
  std::optional<std::uint32_t> command_specific = {};
};

inline Sense invalid_cdb(std::uint16_t byte, std::optional<std::uint8_t> bit = {}) {
  return {.condition = Condition::invalid_field_in_cdb,
          .field = FieldPointer{.in_cdb = true, .byte = byte, .bit = bit}};
}
// `byte`: below 65536.
inline Sense invalid_parameter(std::size_t byte, std::optional<std::uint8_t> bit = {}) {
  return {
      .condition = Condition::invalid_field_in_parameter_list,
      .field = FieldPointer{.in_cdb = false, .byte = static_cast<std::uint16_t>(byte), .bit = bit}};
}
inline Sense lba_out_of_range(const FieldPointer& field) {
  return {.condition = Condition::lba_out_of_range, .field = field};
}

// What a store's error becomes. `lba`: where the request started.
Sense sense_of_store_error(ErrorCode error, StoreRequest::Operation operation, std::uint64_t lba);

enum class SenseFormat : std::uint8_t { fixed, descriptor };

class EncodedSense {
 public:
  EncodedSense() = default;
  EncodedSense(const Sense& sense, SenseFormat format);
  // Valid as long as this object is.
  Bytes bytes() const { return Bytes(data_).first(size_); }

 private:
  void encode_fixed(const Sense& sense);
  void encode_descriptor(const Sense& sense);

  std::array<std::byte, 40> data_{};
  std::size_t size_ = 0;
};

}  // namespace openiser::target
