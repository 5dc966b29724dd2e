#include "paint.h"

#include <shell/theme.h>

#include "web_import.h"

/// The font's picture, 4 bytes a pixel.
WEB_IMPORT(texture) void page_texture(const void* rgba, int width, int height);
/// Vertices of 20 bytes and indices of 2 bytes, for the draws that follow.
WEB_IMPORT(begin_list)
void page_begin_list(const void* vertices, std::size_t bytes, const void* indices, std::size_t index_bytes);
WEB_IMPORT(draw) void page_draw(float x0, float y0, float x1, float y1, int count, int first, int base);

namespace canopy::inspector {

void make_textures(const Settings& settings, float density, std::span<const char> font) {
  apply_theme(settings.light, (settings.scale > 0 ? settings.scale : 1) * density, font);
  unsigned char* pixels = nullptr;
  int width = 0, height = 0;
  ImGui::GetIO().Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
  page_texture(pixels, width, height);
  ImGui::GetIO().Fonts->SetTexID(reinterpret_cast<ImTextureID>(1));
}

void paint(const ImDrawData& data) {
  for (int n = 0; n < data.CmdListsCount; ++n) {
    const ImDrawList& list = *data.CmdLists[n];
    page_begin_list(list.VtxBuffer.Data, static_cast<std::size_t>(list.VtxBuffer.size_in_bytes()), list.IdxBuffer.Data,
                    static_cast<std::size_t>(list.IdxBuffer.size_in_bytes()));
    for (const ImDrawCmd& one : list.CmdBuffer)
      if (!one.UserCallback && one.ElemCount != 0)
        page_draw(one.ClipRect.x, one.ClipRect.y, one.ClipRect.z, one.ClipRect.w, static_cast<int>(one.ElemCount),
                  static_cast<int>(one.IdxOffset * sizeof(ImDrawIdx)),
                  static_cast<int>(one.VtxOffset * sizeof(ImDrawVert)));
  }
}

}  // namespace canopy::inspector
