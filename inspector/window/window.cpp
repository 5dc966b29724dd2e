#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <shell/frame_pace.h>
#include <shell/mouse_queue.h>
#include <shell/theme.h>

#include <algorithm>
#include <cfloat>
#include <chrono>
#include <vector>

#include "canvas.h"
#include "font_file.h"
#include "process_memory.h"
#include "settings_file.h"

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

/// Input since the last frame.
struct Input {
  struct Release {
    int key, scancode, mods;
  };
  FramePace pace;
  bool quit = false;
  std::vector<int> pressed;          ///< keys pressed in this frame
  std::vector<Release> released;     ///< delayed releases of those keys: ImGui would miss a press within one frame
  std::vector<unsigned> characters;  ///< those typed after such a release: a field takes none while Ctrl is down
  MouseQueue mouse;

  void wake() { pace.wake(); }
};
Input input;

void on_key(GLFWwindow* window, int key, int scancode, int action, int mods) {
  input.wake();
  if (action == GLFW_PRESS) input.pressed.push_back(key);
  if (action == GLFW_PRESS && key == GLFW_KEY_Q && (mods & GLFW_MOD_CONTROL)) input.quit = true;
  if (action == GLFW_RELEASE && std::find(input.pressed.begin(), input.pressed.end(), key) != input.pressed.end())
    return input.released.push_back({key, scancode, mods});
  ImGui_ImplGlfw_KeyCallback(window, key, scancode, action, mods);
}

void on_character(GLFWwindow* window, unsigned character) {
  input.wake();
  if (!input.released.empty()) return input.characters.push_back(character);
  ImGui_ImplGlfw_CharCallback(window, character);
}

void after_frame(GLFWwindow* window) {
  for (const Input::Release& one : input.released)
    ImGui_ImplGlfw_KeyCallback(window, one.key, one.scancode, GLFW_RELEASE, one.mods);
  for (const unsigned character : input.characters) ImGui_ImplGlfw_CharCallback(window, character);
  if (!input.released.empty()) input.wake();
  input.released.clear(), input.pressed.clear(), input.characters.clear();
}

/// Installs callbacks. ImGui installs its own later, which call these as well.
void listen(GLFWwindow* window) {
  glfwSetCursorPosCallback(window, [](GLFWwindow*, double x, double y) {
    input.wake();
    input.mouse.move({static_cast<float>(x), static_cast<float>(y)});
  });
  glfwSetMouseButtonCallback(window, [](GLFWwindow*, int button, int action, int) {
    input.wake();
    if (button <= GLFW_MOUSE_BUTTON_MIDDLE) input.mouse.press(static_cast<unsigned>(button), action == GLFW_PRESS);
  });
  glfwSetScrollCallback(window, [](GLFWwindow*, double, double) { input.wake(); });
  glfwSetCursorEnterCallback(window, [](GLFWwindow*, int entered) {
    input.wake();
    if (!entered) input.mouse.move({-FLT_MAX, -FLT_MAX});
  });
  glfwSetWindowFocusCallback(window, [](GLFWwindow*, int) { input.wake(); });
  glfwSetWindowRefreshCallback(window, [](GLFWwindow*) { input.wake(); });
  glfwSetFramebufferSizeCallback(window, [](GLFWwindow*, int, int) { input.wake(); });
}

/// Writes the settings as soon as they change, but at most twice a second, because the process may be ended at any
/// moment.
class Memory {
 public:
  explicit Memory(const Settings& now) : saved_(now) {}
  void keep(const Settings& now, bool at_once = false) {
    const auto time = std::chrono::steady_clock::now();
    if (now == saved_ || (!at_once && time < next_)) return;
    saved_ = now, next_ = time + std::chrono::milliseconds(500);
    save_settings(settings_path(), now);
  }

 private:
  Settings saved_;
  std::chrono::steady_clock::time_point next_{};
};

/// Waits for input, or until it is time to check for changes of the engine. Returns true if there is something to draw.
bool wait_for_something(GLFWwindow* window, const App& app) {
  const bool hidden = glfwGetWindowAttrib(window, GLFW_ICONIFIED) != 0;
  if (!hidden && input.pace.busy(app)) glfwPollEvents();
  else glfwWaitEventsTimeout(hidden ? 0.25 : app.session().state == Session::State::live ? 0.03 : 0.1);
  return !hidden && input.pace.due(app, glfwGetTime());
}

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
  listen(opened.window);
  opened.drawing = ImGui_ImplGlfw_InitForOpenGL(opened.window, true) && ImGui_ImplOpenGL3_Init("#version 150");
  if (!opened.drawing) return "ImGui could not prepare OpenGL";

  glfwSetKeyCallback(opened.window, on_key);
  glfwSetCharCallback(opened.window, on_character);

  Memory memory(settings);
  Settings now = settings;
  std::chrono::milliseconds frame_took{0};
  while (!glfwWindowShouldClose(opened.window)) {
    // If events are waiting, the loop does not also wait for the display.
    const auto budget = reading_time(app, frame_took);
    const bool behind = !app.resting() && !app.pump(budget);
    const bool draws = wait_for_something(opened.window, app);
    if (input.quit) glfwSetWindowShouldClose(opened.window, GLFW_TRUE);
    memory.keep(now);
    if (!draws) continue;
    const auto frame_began = std::chrono::steady_clock::now();
    if (app.theme_changed()) {
      float display = 1;
      glfwGetWindowContentScale(opened.window, &display, nullptr);
      apply_theme(app.settings().light, app.settings().scale > 0 ? app.settings().scale : display, font_file());
      ImGui_ImplOpenGL3_DestroyFontsTexture();
      ImGui_ImplOpenGL3_CreateFontsTexture();
    }
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    if (input.mouse.pass(ImGui::GetIO())) input.wake();
    ImGui::NewFrame();
    app.draw();
    ImGui::Render();
    app.copy_wanted_text();
    int width = 0, height = 0;
    glfwGetFramebufferSize(opened.window, &width, &height);
    glViewport(0, 0, width, height);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    save_wanted_picture(app, width, height);
    app.spent(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - frame_began).count(),
              process_memory());
    glfwSwapInterval(behind ? 0 : 1);
    glfwSwapBuffers(opened.window);
    frame_took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - frame_began);
    after_frame(opened.window);
    now = app.settings();
    glfwGetWindowSize(opened.window, &now.width, &now.height);
  }
  memory.keep(now, true);
  return {};
}

}  // namespace canopy::inspector
