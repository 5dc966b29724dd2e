#include "feed_source.h"

#include <utility>

namespace canopy::inspector {
namespace {

class SharedSource final : public FeedSource {
 public:
  explicit SharedSource(std::unique_ptr<Attachment> attachment) : attachment_(std::move(attachment)) {}
  const FeedShape& shape() const override { return attachment_->header(); }
  FeedReader& reader() override { return attachment_->reader(); }
  std::string gone() const override { return attachment_->gone(); }
  bool is_shared() const override { return true; }
  bool send(const Command& command) override { return attachment_->send(command); }

 private:
  std::unique_ptr<Attachment> attachment_;
};

class OwnSource final : public FeedSource {
 public:
  explicit OwnSource(FeedHeader& header) : header_(header), reader_(header) {}
  const FeedShape& shape() const override { return header_; }
  FeedReader& reader() override { return reader_; }
  std::string gone() const override { return {}; }
  bool is_shared() const override { return false; }
  bool send(const Command& command) override { return Attachment::post(header_, command); }

 private:
  FeedHeader& header_;
  FeedReader reader_;
};

}  // namespace

std::unique_ptr<FeedSource> source_of(std::unique_ptr<Attachment> attachment) {
  return std::make_unique<SharedSource>(std::move(attachment));
}
std::unique_ptr<FeedSource> source_of(FeedHeader& header) { return std::make_unique<OwnSource>(header); }

}  // namespace canopy::inspector
