// Text Requests at the target (RFC 7143 sections 11.10 and 11.11): puts a long request together and
// cuts a long answer into pieces that the initiator fetches with empty requests. One exchange at a
// time; a new one (TTT=0xffffffff) takes the place of an old one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "iscsi/pdu/pdu.h"
#include "iscsi/pdu/text.h"

namespace openiser::iscsi {

class TextService {
 public:
  // The answer to a whole request.
  using Responder = std::function<Result<std::string>(Bytes request)>;
  explicit TextService(Responder responder) : responder_(std::move(responder)) {}

  // F, C, tags and LUN of the response, and its text: valid until the next call.
  struct Piece {
    TextResponse response;
    Bytes text;
  };
  // Fails with the error that a Reject reports; the exchange is over then. `fresh_tag` is a
  // Target Transfer Tag for the case that one is needed.
  Result<Piece> receive(const TextRequest& request, Bytes text, std::size_t segment_size,
                        std::uint32_t fresh_tag);

  // Whether an exchange of this tag is waiting for its next request.
  bool is_open(std::uint32_t initiator_task_tag) const {
    return open_ && initiator_task_tag_ == initiator_task_tag;
  }
  void reset();

 private:
  Status take_in(const TextRequest& request, Bytes text, std::uint32_t fresh_tag);
  Piece next_piece(const TextRequest& request, std::size_t segment_size);

  Responder responder_;
  bool open_ = false;
  std::uint32_t initiator_task_tag_ = kReservedTag;
  std::uint32_t target_transfer_tag_ = kReservedTag;
  TextCollector request_;
  TextSplitter answer_;
};

}  // namespace openiser::iscsi
