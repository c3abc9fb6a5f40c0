#include "target/scsi/sense.h"

#include <cerrno>

#include "base/assert.h"

namespace openiser::target {
namespace {

// Sense keys, SPC-4 table 48.
constexpr std::uint8_t kNoSense = 0x0;
constexpr std::uint8_t kNotReady = 0x2;
constexpr std::uint8_t kMediumError = 0x3;
constexpr std::uint8_t kHardwareError = 0x4;
constexpr std::uint8_t kIllegalRequest = 0x5;
constexpr std::uint8_t kUnitAttention = 0x6;
constexpr std::uint8_t kDataProtect = 0x7;
constexpr std::uint8_t kCopyAborted = 0xa;
constexpr std::uint8_t kAbortedCommand = 0xb;
constexpr std::uint8_t kMiscompare = 0xe;

// In the order of the enumeration.
constexpr std::array kConditions{
    ConditionRow{Condition::no_sense, kNoSense, 0x00, 0x00, "no additional sense information"},
    ConditionRow{Condition::exception_on_request, kNoSense, 0x5d, 0xff,
                 "failure prediction threshold exceeded (false)"},
    ConditionRow{Condition::invalid_opcode, kIllegalRequest, 0x20, 0x00,
                 "invalid command operation code"},
    ConditionRow{Condition::invalid_field_in_cdb, kIllegalRequest, 0x24, 0x00,
                 "invalid field in CDB"},
    ConditionRow{Condition::invalid_field_in_parameter_list, kIllegalRequest, 0x26, 0x00,
                 "invalid field in parameter list"},
    ConditionRow{Condition::parameter_list_length_error, kIllegalRequest, 0x1a, 0x00,
                 "parameter list length error"},
    ConditionRow{Condition::lba_out_of_range, kIllegalRequest, 0x21, 0x00,
                 "logical block address out of range"},
    ConditionRow{Condition::saving_not_supported, kIllegalRequest, 0x39, 0x00,
                 "saving parameters not supported"},
    ConditionRow{Condition::invalid_message, kIllegalRequest, 0x49, 0x00, "invalid message error"},
    ConditionRow{Condition::invalid_release, kIllegalRequest, 0x26, 0x04,
                 "invalid release of persistent reservation"},
    ConditionRow{Condition::insufficient_registration_resources, kIllegalRequest, 0x55, 0x04,
                 "insufficient registration resources"},
    ConditionRow{Condition::logical_unit_not_supported, kIllegalRequest, 0x25, 0x00,
                 "logical unit not supported"},
    // RFC 7143 section 11.4.7.2: incorrect amount of data.
    ConditionRow{Condition::incorrect_amount_of_data, kAbortedCommand, 0x0c, 0x0d,
                 "write error - not enough unsolicited data"},
    ConditionRow{Condition::data_phase_error, kAbortedCommand, 0x4b, 0x00, "data phase error"},
    ConditionRow{Condition::too_many_copy_targets, kIllegalRequest, 0x26, 0x06,
                 "too many target descriptors"},
    ConditionRow{Condition::unsupported_copy_target_type, kIllegalRequest, 0x26, 0x07,
                 "unsupported target descriptor type code"},
    ConditionRow{Condition::too_many_copy_segments, kIllegalRequest, 0x26, 0x08,
                 "too many segment descriptors"},
    ConditionRow{Condition::unsupported_copy_segment_type, kIllegalRequest, 0x26, 0x09,
                 "unsupported segment descriptor type code"},
    ConditionRow{Condition::inline_data_length_exceeded, kIllegalRequest, 0x26, 0x0b,
                 "inline data length exceeded"},
    ConditionRow{Condition::operation_in_progress, kIllegalRequest, 0x00, 0x16,
                 "operation in progress"},
    ConditionRow{Condition::unreachable_copy_target, kCopyAborted, 0x08, 0x04,
                 "unreachable copy target"},
    ConditionRow{Condition::third_party_device_failure, kCopyAborted, 0x0d, 0x01,
                 "third party device failure"},
    ConditionRow{Condition::copy_target_not_reachable, kCopyAborted, 0x0d, 0x02,
                 "copy target device not reachable"},
    ConditionRow{Condition::incorrect_copy_target_type, kCopyAborted, 0x0d, 0x03,
                 "incorrect copy target device type"},
    ConditionRow{Condition::copy_aborted, kCopyAborted, 0x00, 0x00, "copy aborted"},
    ConditionRow{Condition::copy_parameter_invalid, kCopyAborted, 0x26, 0x00,
                 "invalid field in parameter list"},
    ConditionRow{Condition::unexpected_inexact_segment, kCopyAborted, 0x26, 0x0a,
                 "unexpected inexact segment"},
    ConditionRow{Condition::access_state_transition, kNotReady, 0x04, 0x0a,
                 "logical unit not accessible, asymmetric access state transition"},
    ConditionRow{Condition::port_in_standby_state, kNotReady, 0x04, 0x0b,
                 "logical unit not accessible, target port in standby state"},
    ConditionRow{Condition::port_in_unavailable_state, kNotReady, 0x04, 0x0c,
                 "logical unit not accessible, target port in unavailable state"},
    ConditionRow{Condition::sanitize_in_progress, kNotReady, 0x04, 0x1b,
                 "logical unit not ready, sanitize in progress"},
    ConditionRow{Condition::format_in_progress, kNotReady, 0x04, 0x04,
                 "logical unit not ready, format in progress"},
    ConditionRow{Condition::sanitize_failed, kMediumError, 0x31, 0x03, "sanitize command failed"},
    ConditionRow{Condition::format_failed, kMediumError, 0x31, 0x01, "format command failed"},
    ConditionRow{Condition::write_protected, kDataProtect, 0x27, 0x00, "write protected"},
    ConditionRow{Condition::software_write_protected, kDataProtect, 0x27, 0x02,
                 "logical unit software write protected"},
    ConditionRow{Condition::space_allocation_failed, kDataProtect, 0x27, 0x07,
                 "space allocation failed write protect"},
    ConditionRow{Condition::unrecovered_read_error, kMediumError, 0x11, 0x00,
                 "unrecovered read error"},
    ConditionRow{Condition::write_error, kMediumError, 0x0c, 0x00, "write error"},
    ConditionRow{Condition::internal_target_failure, kHardwareError, 0x44, 0x00,
                 "internal target failure"},
    ConditionRow{Condition::self_test_failed, kHardwareError, 0x3e, 0x03,
                 "logical unit failed self-test"},
    ConditionRow{Condition::miscompare, kMiscompare, 0x1d, 0x00,
                 "miscompare during verify operation"},
    ConditionRow{Condition::power_on, kUnitAttention, 0x29, 0x00,
                 "power on, reset, or bus device reset occurred"},
    ConditionRow{Condition::device_reset, kUnitAttention, 0x29, 0x03,
                 "bus device reset function occurred"},
    ConditionRow{Condition::nexus_loss, kUnitAttention, 0x29, 0x07, "I_T nexus loss occurred"},
    ConditionRow{Condition::commands_cleared, kUnitAttention, 0x2f, 0x00,
                 "commands cleared by another initiator"},
    ConditionRow{Condition::mode_parameters_changed, kUnitAttention, 0x2a, 0x01,
                 "mode parameters changed"},
    ConditionRow{Condition::capacity_changed, kUnitAttention, 0x2a, 0x09,
                 "capacity data has changed"},
    ConditionRow{Condition::reservations_preempted, kUnitAttention, 0x2a, 0x03,
                 "reservations preempted"},
    ConditionRow{Condition::reservations_released, kUnitAttention, 0x2a, 0x04,
                 "reservations released"},
    ConditionRow{Condition::registrations_preempted, kUnitAttention, 0x2a, 0x05,
                 "registrations preempted"},
    ConditionRow{Condition::access_state_changed, kUnitAttention, 0x2a, 0x06,
                 "asymmetric access state changed"},
    ConditionRow{Condition::timestamp_changed, kUnitAttention, 0x2a, 0x10, "timestamp changed"},
    ConditionRow{Condition::device_identifier_changed, kUnitAttention, 0x3f, 0x05,
                 "device identifier changed"},
    ConditionRow{Condition::reported_luns_changed, kUnitAttention, 0x3f, 0x0e,
                 "reported LUNs data has changed"},
    ConditionRow{Condition::soft_threshold_reached, kUnitAttention, 0x38, 0x07,
                 "thin provisioning soft threshold reached"},
    ConditionRow{Condition::exception_test, kUnitAttention, 0x5d, 0xff,
                 "failure prediction threshold exceeded (false)"},
};

void encode_field_pointer(std::byte* at, const FieldPointer& field) {
  std::uint8_t flags = 0x80;  // SKSV
  if (field.in_cdb) flags |= 0x40;
  if (field.bit) flags |= static_cast<std::uint8_t>(0x08 | *field.bit);
  store_u8(at, flags);
  store_be16(at + 1, field.byte);
}

// SPC-4 section 4.5.2.4: a field pointer or a progress indication.
void encode_sense_key_specific(std::byte* at, const Sense& sense) {
  if (sense.field) return encode_field_pointer(at, *sense.field);
  store_u8(at, 0x80);  // SKSV
  store_be16(at + 1, *sense.progress);
}

bool has_sense_key_specific(const Sense& sense) {
  return sense.field || sense.progress;
}

}  // namespace

const ConditionRow& row_of(Condition condition) {
  const ConditionRow& row = kConditions.at(static_cast<std::size_t>(condition));
  ISER_ASSERT(row.condition == condition);
  return row;
}

Sense sense_of_store_error(ErrorCode error, StoreRequest::Operation operation, std::uint64_t lba) {
  const bool read = operation == StoreRequest::Operation::read ||
                    operation == StoreRequest::Operation::find_extent;
  switch (error.value()) {
    case ENOSPC:
    case EDQUOT:
      return {.condition = Condition::space_allocation_failed};
    case EROFS:
    case EPERM:
    case EACCES:
      return {.condition = Condition::write_protected};
    case EIO:
      return {.condition = read ? Condition::unrecovered_read_error : Condition::write_error,
              .information = lba};
    default:
      return {.condition = Condition::internal_target_failure};
  }
}

EncodedSense::EncodedSense(const Sense& sense, SenseFormat format) {
  if (format == SenseFormat::fixed) {
    encode_fixed(sense);
  } else {
    encode_descriptor(sense);
  }
}

// SPC-4 section 4.5.3. INFORMATION has room for four bytes; what needs more is left out.
void EncodedSense::encode_fixed(const Sense& sense) {
  const ConditionRow& row = row_of(sense.condition);
  const bool valid = sense.information && *sense.information <= UINT32_MAX;
  store_u8(&data_[0], valid ? 0xf0 : 0x70);
  store_u8(&data_[2], row.key);
  if (valid) store_be32(&data_[3], static_cast<std::uint32_t>(*sense.information));
  store_u8(&data_[7], 10);
  if (sense.command_specific) store_be32(&data_[8], *sense.command_specific);
  store_u8(&data_[12], row.asc);
  store_u8(&data_[13], row.ascq);
  if (has_sense_key_specific(sense)) encode_sense_key_specific(&data_[15], sense);
  size_ = 18;
}

// SPC-4 section 4.5.2
void EncodedSense::encode_descriptor(const Sense& sense) {
  const ConditionRow& row = row_of(sense.condition);
  store_u8(&data_[0], 0x72);
  store_u8(&data_[1], row.key);
  store_u8(&data_[2], row.asc);
  store_u8(&data_[3], row.ascq);
  size_ = 8;
  if (sense.information) {
    store_u8(&data_[size_], 0x00);
    store_u8(&data_[size_ + 1], 0x0a);
    store_u8(&data_[size_ + 2], 0x80);
    store_be64(&data_[size_ + 4], *sense.information);
    size_ += 12;
  }
  if (sense.command_specific) {
    store_u8(&data_[size_], 0x01);
    store_u8(&data_[size_ + 1], 0x0a);
    store_be64(&data_[size_ + 4], *sense.command_specific);
    size_ += 12;
  }
  if (has_sense_key_specific(sense)) {
    store_u8(&data_[size_], 0x02);
    store_u8(&data_[size_ + 1], 0x06);
    encode_sense_key_specific(&data_[size_ + 4], sense);
    size_ += 8;
  }
  store_u8(&data_[7], static_cast<std::uint8_t>(size_ - 8));
}

}  // namespace openiser::target
