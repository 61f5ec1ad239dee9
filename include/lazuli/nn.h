#pragma once

/// @file
/// All of neural networks: modules, layers, losses, first values, adapters.

#include "lazuli/nn/init.h"         // IWYU pragma: export
#include "lazuli/nn/language.h"     // IWYU pragma: export
#include "lazuli/nn/layers.h"       // IWYU pragma: export
#include "lazuli/nn/lora.h"         // IWYU pragma: export
#include "lazuli/nn/losses.h"       // IWYU pragma: export
#include "lazuli/nn/module.h"       // IWYU pragma: export
#include "lazuli/nn/recurrent.h"    // IWYU pragma: export
#include "lazuli/nn/rwkv7.h"        // IWYU pragma: export
#include "lazuli/nn/transformer.h"  // IWYU pragma: export
