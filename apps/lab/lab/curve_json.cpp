#include "curve_json.h"

#include <workload/json_file.h>

namespace canopy::lab {

using nlohmann::ordered_json;

CANOPY_TO_JSON(NodeReplay, capacity_tokens, hit_tokens, violations, reports, doubts)

static void to_json(ordered_json& json, const CurvePoint& point) {
  CANOPY_PUT(json, point, capacity_tokens, hit_tokens, hit_rate);
  if (point.error) json["error"] = *point.error;
  json["stay_seconds"] = point.stay_ms ? ordered_json(static_cast<double>(*point.stay_ms) / 1000) : nullptr;
}

ordered_json json_of(const Curve& curve) {
  ordered_json json;
  CANOPY_PUT(json, curve, page_size, requests, prompt_tokens, largest_request, infinite_tokens, enough_tokens,
             half_tokens);
  json["nine_tenths_tokens"] = curve.most_tokens;
  CANOPY_PUT(json, curve, points);
  return json;
}

Result<std::monostate> write_curves(const Curves& curves, const std::string& path) {
  ordered_json json = json_of(curves.curves.front());
  CANOPY_PUT(json, curves, source, command, blocks, sample, warm_up);
  json["pool_tokens"] = curves.pool_tokens ? ordered_json(curves.pool_tokens) : nullptr;
  json["curves"] = ordered_json::array();
  for (const Curve& curve : curves.curves) json["curves"].push_back(json_of(curve));
  CANOPY_PUT(json, curves, replays);
  json["trace_hash"] = hex_of(curves.trace_hash);
  if (!curves.doubts.empty()) json["doubts"] = curves.doubts;
  if (!curves.notes.empty()) json["notes"] = curves.notes;
  return write_json(path, json);
}

}  // namespace canopy::lab
