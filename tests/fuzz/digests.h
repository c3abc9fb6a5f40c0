// Digests put right in a stream of PDUs, so that what a fuzzer changes is looked at.
#pragma once

#include <algorithm>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "iscsi/login/parameters.h"
#include "iscsi/pdu/bhs.h"

namespace openiser::fuzz {

// `pdus` has none. What is too short to be a PDU is copied as it is.
inline std::vector<std::byte> with_digests(Bytes pdus, const iscsi::Parameters& parameters) {
  std::vector<std::byte> stream;
  const auto append = [&](Bytes bytes, bool digest) {
    stream.insert(stream.end(), bytes.begin(), bytes.end());
    if (!digest) return;
    stream.resize(stream.size() + 4);
    store_le32(&stream[stream.size() - 4], crc32c(bytes));
  };
  while (pdus.size() >= iscsi::kBhsSize) {
    iscsi::Bhs bhs;
    std::memcpy(bhs.raw.data(), pdus.data(), iscsi::kBhsSize);
    const std::size_t header = std::min(iscsi::kBhsSize + bhs.total_ahs_length(), pdus.size());
    append(pdus.first(header), parameters.header_digest != iscsi::Digest::none);
    pdus = pdus.subspan(header);
    const std::size_t length = bhs.data_segment_length();
    const std::size_t data = std::min(length + pad4(length), pdus.size());
    append(pdus.first(data), data > 0 && parameters.data_digest != iscsi::Digest::none);
    pdus = pdus.subspan(data);
  }
  append(pdus, false);
  return stream;
}

}  // namespace openiser::fuzz
