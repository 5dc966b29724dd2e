#include <canopy/kv_events/codec.h>
#include <canopy/kv_events/msgpack.h>

#include <bit>

#include "field_table.h"

namespace canopy::kv_events {
namespace {

class Writer {
 public:
  Writer(const EventBatch& batch, std::string& payload) : batch_(batch), payload_(payload), pack_(payload) {}

  void write(Form form) {
    pack_.array(batch_.has_rank ? 3 : 2);
    pack_.real(batch_.time);
    pack_.array(batch_.events.size());
    for (const Event& event : batch_.events) form == Form::maps ? map(event) : array(event);
    if (!batch_.has_rank) return;
    batch_.rank ? pack_.signed_number(*batch_.rank) : pack_.nil();
  }

 private:
  void map(const Event& event) {
    pack_.map(1 + static_cast<std::size_t>(std::popcount(event.present)));
    pack_.text("type");
    pack_.text(name_of(event.kind));
    named_fields(event, event.present);
  }

  void array(const Event& event) {
    const std::span<const Field> positions = positions_of(event.kind);
    std::size_t last = 0;
    std::uint32_t unplaced = event.present;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (!event.is_present(positions[i])) continue;
      last = i + 1;
      unplaced &= ~(1u << static_cast<unsigned>(positions[i]));
    }
    pack_.array(1 + last + (unplaced != 0 ? 1 : 0));
    pack_.text(name_of(event.kind));
    for (const Field field : positions.first(last)) value(event, field);
    if (unplaced == 0) return;
    pack_.map(static_cast<std::size_t>(std::popcount(unplaced)));
    named_fields(event, unplaced);
  }

  void named_fields(const Event& event, std::uint32_t fields) {
    for (std::size_t i = 0; i < kFields; ++i) {
      if ((fields >> i & 1u) == 0) continue;
      pack_.text(name_of(static_cast<Field>(i)));
      value(event, static_cast<Field>(i));
    }
  }

  void value(const Event& event, Field field) {
    if (!event.has(field)) return pack_.nil();
    switch (shape_of(field)) {
      case Shape::hashes:
        pack_.array(event.hashes.count);
        for (const BlockHash& each : batch_.hashes_of(event)) hash(each);
        break;
      case Shape::hash:
        hash(event.parent);
        break;
      case Shape::tokens:
        tokens(event);
        break;
      case Shape::number:
        pack_.signed_number(number_of(event, field));
        break;
      case Shape::text:
        pack_.text(batch_.text_of(event, field));
        break;
      case Shape::any:
        payload_ += batch_.text_of(event, field);
        break;
    }
  }

  void tokens(const Event& event) {
    const std::span<const Token> list = batch_.tokens_of(event);
    pack_.array(event.token_pairs ? list.size() / 2 : list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (event.token_pairs && i % 2 == 0) pack_.array(2);
      pack_.number(list[i]);
    }
  }

  void hash(const BlockHash& hash) {
    if (hash.digest_bytes > 0) pack_.bytes(batch_.digest_of(hash));
    else if (hash.negative) pack_.signed_number(static_cast<std::int64_t>(hash.value));
    else pack_.number(hash.value);
  }

  const EventBatch& batch_;
  std::string& payload_;
  Packer pack_;
};

}  // namespace

void write_batch(const EventBatch& batch, Form form, std::string& payload) { Writer(batch, payload).write(form); }

}  // namespace canopy::kv_events
