#pragma once

// The families of host kernels, a file a family; this list is the only place that names them.

#include <string_view>
#include <utility>
#include <vector>

#include "backend/host/kernels.h"

namespace lazuli::backend::host {

using Family = std::vector<std::pair<std::string_view, HostKernel>>;

Family parts();
Family linalg();
Family fourier();
Family positions();
Family scans();
Family sorting();
Family placing();
Family rwkv7();

inline constexpr Family (*kFamilies[])() = {
    parts,      //
    linalg,     //
    fourier,    //
    positions,  //
    scans,      //
    sorting,    //
    placing,    //
    rwkv7,      //
};

}  // namespace lazuli::backend::host
