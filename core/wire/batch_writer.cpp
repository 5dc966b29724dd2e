#include <canopy/wire/codec.h>

#include <bit>

#include "field_table.h"
#include "packed.h"

namespace canopy::wire {
namespace {

class Writer {
 public:
  Writer(const EventBatch& batch, std::string& payload) : batch_(batch), appended_{payload}, pack_(appended_) {}

  void write(Form form) {
    pack_.pack_array(batch_.has_rank ? 3 : 2);
    pack_.pack_real(batch_.time);
    pack_.pack_array(static_cast<std::uint32_t>(batch_.events.size()));
    for (const Event& event : batch_.events) form == Form::maps ? map(event) : array(event);
    if (!batch_.has_rank) return;
    if (batch_.rank) pack_.pack_int64(*batch_.rank);
    else pack_.pack_nil();
  }

 private:
  void map(const Event& event) {
    pack_.pack_map(1 + static_cast<std::uint32_t>(std::popcount(event.present)));
    text("type");
    text(name_of(event.kind));
    named_fields(event, event.present);
  }

  void array(const Event& event) {
    const std::span<const Field> positions = positions_of(event.kind);
    std::uint32_t last = 0, unplaced = event.present;
    for (std::uint32_t i = 0; i < positions.size(); ++i) {
      if (!event.is_present(positions[i])) continue;
      last = i + 1;
      unplaced &= ~(1u << static_cast<unsigned>(positions[i]));
    }
    pack_.pack_array(1 + last + (unplaced != 0 ? 1 : 0));
    text(name_of(event.kind));
    for (const Field field : positions.first(last)) value(event, field);
    if (unplaced == 0) return;
    pack_.pack_map(static_cast<std::uint32_t>(std::popcount(unplaced)));
    named_fields(event, unplaced);
  }

  void named_fields(const Event& event, std::uint32_t fields) {
    for (std::size_t i = 0; i < kFields; ++i) {
      if ((fields >> i & 1u) == 0) continue;
      text(name_of(static_cast<Field>(i)));
      value(event, static_cast<Field>(i));
    }
  }

  void value(const Event& event, Field field) {
    if (!event.has(field)) {
      pack_.pack_nil();
      return;
    }
    switch (shape_of(field)) {
      case Shape::hashes:
        pack_.pack_array(event.hashes.count);
        for (const BlockHash& each : batch_.hashes_of(event)) hash(each);
        break;
      case Shape::hash:
        hash(event.parent);
        break;
      case Shape::tokens:
        tokens(event);
        break;
      case Shape::number:
        pack_.pack_int64(number_of(event, field));
        break;
      case Shape::text:
        text(batch_.text_of(event, field));
        break;
      case Shape::any: {
        const std::string_view packed = batch_.text_of(event, field);
        appended_.write(packed.data(), packed.size());
        break;
      }
    }
  }

  void tokens(const Event& event) {
    const std::span<const Token> list = batch_.tokens_of(event);
    pack_.pack_array(static_cast<std::uint32_t>(event.token_pairs ? list.size() / 2 : list.size()));
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (event.token_pairs && i % 2 == 0) pack_.pack_array(2);
      pack_.pack_uint32(list[i]);
    }
  }

  void hash(const BlockHash& hash) {
    if (hash.digest_bytes > 0) {
      const std::string_view digest = batch_.digest_of(hash);
      pack_.pack_bin(static_cast<std::uint32_t>(digest.size()));
      pack_.pack_bin_body(digest.data(), static_cast<std::uint32_t>(digest.size()));
    } else if (hash.negative) {
      pack_.pack_int64(static_cast<std::int64_t>(hash.value));
    } else {
      pack_.pack_uint64(hash.value);
    }
  }

  void text(std::string_view text) {
    pack_.pack_str(static_cast<std::uint32_t>(text.size()));
    pack_.pack_str_body(text.data(), static_cast<std::uint32_t>(text.size()));
  }

  const EventBatch& batch_;
  Appended appended_;
  Packer pack_;
};

}  // namespace

void write_batch(const EventBatch& batch, Form form, std::string& payload) { Writer(batch, payload).write(form); }

}  // namespace canopy::wire
