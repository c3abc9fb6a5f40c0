#include <cstring>

#include "target/store/store.h"

namespace openiser::target {
namespace {

class NullStore final : public Store {
 public:
  explicit NullStore(std::uint64_t size) : size_(size) {}

  StoreProperties properties() const override {
    return {.size = size_,
            .read_only = false,
            .discard = true,
            .volatile_cache = false,
            .volatile_content = true,
            .description = "null"};
  }

  void submit(StoreEngine&, StoreRequest& request) override {
    request.error = {};
    if (request.operation == StoreRequest::Operation::read) {
      for (const MutableBytes& piece : request.pieces) {
        std::memset(piece.data(), 0, piece.size());
      }
    }
    request.is_cached = request.operation == StoreRequest::Operation::prefetch;
    request.done();
  }

 private:
  std::uint64_t size_;
};

}  // namespace

std::unique_ptr<Store> make_null_store(std::uint64_t size) {
  return std::make_unique<NullStore>(size);
}

}  // namespace openiser::target
