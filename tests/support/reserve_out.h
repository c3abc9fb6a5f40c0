// PERSISTENT RESERVE IN and OUT as an initiator sends them.
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/bytes.h"

namespace openiser::test {

// A TransportID of `text`, null-padded; `format`: 0x40 a port, 0 an initiator.
inline ByteVector transport_id(const std::string& text, std::uint8_t format = 0x40) {
  ByteVector id(4 + std::max<std::size_t>(20, (text.size() + 4) / 4 * 4));
  store_u8(&id[0], format | 0x05);
  store_be16(&id[2], static_cast<std::uint16_t>(id.size() - 4));
  for (std::size_t i = 0; i != text.size(); ++i) id[4 + i] = std::byte(text[i]);
  return id;
}

inline ByteVector joined(std::initializer_list<ByteVector> parts) {
  ByteVector all;
  for (const ByteVector& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// The basic parameter list. `flags`: 0x08 SPEC_I_PT, 0x04 ALL_TG_PT, 0x01 APTPL.
inline ByteVector basic_list(std::uint64_t key, std::uint64_t service_key, std::uint8_t flags = 0) {
  ByteVector list(24);
  store_be64(&list[0], key);
  store_be64(&list[8], service_key);
  store_u8(&list[20], flags);
  return list;
}
// With TransportIDs behind it.
inline ByteVector list_with_ids(std::uint64_t service_key, std::uint8_t flags,
                                const ByteVector& ids) {
  ByteVector length(4);
  store_be32(&length[0], static_cast<std::uint32_t>(ids.size()));
  return joined({basic_list(0, service_key, flags), length, ids});
}
// Of REGISTER AND MOVE. `flags`: 0x02 UNREG, 0x01 APTPL.
inline ByteVector move_list(std::uint64_t key, std::uint64_t service_key, std::uint8_t flags,
                            std::uint16_t port, const ByteVector& id) {
  ByteVector list(24);
  store_be64(&list[0], key);
  store_be64(&list[8], service_key);
  store_u8(&list[17], flags);
  store_be16(&list[18], port);
  store_be32(&list[20], static_cast<std::uint32_t>(id.size()));
  return joined({list, id});
}

inline ByteVector reserve_out_cdb(std::uint8_t action, std::uint8_t type, std::uint32_t length) {
  ByteVector cdb(10);
  store_u8(&cdb[0], 0x5f);
  store_u8(&cdb[1], action);
  store_u8(&cdb[2], type);
  store_be32(&cdb[5], length);
  return cdb;
}
inline ByteVector reserve_in_cdb(std::uint8_t action, std::uint16_t allocation_length) {
  ByteVector cdb(10);
  store_u8(&cdb[0], 0x5e);
  store_u8(&cdb[1], action);
  store_be16(&cdb[7], allocation_length);
  return cdb;
}

}  // namespace openiser::test
