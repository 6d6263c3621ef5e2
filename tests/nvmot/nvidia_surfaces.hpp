// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Surfaces of NVIDIA's own library on the first GPU, filled by NVIDIA's transform as nvtracker
// fills the tracker's frames: asynchronously, on a stream of its own, with a wait. Both libraries
// are looked up at run time; only the needed fields of their structs are declared.
#pragma once

#include <cstring>
#include <string>

#include <dlfcn.h>

#include <glib.h>

#include "device_memory.hpp"

namespace nvtracker {

class NvidiaSurfaces {
public:
  /// Returns null if there is no GPU, or if one of the libraries is missing.
  static const NvidiaSurfaces *get ()
  {
    static const std::unique_ptr<NvidiaSurfaces> all = open ();
    return all.get ();
  }

  struct Rectangle {
    guint32 top, left, width, height;
    gpointer reserved[4];
  };
  struct Transform {
    guint32 flags;
    gint32 flip, filter;
    const Rectangle *from, *to;
    gpointer reserved[4];
  };

  int (*create) (guint8 **, guint32, const void *);
  int (*destroy) (guint8 *);
  int (*set_session) (const void *);
  int (*start) (guint8 *, guint8 *, const Transform *, gpointer *);
  int (*wait) (gpointer, gint32);
  int (*end) (gpointer *);

private:
  static std::unique_ptr<NvidiaSurfaces> open ()
  {
    const Driver *const driver = Driver::get ();
    void *const surfaces = dlopen ("libnvbufsurface.so", RTLD_NOW | RTLD_GLOBAL),
                *const transforms = dlopen ("libnvbufsurftransform.so", RTLD_NOW | RTLD_GLOBAL);
    if (!driver || !surfaces || !transforms)
      return nullptr;
    auto made = std::make_unique<NvidiaSurfaces> ();
    const auto find = []<class F> (void *file, F &function, const char *name) {
      function = reinterpret_cast<F> (dlsym (file, name));
      if (!function)
        g_error ("no %s", name);
    };
    find (surfaces, made->create, "NvBufSurfaceCreate");
    find (surfaces, made->destroy, "NvBufSurfaceDestroy");
    find (transforms, made->set_session, "NvBufSurfTransformSetSessionParams");
    find (transforms, made->start, "NvBufSurfTransformAsync");
    find (transforms, made->wait, "NvBufSurfTransformSyncObjWait");
    find (transforms, made->end, "NvBufSurfTransformSyncObjDestroy");
    const struct {
      gint32 compute = 0, gpu = 0;
      void *stream;
      gpointer reserved[4] = {};
    } session = { .stream = driver->make_stream () };
    made->set_session (&session);
    return made;
  }
};

/// An NV12 surface in the GPU's memory.
class NvidiaSurface {
public:
  NvidiaSurface (int width, int height) : width_ (guint32 (width)), height_ (guint32 (height))
  {
    const struct {
      guint32 gpu = 0, width, height, bytes = 0;
      gboolean is_contiguous = FALSE;
      gint32 format = 6, layout = 0, memory = 2;
      gpointer reserved[4] = {};
    } params = { .width = width_, .height = height_ };
    if (NvidiaSurfaces::get ()->create (&surface_, 1, &params) != 0)
      g_error ("no surface of %dx%d", width, height);
    const guint32 one = 1;
    memcpy (surface_ + 8, &one, sizeof one);
  }
  NvidiaSurface (NvidiaSurface &&other) noexcept
      : width_ (other.width_), height_ (other.height_),
        surface_ (std::exchange (other.surface_, nullptr))
  {
  }
  ~NvidiaSurface ()
  {
    if (surface_)
      NvidiaSurfaces::get ()->destroy (surface_);
  }

  /// Returns the surface's parameters, which NvMOT_Process gets.
  guint8 *parameters () const { return at<guint8 *> (surface_, 24); }

  /// Writes the rows of a picture without gaps.
  void upload (const guint8 *picture)
  {
    for (int plane = 0; plane < 2; plane++)
      for (guint32 y = 0; y < height_ >> plane; y++) {
        const auto row = reinterpret_cast<Driver::Pointer> (at<guint8 *> (parameters (), 40))
                         + at<guint32> (parameters (), 100 + 4 * plane)
                         + y * at<guint32> (parameters (), 84 + 4 * plane);
        Driver::get ()->upload (row, picture, width_);
        picture += width_;
      }
  }
  /// Fills this surface with the whole of another one, scaled.
  void scale_from (const NvidiaSurface &from)
  {
    const NvidiaSurfaces &library = *NvidiaSurfaces::get ();
    const NvidiaSurfaces::Rectangle all = { 0, 0, from.width_, from.height_, {} },
                                    target = { 0, 0, width_, height_, {} };
    const NvidiaSurfaces::Transform how = { 4, 0, 1, &all, &target, {} };
    gpointer done = nullptr;
    if (library.start (from.surface_, surface_, &how, &done) != 0 || library.wait (done, -1) != 0)
      g_error ("no transform");
    library.end (&done);
  }
  void fill (unsigned char byte)
  {
    Driver::get ()->fill (reinterpret_cast<Driver::Pointer> (at<guint8 *> (parameters (), 40)),
                          byte, at<guint32> (parameters (), 32));
  }

private:
  template <class T>
  static T at (const guint8 *from, std::size_t offset)
  {
    T value;
    memcpy (&value, from + offset, sizeof value);
    return value;
  }

  const guint32 width_, height_;
  guint8 *surface_ = nullptr;
};

}  // namespace nvtracker
