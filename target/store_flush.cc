#include "target/store_flush.h"

#include <vector>

#include "base/log.h"
#include "target/scsi/unit.h"

namespace openiser::target {

namespace {

class Flush;

struct FlushRequest final : StoreRequest {
  FlushRequest(Flush& its_flush, std::string unit_name, std::shared_ptr<LogicalUnit> its_unit)
      : flush(its_flush), name(std::move(unit_name)), unit(std::move(its_unit)) {
    operation = Operation::flush;
  }
  void done() override;

  Flush& flush;
  const std::string name;
  const std::shared_ptr<LogicalUnit> unit;  // keeps the store
};

// Owns itself until every request is done.
class Flush {
 public:
  explicit Flush(std::function<void()> done) : done_(std::move(done)) {}

  void start(const Catalogue& catalogue, StoreEngine& engine) {
    for (const auto& [name, target] : catalogue.targets) {
      for (const auto& [lun, unit] : target.device->units) {
        requests_.push_back(
            std::make_unique<FlushRequest>(*this, name + " LUN " + std::to_string(lun), unit));
      }
    }
    // One more than there are, so that none that is done at once is taken for the last.
    open_ = requests_.size() + 1;
    for (const auto& request : requests_) request->unit->submit(engine, *request);
    engine.flush();
    one_done();
  }

  void one_done() {
    if (--open_ != 0) return;
    const std::function<void()> done = std::move(done_);
    delete this;
    done();
  }

 private:
  std::vector<std::unique_ptr<FlushRequest>> requests_;
  std::size_t open_ = 0;
  std::function<void()> done_;
};

void FlushRequest::done() {
  if (error) log::error("store", name + ": cannot flush: " + error.message());
  flush.one_done();
}

}  // namespace

void flush_stores(const Catalogue& catalogue, StoreEngine& engine, std::function<void()> done) {
  (new Flush(std::move(done)))->start(catalogue, engine);
}

}  // namespace openiser::target
