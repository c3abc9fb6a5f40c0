// A secret in memory: wiped when it goes, never shown. No stream operator, no conversion to text:
// whoever needs the bytes says so.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"

namespace openiser {

class Secret {
 public:
  Secret() = default;
  explicit Secret(Bytes bytes) : bytes_(bytes.begin(), bytes.end()) {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept { bytes_.swap(other.bytes_); }
  Secret& operator=(Secret other) noexcept {
    bytes_.swap(other.bytes_);
    return *this;
  }
  ~Secret();

  // Valid as long as the secret is.
  Bytes bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

 private:
  std::vector<std::byte> bytes_;  // never grows: no copy is left behind
};

// Overwrites memory that is not used any more, which compilers would leave out.
void wipe(MutableBytes bytes);

// A file that holds one secret of at least `least` bytes, to its end or to the line feed that ends
// it. It belongs to root or to the user of this process, and nobody else may read or write it.
struct SecretFile {
  Secret secret;
  // What is wrong and what to do about it, in one line without the name; empty if nothing is.
  std::string fault;
};
SecretFile read_secret_file(const std::string& path, std::size_t least);

}  // namespace openiser
