#include "curve_json.h"

#include <replay/json_file.h>
#include <nlohmann/json.hpp>

namespace canopy::lab {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const Curve& curve) {
  ordered_json points = ordered_json::array();
  for (const CurvePoint& point : curve.points) {
    points.push_back(
        {{"capacity_tokens", point.capacity_tokens}, {"hit_tokens", point.hit_tokens}, {"hit_rate", point.hit_rate}});
    if (point.error) points.back()["error"] = *point.error;
    points.back()["stay_seconds"] =
        point.stay_ms ? ordered_json(static_cast<double>(*point.stay_ms) / 1000) : ordered_json(nullptr);
  }
  return {{"page_size", curve.page_size},
          {"requests", curve.requests},
          {"prompt_tokens", curve.prompt_tokens},
          {"largest_request", curve.largest_request},
          {"infinite_tokens", curve.infinite_tokens},
          {"enough_tokens", curve.enough_tokens},
          {"half_tokens", curve.half_tokens},
          {"nine_tenths_tokens", curve.most_tokens},
          {"points", std::move(points)}};
}

}  // namespace

Result<std::monostate> write_curves(const Curves& curves, const std::string& path) {
  ordered_json json = json_of(curves.curves.front());
  json.update({{"source", curves.source},
               {"command", curves.command},
               {"blocks", curves.blocks},
               {"sample", curves.sample},
               {"warm_up", curves.warm_up},
               {"pool_tokens", curves.pool_tokens ? ordered_json(curves.pool_tokens) : ordered_json(nullptr)},
               {"curves", ordered_json::array()},
               {"replays", ordered_json::array()}});
  for (const Curve& curve : curves.curves) json["curves"].push_back(json_of(curve));
  for (const NodeReplay& replay : curves.replays)
    json["replays"].push_back({{"capacity_tokens", replay.capacity_tokens}, {"hit_tokens", replay.hit_tokens}});
  return replay::write_json(path, json);
}

}  // namespace canopy::lab
