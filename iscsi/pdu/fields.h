// Helpers of initiator_pdus.cc and target_pdus.cc: fields at their offsets in the 48 bytes, and the
// groups of fields that many PDUs share (RFC 7143 section 11).
#pragma once

#include <algorithm>

#include "iscsi/errors.h"
#include "iscsi/pdu/pdu.h"

namespace openiser::iscsi::fields {

// Byte 1, where the PDU has such a bit.
inline constexpr std::uint8_t kFinal = 0x80;
inline constexpr std::uint8_t kContinue = 0x40;   // Text and Login
inline constexpr std::uint8_t kImmediate = 0x40;  // byte 0

constexpr std::uint8_t bit(bool set, std::uint8_t mask) {
  return set ? mask : 0;
}

inline Bhs start(Opcode opcode, std::uint8_t flags, bool immediate = false) {
  Bhs bhs;
  store_u8(&bhs.raw[0], static_cast<std::uint8_t>(static_cast<std::uint8_t>(opcode) |
                                                  bit(immediate, kImmediate)));
  store_u8(&bhs.raw[1], flags);
  return bhs;
}

inline std::uint8_t u8(const Bhs& bhs, std::size_t at) {
  return load_u8(&bhs.raw[at]);
}
inline std::uint16_t u16(const Bhs& bhs, std::size_t at) {
  return load_be16(&bhs.raw[at]);
}
inline std::uint32_t u32(const Bhs& bhs, std::size_t at) {
  return load_be32(&bhs.raw[at]);
}
inline bool flag(const Bhs& bhs, std::uint8_t mask) {
  return (u8(bhs, 1) & mask) != 0;
}
inline void set_u8(Bhs& bhs, std::size_t at, std::uint8_t v) {
  store_u8(&bhs.raw[at], v);
}
inline void set_u16(Bhs& bhs, std::size_t at, std::uint16_t v) {
  store_be16(&bhs.raw[at], v);
}
inline void set_u32(Bhs& bhs, std::size_t at, std::uint32_t v) {
  store_be32(&bhs.raw[at], v);
}
template <std::size_t N>
void get(const Bhs& bhs, std::size_t at, std::array<std::byte, N>& out) {
  std::copy_n(bhs.raw.begin() + at, N, out.begin());
}
template <std::size_t N>
void set(Bhs& bhs, std::size_t at, const std::array<std::byte, N>& in) {
  std::copy_n(in.begin(), N, bhs.raw.begin() + at);
}

inline constexpr std::size_t kLunAt = 8;
inline constexpr std::size_t kIttAt = 16;
inline constexpr std::size_t kTttAt = 20;

// Initiator PDUs: CmdSN and ExpStatSN at 24 and 28.
template <class T>
void set_request_numbers(Bhs& bhs, const T& pdu) {
  set_u32(bhs, 24, pdu.cmd_sn);
  set_u32(bhs, 28, pdu.exp_stat_sn);
}
template <class T>
void get_request_numbers(const Bhs& bhs, T& pdu) {
  pdu.cmd_sn = u32(bhs, 24);
  pdu.exp_stat_sn = u32(bhs, 28);
}
// Target PDUs: StatSN, ExpCmdSN and MaxCmdSN at 24, 28 and 32.
template <class T>
void set_response_numbers(Bhs& bhs, const T& pdu) {
  set_u32(bhs, 24, pdu.stat_sn);
  set_u32(bhs, 28, pdu.exp_cmd_sn);
  set_u32(bhs, 32, pdu.max_cmd_sn);
}
template <class T>
void get_response_numbers(const Bhs& bhs, T& pdu) {
  pdu.stat_sn = u32(bhs, 24);
  pdu.exp_cmd_sn = u32(bhs, 28);
  pdu.max_cmd_sn = u32(bhs, 32);
}

// PDUs whose TotalAHSLength and DataSegmentLength MUST be 0.
inline bool header_only(const Bhs& bhs) {
  return bhs.total_ahs_length() == 0 && bhs.data_segment_length() == 0;
}

}  // namespace openiser::iscsi::fields
