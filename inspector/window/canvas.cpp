#include "canvas.h"
#include "font_file.h"
#include "process_memory.h"

#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <backends/imgui_impl_opengl3.h>
#include <shell/theme.h>

#include <chrono>

namespace canopy::inspector {
namespace {

std::vector<unsigned char> read_pixels(int width, int height) {
  const std::size_t line = static_cast<std::size_t>(width) * 3;
  std::vector<unsigned char> upside_down(line * static_cast<std::size_t>(height)), rgb(upside_down.size());
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, width, height, GL_RGB, GL_UNSIGNED_BYTE, upside_down.data());
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y)
    std::copy_n(upside_down.end() - static_cast<std::ptrdiff_t>((y + 1) * line), line,
                rgb.begin() + static_cast<std::ptrdiff_t>(y * line));
  return rgb;
}

class EglCanvas final : public Canvas {
 public:
  ~EglCanvas() override {
    if (drawing_) ImGui_ImplOpenGL3_Shutdown();
    if (imgui_) ImGui::DestroyContext(imgui_);
    if (context_ != EGL_NO_CONTEXT) {
      eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
      eglDestroyContext(display_, context_);
    }
    // The display is not terminated: it belongs to the process, and leak checkers report memory of an unloaded driver.
  }

  const char* open(int width, int height) {
    width_ = width, height_ = height;
    const auto platform =
        reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(eglGetProcAddress("eglGetPlatformDisplayEXT"));
    if (platform) display_ = platform(EGL_PLATFORM_SURFACELESS_MESA, nullptr, nullptr);
    if (display_ == EGL_NO_DISPLAY) display_ = eglGetDisplay(EGL_DEFAULT_DISPLAY);
    if (display_ == EGL_NO_DISPLAY || !eglInitialize(display_, nullptr, nullptr))
      return "no EGL can draw without a window (libegl1, libgl1-mesa-dri)";
    if (!eglBindAPI(EGL_OPENGL_API)) return "this EGL has no OpenGL";
    const EGLint choice[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_NONE};
    EGLConfig config{};
    EGLint count = 0;
    eglChooseConfig(display_, choice, &config, 1, &count);
    const EGLint version[] = {
        EGL_CONTEXT_MAJOR_VERSION,           3,       EGL_CONTEXT_MINOR_VERSION, 2, EGL_CONTEXT_OPENGL_PROFILE_MASK,
        EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT, EGL_NONE};
    context_ = eglCreateContext(display_, count ? config : nullptr, EGL_NO_CONTEXT, version);
    if (context_ == EGL_NO_CONTEXT || !eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, context_))
      return "this EGL cannot make an OpenGL 3.2 context without a window";
    glGenTextures(1, &texture_);
    glBindTexture(GL_TEXTURE_2D, texture_);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
    glGenFramebuffers(1, &buffer_);
    glBindFramebuffer(GL_FRAMEBUFFER, buffer_);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture_, 0);
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
      return "the picture is larger than this OpenGL can draw";
    imgui_ = ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = {static_cast<float>(width), static_cast<float>(height)};
    // Assigns arbitrary distinct numbers: scripts press keys by ImGui's names.
    for (int key = 0; key < ImGuiKey_COUNT; ++key) io.KeyMap[key] = key;
    drawing_ = ImGui_ImplOpenGL3_Init("#version 150");
    return drawing_ ? nullptr : "ImGui could not prepare OpenGL";
  }

  void frame(App& app) override {
    const auto began = std::chrono::steady_clock::now();
    if (app.theme_changed()) {
      apply_theme(app.settings().light, app.settings().scale > 0 ? app.settings().scale : 1, font_file());
      ImGui_ImplOpenGL3_DestroyFontsTexture();
      ImGui_ImplOpenGL3_CreateFontsTexture();
    }
    ImGui::GetIO().DeltaTime = 1.F / 60;
    ImGui_ImplOpenGL3_NewFrame();
    ImGui::NewFrame();
    app.draw();
    ImGui::Render();
    glViewport(0, 0, width_, height_);
    glClearColor(0, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    save_wanted_picture(app, width_, height_);
    app.spent(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count(),
              process_memory());
  }

  std::vector<unsigned char> pixels() override { return read_pixels(width_, height_); }
  int width() const override { return width_; }
  int height() const override { return height_; }

 private:
  int width_ = 0, height_ = 0;
  EGLDisplay display_ = EGL_NO_DISPLAY;
  EGLContext context_ = EGL_NO_CONTEXT;
  ImGuiContext* imgui_ = nullptr;
  GLuint texture_ = 0, buffer_ = 0;
  bool drawing_ = false;
};

}  // namespace

void save_wanted_picture(App& app, int width, int height) {
  if (!app.picture_wanted()) return;
  const std::string why = write_png(App::kPictureFile, read_pixels(width, height), width, height);
  app.saved(why.empty() ? std::string("wrote ") + App::kPictureFile : why);
}

std::unique_ptr<Canvas> Canvas::make(int width, int height, std::string& why) {
  auto canvas = std::make_unique<EglCanvas>();
  if (const char* missing = canvas->open(width, height)) {
    why = missing;
    return nullptr;
  }
  return canvas;
}

}  // namespace canopy::inspector
