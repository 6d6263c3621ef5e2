/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "scene.h"

#include <math.h>
#include <string.h>

/* The world, in pixels; x goes along the street. */
#define WORLD_WIDTH 800
#define HORIZON 318 /* where the pavement begins */
#define KERB 424

#define WALKER_HEIGHT 150
#define WALKER_WIDTH 62
#define WALKER_FEET 402
#define WALKER_START 72
#define WALKER_SPEED 4.0 /* pixels a frame; 1.4 m/s for a person of 1.75 m */
#define STEP_FRAMES 30   /* of two steps */
#define CAMERA_SPEED 0.8
#define FAR_SPEED 0.5 /* speed of the houses, as a share of CAMERA_SPEED */

/* Pixels of premultiplied B, G, R, A. */
typedef struct {
  gint width, height;
  guint8 *pixels;
} Layer;

typedef struct {
  double x, y;
} Point;

/* The paint of a shape: a colour, stripes of another colour, and grain. */
typedef struct {
  guint8 colour[3], stripe[3]; /* red, green, blue */
  gint period;                 /* rows from one stripe to the next; 0 for none */
  double grain;                /* 0 to 1, how much lighter and darker pixels get */
  double opacity;              /* 0 stands for 1 */
} Paint;

struct _Scene {
  Layer houses, trees, street, front; /* from the back to the front */
};

/* Painting */

/* Returns 0 to 1, at random for each point. */
static double hash (gint x, gint y)
{
  guint32 h = (guint32) x * 374761393u + (guint32) y * 668265263u;
  h = (h ^ (h >> 13)) * 1274126177u;
  h ^= h >> 16;
  return (h & 0xffff) / 65535.0;
}

/* Makes smooth patches of about `size` pixels, 0 to 1. */
static double patches (gint x, gint y, gint size)
{
  const gint i = x / size, j = y / size;
  const double u = (double) (x % size) / size, v = (double) (y % size) / size;
  const double top = hash (i, j) * (1 - u) + hash (i + 1, j) * u,
               bottom = hash (i, j + 1) * (1 - u) + hash (i + 1, j + 1) * u;
  return top * (1 - v) + bottom * v;
}

static Layer layer_new (gint width, gint height)
{
  return (Layer){ width, height, g_malloc0 ((gsize) 4 * width * height) };
}

static guint8 *pixel_of (const Layer *layer, gint x, gint y)
{
  return layer->pixels + 4 * ((gsize) y * layer->width + x);
}

static void paint_pixel (Layer *layer, gint x, gint y, double coverage, const Paint *paint)
{
  if (coverage <= 0 || x < 0 || y < 0 || x >= layer->width || y >= layer->height)
    return;
  const gboolean on_stripe = paint->period > 0 && y % paint->period < paint->period / 2;
  const double grain =
      1 + paint->grain * (0.7 * patches (x, y, 7) + 0.3 * patches (x, y, 2) - 0.5) * 2;
  const double opacity = MIN (coverage, 1) * (paint->opacity > 0 ? paint->opacity : 1);
  guint8 *pixel = pixel_of (layer, x, y);
  for (int c = 0; c < 3; c++) {
    const double value = grain * (on_stripe ? paint->stripe : paint->colour)[2 - c];
    pixel[c] = lround (opacity * CLAMP (value, 0, 255) + (1 - opacity) * pixel[c]);
  }
  pixel[3] = lround (255 * opacity + (1 - opacity) * pixel[3]);
}

/* Paints a convex shape, its corners in clockwise order. */
static void polygon (Layer *layer, const Point *corners, gint n, Paint paint)
{
  Point least = corners[0], most = corners[0];
  for (int i = 1; i < n; i++) {
    least = (Point){ MIN (least.x, corners[i].x), MIN (least.y, corners[i].y) };
    most = (Point){ MAX (most.x, corners[i].x), MAX (most.y, corners[i].y) };
  }
  for (gint y = floor (least.y); y <= most.y; y++)
    for (gint x = floor (least.x); x <= most.x; x++) {
      double inside = G_MAXDOUBLE; /* how far the pixel's middle is from the nearest side */
      for (int i = 0; i < n; i++) {
        const Point a = corners[i], b = corners[(i + 1) % n];
        const double length = hypot (b.x - a.x, b.y - a.y);
        inside =
            MIN (inside, ((b.x - a.x) * (y + 0.5 - a.y) - (b.y - a.y) * (x + 0.5 - a.x)) / length);
      }
      paint_pixel (layer, x, y, inside + 0.5, &paint);
    }
}

static void rectangle (Layer *layer, double x, double y, double width, double height, Paint paint)
{
  const Point corners[] = {
    { x, y }, { x + width, y }, { x + width, y + height }, { x, y + height }
  };
  polygon (layer, corners, 4, paint);
}

/* Paints a line with round ends, `radius` wide each way; a disc if both ends are the same. */
static void line (Layer *layer, Point a, Point b, double radius, Paint paint)
{
  const double dx = b.x - a.x, dy = b.y - a.y, square = dx * dx + dy * dy;
  for (gint y = floor (MIN (a.y, b.y) - radius); y <= MAX (a.y, b.y) + radius; y++)
    for (gint x = floor (MIN (a.x, b.x) - radius); x <= MAX (a.x, b.x) + radius; x++) {
      const double px = x + 0.5 - a.x, py = y + 0.5 - a.y;
      const double t = square > 0 ? CLAMP ((px * dx + py * dy) / square, 0, 1) : 0;
      const double distance = hypot (px - t * dx, py - t * dy);
      paint_pixel (layer, x, y, radius - distance + 0.5, &paint);
    }
}

static void disc (Layer *layer, double x, double y, double radius, Paint paint)
{
  line (layer, (Point){ x, y }, (Point){ x, y }, radius, paint);
}

/* The street */

static void draw_house (Layer *layer, double x, double width, double top, const Paint *wall)
{
  const Paint frame = { .colour = { 232, 228, 218 } },
              glass = { .colour = { 72, 90, 108 }, .grain = 0.35 },
              curtain = { .colour = { 190, 196, 190 }, .grain = 0.1 },
              sill = { .colour = { 150, 144, 134 } };
  rectangle (layer, x, top, width, HORIZON - top, *wall);
  rectangle (layer, x, top, width, 10, frame);
  for (double y = top + 34; y < HORIZON - 60; y += 96)
    for (double left = x + 26; left + 50 < x + width; left += 82) {
      rectangle (layer, left, y, 50, 62, frame);
      rectangle (layer, left + 4, y + 4, 19, 54, glass);
      rectangle (layer, left + 27, y + 4, 19, 54, glass);
      if (hash (left, y) > 0.5)
        rectangle (layer, left + 4, y + 4, 42, 20, curtain);
      rectangle (layer, left - 4, y + 62, 58, 6, sill);
    }
}

static Layer draw_houses (void)
{
  const Paint walls[] = {
    { .colour = { 176, 98, 76 }, .stripe = { 164, 86, 66 }, .period = 12, .grain = 0.16 },
    { .colour = { 214, 190, 140 }, .grain = 0.1 },
    { .colour = { 126, 148, 152 }, .grain = 0.12 },
    { .colour = { 186, 130, 90 }, .stripe = { 174, 118, 82 }, .period = 10, .grain = 0.16 },
  };
  const double widths[] = { 214, 190, 180, 216 }, tops[] = { 24, 62, 8, 44 };
  Layer layer = layer_new (WORLD_WIDTH, SCENE_HEIGHT);
  rectangle (&layer, -1, -1, WORLD_WIDTH + 2, SCENE_HEIGHT + 2,
             (Paint){ .colour = { 186, 208, 226 }, .grain = 0.04 });
  double x = 0;
  for (gsize i = 0; i < G_N_ELEMENTS (walls); x += widths[i++])
    draw_house (&layer, x, widths[i], tops[i], &walls[i]);
  return layer;
}

static Layer draw_trees (void)
{
  const Paint bark = { .colour = { 92, 74, 58 }, .grain = 0.4 };
  Layer layer = layer_new (WORLD_WIDTH, SCENE_HEIGHT);
  for (gint x = 96; x < WORLD_WIDTH; x += 236) {
    line (&layer, (Point){ x, 190 }, (Point){ x, HORIZON + 6 }, 8, bark);
    for (int i = 0; i < 22; i++) {
      const double angle = i * 2.4, radius = 15.5 * sqrt (i);
      const guint8 green = 96 + 46 * hash (i, x);
      disc (&layer, x + radius * cos (angle), 128 + radius * sin (angle) * 0.9, 24,
            (Paint){ .colour = { green * 0.62, green, green * 0.4 }, .grain = 0.6 });
    }
  }
  for (gint x = -10; x < WORLD_WIDTH + 20; x += 17) { /* a hedge */
    const guint8 green = 80 + 36 * hash (x, 5);
    line (&layer, (Point){ x, 292 + 8 * hash (x, 7) }, (Point){ x, HORIZON + 8 }, 14,
          (Paint){ .colour = { green * 0.6, green, green * 0.45 }, .grain = 0.5 });
  }
  return layer;
}

static Layer draw_street (void)
{
  const Paint slabs = { .colour = { 176, 170, 160 }, .grain = 0.12 },
              gap = { .colour = { 138, 132, 124 }, .grain = 0.1 },
              kerb = { .colour = { 206, 202, 194 }, .grain = 0.1 },
              asphalt = { .colour = { 92, 92, 96 }, .grain = 0.2 },
              white = { .colour = { 220, 220, 214 }, .grain = 0.1 };
  Layer layer = layer_new (WORLD_WIDTH, SCENE_HEIGHT);
  rectangle (&layer, 0, HORIZON, WORLD_WIDTH, KERB - HORIZON, slabs);
  for (gint y = HORIZON, height = 22; y < KERB; y += height, height += 6)
    rectangle (&layer, 0, y, WORLD_WIDTH, 2, gap);
  for (gint x = -120; x < WORLD_WIDTH; x += 44)
    line (&layer, (Point){ x + 80, HORIZON }, (Point){ x, KERB }, 0.8, gap);
  rectangle (&layer, 0, KERB, WORLD_WIDTH, 9, kerb);
  rectangle (&layer, 0, KERB + 9, WORLD_WIDTH, SCENE_HEIGHT - KERB - 9, asphalt);
  for (gint x = 20; x < WORLD_WIDTH; x += 130)
    rectangle (&layer, x, 470, 70, 6, white);
  return layer;
}

static void draw_wheel (Layer *layer, double x, double y)
{
  disc (layer, x, y, 27, (Paint){ .colour = { 34, 34, 36 }, .grain = 0.2 });
  disc (layer, x, y, 17, (Paint){ .colour = { 168, 170, 174 }, .grain = 0.1 });
  for (int i = 0; i < 5; i++)
    disc (layer, x + 10 * sin (i * 1.2566), y + 10 * cos (i * 1.2566), 3.6,
          (Paint){ .colour = { 70, 72, 76 } });
}

/* Draws a car of 260 pixels, parked at the kerb. */
static void draw_car (Layer *layer, double x, const guint8 *colour)
{
  const double ground = 457;
  const Paint body = { .colour = { colour[0], colour[1], colour[2] }, .grain = 0.1 },
              dark = { .colour = { colour[0] * 0.7, colour[1] * 0.7, colour[2] * 0.7 },
                       .grain = 0.1 },
              glass = { .colour = { 58, 74, 88 }, .grain = 0.3 },
              shine = { .colour = { 150, 172, 186 }, .opacity = 0.5 },
              lamp = { .colour = { 246, 236, 190 } }, rear = { .colour = { 190, 30, 34 } },
              shadow = { .colour = { 0, 0, 0 }, .opacity = 0.45 },
              trim = { .colour = { 40, 42, 46 } };
  const Point roof[] = { { x + 66, ground - 126 },
                         { x + 156, ground - 126 },
                         { x + 202, ground - 78 },
                         { x + 22, ground - 78 } },
              rear_window[] = { { x + 70, ground - 119 },
                                { x + 104, ground - 119 },
                                { x + 104, ground - 82 },
                                { x + 40, ground - 82 } },
              front_window[] = { { x + 112, ground - 119 },
                                 { x + 152, ground - 119 },
                                 { x + 187, ground - 82 },
                                 { x + 112, ground - 82 } },
              gleam[] = { { x + 128, ground - 119 },
                          { x + 138, ground - 119 },
                          { x + 126, ground - 82 },
                          { x + 116, ground - 82 } };
  line (layer, (Point){ x + 24, ground - 8 }, (Point){ x + 238, ground - 8 }, 8, shadow);
  polygon (layer, roof, 4, body);
  line (layer, (Point){ x + 68, ground - 122 }, (Point){ x + 154, ground - 122 }, 5, body);
  line (layer, (Point){ x + 22, ground - 58 }, (Point){ x + 234, ground - 56 }, 22, body);
  rectangle (layer, x + 2, ground - 56, 256, 34, body);
  rectangle (layer, x + 2, ground - 34, 256, 14, dark);
  polygon (layer, rear_window, 4, glass);
  polygon (layer, front_window, 4, glass);
  polygon (layer, gleam, 4, shine);
  rectangle (layer, x + 107, ground - 80, 2, 54, dark);
  rectangle (layer, x + 188, ground - 80, 2, 40, dark);
  rectangle (layer, x + 116, ground - 68, 16, 4, trim);
  line (layer, (Point){ x + 248, ground - 60 }, (Point){ x + 252, ground - 54 }, 6, lamp);
  line (layer, (Point){ x + 5, ground - 64 }, (Point){ x + 5, ground - 50 }, 4, rear);
  disc (layer, x + 56, ground - 26, 31, trim);
  disc (layer, x + 204, ground - 26, 31, trim);
  draw_wheel (layer, x + 56, ground - 26);
  draw_wheel (layer, x + 204, ground - 26);
}

/* Draws a column with posters, wider than the walker. */
static void draw_column (Layer *layer, double x, double width)
{
  static const guint8 posters[][3] = { { 222, 178, 60 },  { 70, 110, 160 }, { 200, 80, 70 },
                                       { 236, 232, 220 }, { 80, 140, 110 }, { 150, 90, 140 } };
  const double top = 216, ground = 440;
  const Paint stone = { .colour = { 122, 118, 112 }, .grain = 0.25 },
              roof = { .colour = { 66, 84, 78 }, .grain = 0.25 };
  rectangle (layer, x, top, width, ground - top, stone);
  for (int i = 0; i < 6; i++) {
    const guint8 *c = posters[i];
    const double left = x + 3 + i % 2 * width / 2, y = top + 18 + i / 2 * 62;
    rectangle (layer, left, y, width / 2 - 6, 56,
               (Paint){ .colour = { c[0], c[1], c[2] }, .grain = 0.1 });
    for (int row = 0; row < 4; row++)
      rectangle (layer, left + 5, y + 10 + 11 * row, (width / 2 - 16) * (0.5 + 0.5 * hash (i, row)),
                 4, (Paint){ .colour = { 40, 40, 44 } });
    disc (layer, left + width / 4 - 3, y + 18, 8,
          (Paint){ .colour = { 255 - c[0], 255 - c[1], 255 - c[2] } });
  }
  rectangle (layer, x - 5, top - 6, width + 10, 18, roof);
  line (layer, (Point){ x + 12, top - 8 }, (Point){ x + width - 12, top - 8 }, 9, roof);
  rectangle (layer, x - 4, ground - 14, width + 8, 16, stone);
}

static void draw_lamp_post (Layer *layer, double x)
{
  const Paint iron = { .colour = { 52, 58, 60 }, .grain = 0.2 };
  rectangle (layer, x, 60, 9, 376, iron);
  rectangle (layer, x - 5, 396, 19, 42, iron);
  line (layer, (Point){ x + 4, 62 }, (Point){ x + 52, 50 }, 3, iron);
  line (layer, (Point){ x + 48, 53 }, (Point){ x + 66, 50 }, 6,
        (Paint){ .colour = { 240, 236, 208 } });
}

static Layer draw_front (void)
{
  static const guint8 blue[] = { 58, 96, 150 }, silver[] = { 172, 174, 178 };
  Layer layer = layer_new (WORLD_WIDTH, SCENE_HEIGHT);
  draw_lamp_post (&layer, 142);
  draw_car (&layer, 176, silver);
  draw_column (&layer, 486, 86);
  draw_car (&layer, 672, blue);
  return layer;
}

/* The walker */

/* A leg or an arm of two parts; angles from straight down, in radians, forwards is positive. */
static Point limb (Layer *layer, Point from, double upper, double lower, double length,
                   double radius, const Paint *paint_upper, const Paint *paint_lower)
{
  const Point joint = { from.x + length * sin (upper), from.y + length * cos (upper) },
              end = { joint.x + length * sin (lower), joint.y + length * cos (lower) };
  line (layer, joint, end, radius * 0.85, *paint_lower);
  line (layer, from, joint, radius, *paint_upper);
  return end;
}

static void draw_leg (Layer *layer, Point hip, double phase, const Paint *cloth)
{
  const Paint shoe = { .colour = { 236, 232, 226 }, .grain = 0.1 };
  const double swing = 0.34 * sin (phase), bend = 0.34 * (1 - cos (phase - 0.9)) / 2;
  Point foot = limb (layer, hip, swing + bend * 0.5, swing - bend, 33, 8, cloth, cloth);
  foot.y += 1;
  line (layer, foot, (Point){ foot.x + 9, foot.y + 1 }, 4.5, shoe);
}

/* The walker as a layer of its own, in a box of the walker's size. */
static Layer draw_walker (guint frame)
{
  const double phase = 2 * G_PI * frame / STEP_FRAMES, middle = WALKER_WIDTH / 2.0 - 3,
               bob = 1.2 * cos (2 * phase);
  const Paint skin = { .colour = { 226, 178, 148 }, .grain = 0.06 },
              hair = { .colour = { 70, 46, 30 }, .grain = 0.4 },
              shirt = { .colour = { 208, 40, 48 },
                        .stripe = { 244, 240, 232 },
                        .period = 12,
                        .grain = 0.08 },
              far_shirt = { .colour = { 160, 28, 36 },
                            .stripe = { 190, 186, 180 },
                            .period = 12,
                            .grain = 0.08 },
              trousers = { .colour = { 40, 54, 104 }, .grain = 0.25 },
              far_trousers = { .colour = { 28, 38, 76 }, .grain = 0.25 },
              bag = { .colour = { 232, 176, 40 }, .grain = 0.2 };
  Layer layer = layer_new (WALKER_WIDTH, WALKER_HEIGHT);
  const Point hip = { middle, 76 + bob }, neck = { middle + 1, 31 + bob },
              shoulder = { middle, 38 + bob };

  limb (&layer, shoulder, -0.45 * sin (phase + G_PI), -0.45 * sin (phase + G_PI) + 0.25, 23, 5,
        &far_shirt, &skin);
  draw_leg (&layer, hip, phase + G_PI, &far_trousers);
  draw_leg (&layer, hip, phase, &trousers);
  line (&layer, (Point){ middle - 11, 44 + bob }, (Point){ middle - 12, 64 + bob }, 9, bag);
  line (&layer, (Point){ middle, 40 + bob }, (Point){ middle, 72 + bob }, 12.5, shirt);
  line (&layer, neck, (Point){ neck.x, neck.y - 8 }, 5, skin);
  disc (&layer, middle + 2, 16 + bob, 11, skin);
  line (&layer, (Point){ middle - 4, 15 + bob }, (Point){ middle + 3, 9.5 + bob }, 7.5, hair);
  disc (&layer, middle + 8.5, 15 + bob, 1.6, hair);
  limb (&layer, shoulder, -0.45 * sin (phase), -0.45 * sin (phase) + 0.25, 23, 5.5, &shirt, &skin);
  return layer;
}

/* The film */

/* Lays a row of a layer, from its pixel `from` on, over a row of the frame. */
static void lay_row (guint8 *row, const Layer *layer, gint y, gint from)
{
  for (gint x = 0; x < SCENE_WIDTH; x++, row += 4) {
    const guint8 *over = pixel_of (layer, CLAMP (from + x, 0, layer->width - 1), y);
    for (int c = 0; over[3] > 0 && c < 3; c++)
      row[c] = MIN (over[c] + (row[c] * (255 - over[3]) + 127) / 255, 255);
  }
}

Scene *scene_new (void)
{
  Scene *scene = g_new (Scene, 1);
  scene->houses = draw_houses ();
  scene->trees = draw_trees ();
  scene->street = draw_street ();
  scene->front = draw_front ();
  return scene;
}

void scene_free (Scene *scene)
{
  g_free (scene->houses.pixels);
  g_free (scene->trees.pixels);
  g_free (scene->street.pixels);
  g_free (scene->front.pixels);
  g_free (scene);
}

SceneTruth scene_draw (const Scene *scene, guint frame, guint8 *pixels)
{
  const gint camera = lround (CAMERA_SPEED * frame),
             far = lround (FAR_SPEED * CAMERA_SPEED * frame);
  const gint in_world = lround (WALKER_START + WALKER_SPEED * frame - WALKER_WIDTH / 2.0);
  SceneTruth truth = { .box = { in_world - camera, WALKER_FEET - WALKER_HEIGHT, WALKER_WIDTH,
                                WALKER_HEIGHT } };
  Layer walker = draw_walker (frame);

  gint all = 0, hidden = 0;
  for (gint y = 0; y < WALKER_HEIGHT; y++)
    for (gint x = 0; x < WALKER_WIDTH; x++)
      if (pixel_of (&walker, x, y)[3] > 127) {
        all++;
        hidden += pixel_of (&scene->front, in_world + x, truth.box.y + y)[3] > 127;
      }
  truth.hidden = (double) hidden / all;

  for (gint y = 0; pixels && y < SCENE_HEIGHT; y++) {
    guint8 *row = pixels + (gsize) 4 * SCENE_WIDTH * y;
    /* the wind moves the crowns, and not the trunks' feet */
    const double reach = CLAMP ((double) (HORIZON - y) / HORIZON, 0, 1);
    const gint sway = lround (5 * reach * sin (2 * G_PI * frame / 50 + y / 45.0));
    memset (row, 255, (gsize) 4 * SCENE_WIDTH);
    lay_row (row, &scene->houses, y, far);
    lay_row (row, &scene->trees, y, camera + sway);
    lay_row (row, &scene->street, y, camera);
    if (y >= truth.box.y && y < truth.box.y + truth.box.h)
      for (gint x = 0; x < WALKER_WIDTH; x++) {
        const guint8 *over = pixel_of (&walker, x, y - truth.box.y);
        guint8 *at = row + 4 * (truth.box.x + x);
        for (int c = 0; c < 3; c++)
          at[c] = MIN (over[c] + (at[c] * (255 - over[3]) + 127) / 255, 255);
      }
    lay_row (row, &scene->front, y, camera);
  }
  g_free (walker.pixels);
  return truth;
}
