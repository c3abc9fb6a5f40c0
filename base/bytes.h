// Views of bytes, and a reader and a writer with a sticky end: one check after a whole header.
// All multi-byte fields are big-endian unless the name says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace openiser {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::uint8_t load_u8(const std::byte* p) {
  return static_cast<std::uint8_t>(*p);
}
inline std::uint16_t load_be16(const std::byte* p) {
  std::uint16_t v;
  std::memcpy(&v, p, sizeof v);
  return __builtin_bswap16(v);
}
inline std::uint32_t load_be24(const std::byte* p) {
  return static_cast<std::uint32_t>(load_u8(p)) << 16 | load_be16(p + 1);
}
inline std::uint32_t load_be32(const std::byte* p) {
  std::uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return __builtin_bswap32(v);
}
inline std::uint64_t load_be64(const std::byte* p) {
  std::uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return __builtin_bswap64(v);
}
inline std::uint32_t load_le32(const std::byte* p) {
  std::uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store_u8(std::byte* p, std::uint8_t v) {
  *p = static_cast<std::byte>(v);
}
inline void store_be16(std::byte* p, std::uint16_t v) {
  v = __builtin_bswap16(v);
  std::memcpy(p, &v, sizeof v);
}
inline void store_be24(std::byte* p, std::uint32_t v) {
  store_u8(p, static_cast<std::uint8_t>(v >> 16));
  store_be16(p + 1, static_cast<std::uint16_t>(v));
}
inline void store_be32(std::byte* p, std::uint32_t v) {
  v = __builtin_bswap32(v);
  std::memcpy(p, &v, sizeof v);
}
inline void store_be64(std::byte* p, std::uint64_t v) {
  v = __builtin_bswap64(v);
  std::memcpy(p, &v, sizeof v);
}
inline void store_le32(std::byte* p, std::uint32_t v) {
  std::memcpy(p, &v, sizeof v);
}

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "open-iser runs on little-endian machines");

// Reads fields one after the other. Reading past the end gives zeros and makes ok() false for good.
// Spans returned by bytes() are valid as long as the input is.
class ByteReader {
 public:
  explicit ByteReader(Bytes input) : rest_(input) {}

  std::uint8_t u8() {
    return read<1>([](auto* p) { return load_u8(p); });
  }
  std::uint16_t be16() {
    return read<2>([](auto* p) { return load_be16(p); });
  }
  std::uint32_t be24() {
    return read<3>([](auto* p) { return load_be24(p); });
  }
  std::uint32_t be32() {
    return read<4>([](auto* p) { return load_be32(p); });
  }
  std::uint64_t be64() {
    return read<8>([](auto* p) { return load_be64(p); });
  }
  std::uint32_t le32() {
    return read<4>([](auto* p) { return load_le32(p); });
  }
  Bytes bytes(std::size_t n) {
    if (n > rest_.size()) {
      fail();
      return {};
    }
    const Bytes taken = rest_.first(n);
    rest_ = rest_.subspan(n);
    return taken;
  }
  void skip(std::size_t n) { bytes(n); }

  Bytes rest() const { return rest_; }
  std::size_t remaining() const { return rest_.size(); }
  bool ok() const { return ok_; }

 private:
  template <std::size_t N, class Load>
  auto read(Load load) -> decltype(load(static_cast<const std::byte*>(nullptr))) {
    const Bytes taken = bytes(N);
    if (taken.empty()) return 0;
    return load(taken.data());
  }
  void fail() {
    ok_ = false;
    rest_ = {};
  }

  Bytes rest_;
  bool ok_ = true;
};

// Writes fields one after the other. Writing past the end writes nothing and makes ok() false for
// good.
class ByteWriter {
 public:
  explicit ByteWriter(MutableBytes output) : output_(output) {}

  void u8(std::uint8_t v) {
    write<1>([v](auto* p) { store_u8(p, v); });
  }
  void be16(std::uint16_t v) {
    write<2>([v](auto* p) { store_be16(p, v); });
  }
  void be24(std::uint32_t v) {
    write<3>([v](auto* p) { store_be24(p, v); });
  }
  void be32(std::uint32_t v) {
    write<4>([v](auto* p) { store_be32(p, v); });
  }
  void be64(std::uint64_t v) {
    write<8>([v](auto* p) { store_be64(p, v); });
  }
  void le32(std::uint32_t v) {
    write<4>([v](auto* p) { store_le32(p, v); });
  }
  void bytes(Bytes data) {
    if (data.empty() || !reserve(data.size())) return;
    std::memcpy(output_.data() + used_ - data.size(), data.data(), data.size());
  }
  void zeros(std::size_t n) {
    if (n == 0 || !reserve(n)) return;
    std::memset(output_.data() + used_ - n, 0, n);
  }

  MutableBytes written() const { return output_.first(used_); }
  std::size_t size() const { return used_; }
  bool ok() const { return ok_; }

 private:
  bool reserve(std::size_t n) {
    if (!ok_ || n > output_.size() - used_) return ok_ = false;
    used_ += n;
    return true;
  }
  template <std::size_t N, class Store>
  void write(Store store) {
    if (reserve(N)) store(output_.data() + used_ - N);
  }

  MutableBytes output_;
  std::size_t used_ = 0;
  bool ok_ = true;
};

// The number of octets that bring `n` to a multiple of four: iSCSI and MPA both pad so.
constexpr std::size_t pad4(std::size_t n) {
  return (4 - n % 4) % 4;
}

}  // namespace openiser
