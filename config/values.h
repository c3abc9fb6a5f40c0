// The words of the configuration file: sizes, durations, addresses, names. Each parser gives the
// value, or says in words what is wrong with it and what to write instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace openiser::config {

// A value of the file. Which member counts depends on the kind of the key.
struct Value {
  std::uint64_t number = 0;
  std::string text;
};

struct Parsed {
  std::optional<Value> value;
  std::string fault;  // "what; what to do", where there is no value
};

// true, false, yes, no, on, off
Parsed parse_boolean(std::string_view text);
// A whole number, decimal or 0x...
Parsed parse_count(std::string_view text);
// Bytes: 4096, 4k, 10M, 1GiB, 1T. Letters are powers of 1024; MB and the like, which people read
// both ways, are refused.
Parsed parse_size(std::string_view text);
// Whole seconds: 15, 15s, 2m, 1h
Parsed parse_duration(std::string_view text);
// "host:port", "host", ":port", "[IPv6]:port", "[IPv6]": text is the host, number the port
// (3260 where none is given).
Parsed parse_portal(std::string_view text);
// iqn., eui. and naa. names (RFC 7143 section 4.2.7)
Parsed parse_iscsi_name(std::string_view text);
// An iSCSI name, or a pattern of names with * (any run of characters) and ? (one of them).
Parsed parse_initiator_name(std::string_view text);
// "192.0.2.0/24", "2001:db8::/32", or one address: text is its 16 bytes, IPv4 in its mapped form;
// number is how many bits of them count.
Parsed parse_network(std::string_view text);
// Processors as Linux writes them, 0-3,6: the text as it is, which processors_of() takes apart.
Parsed parse_processors(std::string_view text);
// In the order written; nothing where it is no such list.
std::vector<unsigned> processors_of(std::string_view text);
// Text of at most `max` bytes without control characters.
Parsed parse_plain_text(std::string_view text, std::uint64_t max);

}  // namespace openiser::config
