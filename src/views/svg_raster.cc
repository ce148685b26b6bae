#include "views/svg_raster.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

namespace vramfit::views {

using base::ErrorCode;
using base::Result;

namespace {

constexpr int kScale = 2;

// cairo.h and librsvg/rsvg.h, as far as it is used here. librsvg 2.46 (2019) is the first with render_document.
struct Rectangle {
  double x = 0, y = 0, width = 0, height = 0;
};
using WriteFunction = int (*)(void* closure, const unsigned char* data, unsigned int length);
constexpr int kFormatArgb32 = 0;
constexpr int kSuccess = 0;
constexpr int kWriteError = 11;  // CAIRO_STATUS_WRITE_ERROR

struct Libraries {
  void* (*surface_create)(int format, int width, int height) = nullptr;
  int (*surface_status)(void* surface) = nullptr;
  void (*surface_destroy)(void* surface) = nullptr;
  int (*surface_write)(void* surface, WriteFunction write, void* closure) = nullptr;
  void* (*context_create)(void* surface) = nullptr;
  void (*context_destroy)(void* context) = nullptr;
  void* (*handle_from_data)(const unsigned char* data, std::size_t length, void** error) = nullptr;
  int (*handle_render)(void* handle, void* context, const Rectangle* viewport, void** error) = nullptr;
  void (*object_unref)(void* object) = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = library == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

std::optional<Libraries> open_libraries() {
  void* cairo = ::dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL);
  void* rsvg = ::dlopen("librsvg-2.so.2", RTLD_NOW | RTLD_LOCAL);
  void* objects = ::dlopen("libgobject-2.0.so.0", RTLD_NOW | RTLD_LOCAL);
  Libraries found;
  const bool all = find(cairo, "cairo_image_surface_create", found.surface_create) &&
                   find(cairo, "cairo_surface_status", found.surface_status) &&
                   find(cairo, "cairo_surface_destroy", found.surface_destroy) &&
                   find(cairo, "cairo_surface_write_to_png_stream", found.surface_write) &&
                   find(cairo, "cairo_create", found.context_create) &&
                   find(cairo, "cairo_destroy", found.context_destroy) &&
                   find(rsvg, "rsvg_handle_new_from_data", found.handle_from_data) &&
                   find(rsvg, "rsvg_handle_render_document", found.handle_render) &&
                   find(objects, "g_object_unref", found.object_unref);
  return all ? std::optional(found) : std::nullopt;
}

int append(void* closure, const unsigned char* data, unsigned int length) {
  try {
    static_cast<std::string*>(closure)->append(reinterpret_cast<const char*>(data), length);
    return kSuccess;
  } catch (...) {
    return kWriteError;
  }
}

// `width="960"` of the document's first tag.
int read_size(std::string_view svg, std::string_view name) {
  const std::string key = fmt::format(" {}=\"", name);
  const std::size_t at = svg.find(key);
  int size = 0;
  if (at != std::string_view::npos) std::from_chars(svg.data() + at + key.size(), svg.data() + svg.size(), size);
  return size;
}

using Owned = std::unique_ptr<void, void (*)(void*)>;

}  // namespace

Result<std::string> svg_to_png(const std::string& svg) {
  static const std::optional<Libraries> libraries = open_libraries();
  if (!libraries) {
    return base::fail(ErrorCode::kNotFound, "PNG needs librsvg and cairo, which are not installed here", "",
                      "apt-get install librsvg2-2 (or librsvg2), or --to svg");
  }
  const auto refused = [](std::string_view what) {
    return base::fail(ErrorCode::kSystem, fmt::format("the picture could not be drawn: {}", what), "", "--to svg");
  };
  const int width = read_size(svg, "width") * kScale, height = read_size(svg, "height") * kScale;
  const Owned surface(libraries->surface_create(kFormatArgb32, width, height), libraries->surface_destroy);
  if (libraries->surface_status(surface.get()) != kSuccess) return refused("no room for it");
  const Owned handle(
      libraries->handle_from_data(reinterpret_cast<const unsigned char*>(svg.data()), svg.size(), nullptr),
      [](void* object) {
        if (object != nullptr) libraries->object_unref(object);
      });
  if (!handle) return refused("librsvg does not read it");
  const Owned context(libraries->context_create(surface.get()), libraries->context_destroy);
  const Rectangle viewport{.width = static_cast<double>(width), .height = static_cast<double>(height)};
  if (libraries->handle_render(handle.get(), context.get(), &viewport, nullptr) == 0) return refused("librsvg failed");
  std::string png;
  if (libraries->surface_write(surface.get(), append, &png) != kSuccess) return refused("cairo failed");
  return png;
}

}  // namespace vramfit::views
