// SPDX-License-Identifier: Apache-2.0
// The largest of several random values: the last of the ranks that meet, the busiest of the devices that share a load.
#pragma once

namespace draftline {

// The expected largest of n independent standard normal values; 0 for one. Bug if n < 1.
double expected_largest(int n);

// How far the largest of n equal shares of a given sum is expected to lie above their mean, if the shares, of this
// variance each, are normally distributed. 0 for one.
double expected_excess(double variance, int n);

}  // namespace draftline
