// A map by task tag or transfer tag that keeps the nodes it no longer uses: no allocation once it
// has seen its largest size. References stay valid until their entry is erased.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace openiser::iscsi {

template <class T>
class TagMap {
  using Map = std::unordered_map<std::uint32_t, T>;

 public:
  // Replaces what had the tag.
  T& insert(std::uint32_t tag, T value) {
    if (spare_.empty()) return map_.insert_or_assign(tag, std::move(value)).first->second;
    typename Map::node_type node = std::move(spare_.back());
    spare_.pop_back();
    node.key() = tag;
    node.mapped() = std::move(value);
    erase(tag);
    return map_.insert(std::move(node)).position->second;
  }
  T* find(std::uint32_t tag) {
    const auto at = map_.find(tag);
    return at == map_.end() ? nullptr : &at->second;
  }
  void erase(std::uint32_t tag) {
    const auto at = map_.find(tag);
    if (at == map_.end()) return;
    at->second = T();
    spare_.push_back(map_.extract(at));
  }
  std::size_t size() const { return map_.size(); }
  auto begin() { return map_.begin(); }
  auto end() { return map_.end(); }

 private:
  Map map_;
  std::vector<typename Map::node_type> spare_;
};

}  // namespace openiser::iscsi
