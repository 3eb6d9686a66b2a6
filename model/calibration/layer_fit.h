// SPDX-License-Identifier: Apache-2.0
// What a decoder's layer takes on a GPU beyond its kernels as probes time them, each repeated by itself: between
// kernels of different kinds there is less overlap. From a measured file's points "layer"; it is Engine::layer.
#pragma once
#include <optional>

#include "model/calibration/measured.h"
#include "model/devices/device.h"

namespace draftline {

// The kernels of a layer of our decoder, of which each sequence has one row: four matrix products, two norms with the
// sum before them, rotary embedding, attention and the gate.
Seconds kernels_of_layer(const Device&, const MeasuredPoint& layer);

// Where a pass has one row, matrix products are those of a vector, and more kernels overlap than where it has several.
struct LayerFit {
  std::optional<Seconds> of_one_row, of_rows;
  int points = 0;
  double median_error = 0, worst_error = 0;  // of the layers' times, with it
};
// `d`: calibrated by the same file. None: the file has no layers.
std::optional<LayerFit> fit_layer(const Measured&, const Device& d);

}  // namespace draftline
