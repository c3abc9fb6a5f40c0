#include "iscsi/session/text_service.h"

#include "iscsi/errors.h"

namespace openiser::iscsi {

Result<TextService::Piece> TextService::receive(const TextRequest& request, Bytes text,
                                                std::size_t segment_size, std::uint32_t fresh_tag) {
  if (const Status status = take_in(request, text, fresh_tag); !status) {
    reset();
    return status.error();
  }
  return next_piece(request, segment_size);
}

Status TextService::take_in(const TextRequest& request, Bytes text, std::uint32_t fresh_tag) {
  if (request.target_transfer_tag == kReservedTag) {
    reset();
    open_ = true;
    initiator_task_tag_ = request.initiator_task_tag;
    target_transfer_tag_ = fresh_tag;
  } else if (!is_open(request.initiator_task_tag) ||
             request.target_transfer_tag != target_transfer_tag_) {
    return errc::bad_target_transfer_tag;
  }
  if (!answer_.done()) {
    // Section 11.10.4: the rest is fetched with empty requests.
    if (!text.empty() || request.continues) return errc::protocol_error;
    return {};
  }
  if (const Status status = request_.add(text); !status) return status;
  if (request.continues) return {};
  auto answer = responder_(request_.text());
  request_.clear();
  if (!answer) return answer.error();
  answer_ = TextSplitter(*std::move(answer));
  return {};
}

TextService::Piece TextService::next_piece(const TextRequest& request, std::size_t segment_size) {
  Piece piece;
  piece.response.initiator_task_tag = initiator_task_tag_;
  piece.response.lun = request.lun;
  piece.text = answer_.next(segment_size);
  piece.response.continues = !answer_.done();
  // Section 11.11.1: F=1 answers a request with F=1 only, and ends the exchange.
  piece.response.final = answer_.done() && request.final;
  if (piece.response.final) {
    open_ = false;
  } else {
    piece.response.target_transfer_tag = target_transfer_tag_;
  }
  return piece;
}

void TextService::reset() {
  open_ = false;
  request_.clear();
  answer_ = TextSplitter();
}

}  // namespace openiser::iscsi
