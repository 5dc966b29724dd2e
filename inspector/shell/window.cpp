#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>

#include "canvas.h"
#include "theme.h"

namespace canopy::inspector {
namespace {

std::string glfw_says;

/// GLFW and ImGui while a window is open.
struct Opened {
  GLFWwindow* window = nullptr;
  bool drawing = false;
  ~Opened() {
    if (drawing) {
      ImGui_ImplOpenGL3_Shutdown();
      ImGui_ImplGlfw_Shutdown();
      ImGui::DestroyContext();
    }
    if (window) glfwDestroyWindow(window);
    glfwTerminate();
  }
};

}  // namespace

std::string show_in_window(App& app, const Settings& settings) {
  glfwSetErrorCallback([](int, const char* what) { glfw_says = what; });
  if (!glfwInit()) return "no window can be opened: " + glfw_says;
  Opened opened;
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 2);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  opened.window = glfwCreateWindow(settings.width, settings.height, "canopy", nullptr, nullptr);
  if (!opened.window) return "no window can be opened: " + glfw_says;
  glfwSetWindowSizeLimits(opened.window, 960, 600, GLFW_DONT_CARE, GLFW_DONT_CARE);
  glfwMakeContextCurrent(opened.window);
  glfwSwapInterval(1);
  ImGui::CreateContext();
  ImGui::GetIO().IniFilename = nullptr;
  opened.drawing = ImGui_ImplGlfw_InitForOpenGL(opened.window, true) && ImGui_ImplOpenGL3_Init("#version 150");
  if (!opened.drawing) return "ImGui could not prepare OpenGL";

  Settings last = settings;
  const auto remember = [&] {
    Settings now = app.settings();
    now.width = last.width, now.height = last.height;
    now.save(Settings::path());
  };
  while (!glfwWindowShouldClose(opened.window)) {
    // If events wait, the loop does not also wait for the display.
    // A moment of a recording that is near is there before the next frame; one that is far has a bar meanwhile.
    const std::chrono::milliseconds budget(app.time().seekable || app.loading() ? 100 : 10);
    const bool behind = !app.resting() && !app.pump(budget);
    glfwPollEvents();
    const bool control =
        glfwGetKey(opened.window, GLFW_KEY_LEFT_CONTROL) || glfwGetKey(opened.window, GLFW_KEY_RIGHT_CONTROL);
    if (control && glfwGetKey(opened.window, GLFW_KEY_Q)) glfwSetWindowShouldClose(opened.window, GLFW_TRUE);
    if (app.theme_changed()) {
      float display = 1;
      glfwGetWindowContentScale(opened.window, &display, nullptr);
      apply_theme(app.settings().light, app.settings().scale > 0 ? app.settings().scale : display);
      ImGui_ImplOpenGL3_DestroyFontsTexture();
      ImGui_ImplOpenGL3_CreateFontsTexture();
    }
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    ImGui::NewFrame();
    app.draw();
    ImGui::Render();
    int width = 0, height = 0;
    glfwGetFramebufferSize(opened.window, &width, &height);
    glViewport(0, 0, width, height);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    glfwSwapInterval(behind ? 0 : 1);
    glfwSwapBuffers(opened.window);
    glfwGetWindowSize(opened.window, &last.width, &last.height);
  }
  remember();
  return {};
}

}  // namespace canopy::inspector
