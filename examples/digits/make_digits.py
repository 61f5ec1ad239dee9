#!/usr/bin/env python3
"""Draws handwritten-looking digits: data to train on, without a download.

    make_digits.py [--out build/digits] [--train 4000] [--test 1000] [--size 28] [--seed 1]

writes train_images.npy and test_images.npy, u8 [count, size, size], 0 is paper and 255 ink, and train_labels.npy and
test_labels.npy, i32 [count]. Needs numpy alone. The same options make the same files.

A digit is a few strokes of a pen, given by points in a square of 0 to 1 (x to the right, y downwards) through which a smooth curve
goes. Points are moved a little, the whole is turned, slanted, stretched and shifted, and pixels are inked by their distance to the
curve for a pen of some thickness; then comes noise.
"""

import argparse
import os

import numpy as np


def circle(x, y, rx, ry, begin=0.0, end=1.0, points=9):
    """Points of an ellipse, from `begin` to `end` turns clockwise of its top."""
    angles = 2 * np.pi * np.linspace(begin, end, points)
    return [(x + rx * np.sin(a), y - ry * np.cos(a)) for a in angles]


# Ways to write each digit: strokes, and whether their points are joined smoothly or by lines.
SMOOTH, LINES = True, False
DIGITS = {
    0: [[(SMOOTH, circle(0.5, 0.5, 0.26, 0.4))]],
    1: [[(LINES, [(0.5, 0.1), (0.5, 0.9)])],
        [(LINES, [(0.32, 0.28), (0.53, 0.1), (0.53, 0.9)])],
        [(LINES, [(0.34, 0.26), (0.52, 0.1), (0.52, 0.9)]), (LINES, [(0.34, 0.9), (0.7, 0.9)])]],
    2: [[(SMOOTH, [(0.25, 0.3), (0.33, 0.14), (0.52, 0.1), (0.7, 0.2), (0.7, 0.38), (0.55, 0.58), (0.38, 0.74), (0.25, 0.88)]),
         (LINES, [(0.25, 0.88), (0.76, 0.88)])]],
    3: [[(SMOOTH, [(0.27, 0.18), (0.45, 0.1), (0.65, 0.15), (0.7, 0.3), (0.6, 0.43), (0.45, 0.47)]),
         (SMOOTH, [(0.45, 0.47), (0.65, 0.53), (0.73, 0.68), (0.64, 0.84), (0.45, 0.9), (0.25, 0.82)])]],
    4: [[(LINES, [(0.56, 0.1), (0.22, 0.62), (0.78, 0.62)]), (LINES, [(0.6, 0.4), (0.6, 0.92)])],
        [(LINES, [(0.28, 0.12), (0.25, 0.55), (0.76, 0.55)]), (LINES, [(0.66, 0.12), (0.64, 0.92)])],
        [(LINES, [(0.62, 0.92), (0.62, 0.1), (0.22, 0.64), (0.8, 0.64)])]],
    5: [[(LINES, [(0.7, 0.11), (0.33, 0.11), (0.3, 0.45)]),
         (SMOOTH, [(0.3, 0.45), (0.5, 0.4), (0.68, 0.48), (0.73, 0.65), (0.64, 0.83), (0.45, 0.9), (0.26, 0.82)])]],
    6: [[(SMOOTH, [(0.64, 0.1), (0.44, 0.24), (0.31, 0.46), (0.27, 0.68), (0.36, 0.85), (0.52, 0.9), (0.68, 0.82), (0.72, 0.66),
                   (0.62, 0.52), (0.46, 0.51), (0.31, 0.62)])]],
    7: [[(LINES, [(0.24, 0.13), (0.75, 0.13), (0.42, 0.9)])],
        [(LINES, [(0.24, 0.13), (0.75, 0.13), (0.45, 0.9)]), (LINES, [(0.38, 0.5), (0.74, 0.5)])]],
    8: [[(SMOOTH, circle(0.5, 0.29, 0.2, 0.19)), (SMOOTH, circle(0.5, 0.69, 0.24, 0.21))]],
    9: [[(SMOOTH, circle(0.48, 0.32, 0.22, 0.21, 0.25, 1.25)), (SMOOTH, [(0.7, 0.32), (0.69, 0.55), (0.62, 0.74), (0.5, 0.91)])],
        [(SMOOTH, circle(0.48, 0.32, 0.22, 0.21, 0.25, 1.25)), (LINES, [(0.7, 0.3), (0.68, 0.91)])]],
}


def curve(points, between=4):
    """A Catmull-Rom curve through points, as points of a chain of short lines."""
    closed = np.allclose(points[0], points[-1], atol=0.08) and len(points) > 7
    before, after = (points[-2], points[1]) if closed else (points[0], points[-1])
    p = np.concatenate([[before], points, [after]])
    t = np.linspace(0, 1, between, endpoint=False)[:, None]
    out = []
    for a, b, c, d in zip(p, p[1:], p[2:], p[3:]):
        out.append(0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t ** 2 + (3 * b - a - 3 * c + d) * t ** 3))
    return np.concatenate(out + [points[-1:]])


def segments(digit, random):
    """The ends of all short lines, [n, 2] each, of a digit written by some hand."""
    ways = DIGITS[digit]
    strokes = ways[random.integers(len(ways))]
    slant, turn = random.normal(0.06, 0.14), random.normal(0, 0.1)
    width, height = random.uniform(0.75, 1.1), random.uniform(0.82, 1.08)
    turned = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    shape = turned @ np.array([[1, -slant], [0, 1]]) @ np.diag([width, height])
    wave = random.normal(0, 0.025, (2, 2))  # bends the whole, so that strokes that meet still meet
    begins, ends = [], []
    for smooth, points in strokes:
        points = np.array(points)
        inner = points[1:-1]
        inner += random.normal(0, 0.016, inner.shape)
        points = points + wave[0] * np.sin(4 * points[:, ::-1] + 6 * wave[1])
        line = curve(points) if smooth else points
        line = (line - 0.5) @ shape.T
        begins.append(line[:-1])
        ends.append(line[1:])
    return np.concatenate(begins), np.concatenate(ends)


def draw(digit, size, random):
    """One image, u8 [size, size]."""
    begin, end = segments(digit, random)
    scale = 0.74 * size
    shift = (size - 1) / 2 + random.uniform(-0.075, 0.075, 2) * size
    begin, end = begin * scale + shift, end * scale + shift
    # The square of the distance to begin + share * along is |to|^2 - 2 share (to . along) + share^2 |along|^2.
    along, grid = (end - begin).astype(np.float32), np.arange(size, dtype=np.float32)[:, None]
    x, y = grid - begin[:, 0].astype(np.float32), grid - begin[:, 1].astype(np.float32)  # [size, n]: columns, rows
    length = np.maximum((along * along).sum(-1), 1e-6)
    forward = (x * along[:, 0])[None] + (y * along[:, 1])[:, None]  # [size, size, n]
    share = np.clip(forward / length, 0, 1)
    squares = (x * x)[None] + (y * y)[:, None] + share * (share * length - 2 * forward)
    distance = np.sqrt(np.maximum(squares.min(-1), 0))
    radius = random.uniform(0.026, 0.062) * size
    ink = np.clip((radius - distance) / 1.2 + 0.5, 0, 1) * random.uniform(0.8, 1.0)
    noise = random.normal(0, random.uniform(0.0, 0.08), ink.shape)
    return (np.clip(ink + noise, 0, 1) * 255).round().astype(np.uint8)


def examples(count, size, seed):
    """Images and labels; there are as many of each digit, in drawn order."""
    random = np.random.default_rng(seed)
    labels = random.permutation(np.arange(count) % 10).astype(np.int32)
    images = np.empty((count, size, size), dtype=np.uint8)
    for number, label in enumerate(labels):
        images[number] = draw(int(label), size, random)
    return images, labels


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.join("build", "digits"))
    parser.add_argument("--train", type=int, default=4000)
    parser.add_argument("--test", type=int, default=1000)
    parser.add_argument("--size", type=int, default=28)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    for name, count, part in (("train", options.train, 0), ("test", options.test, 1)):
        images, labels = examples(count, options.size, [options.seed, part])
        np.save(os.path.join(options.out, name + "_images.npy"), images)
        np.save(os.path.join(options.out, name + "_labels.npy"), labels)
        print("%s: %d images of %d x %d" % (os.path.join(options.out, name + "_images.npy"), count, options.size, options.size))


if __name__ == "__main__":
    main()
