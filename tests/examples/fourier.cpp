#include "example.h"

// Fourier transforms.

namespace examples {

Examples fourier() {
    using namespace lazuli;
    Examples examples;
    LAZULI_EXAMPLE(fft::fft, "[10+0j, -2+2j, -2+0j, -2-2j]", fft::fft(Tensor{1.0, 2.0, 3.0, 4.0}));
    LAZULI_EXAMPLE(fft::fft, "[5+0j, -1+1j, -1+0j, -1-1j]",
                   fft::fft(Tensor{1.0, 2.0, 3.0, 4.0}, {.norm = fft::Norm::ortho}));
    LAZULI_EXAMPLE(fft::ifft, "[1, 2, 3, 4]",
                   fft::ifft(fft::fft(Tensor{1.0, 2.0, 3.0, 4.0})).real());
    LAZULI_EXAMPLE(fft::rfft, "[10+0j, -2+2j, -2+0j]", fft::rfft(Tensor{1.0, 2.0, 3.0, 4.0}));
    LAZULI_EXAMPLE(fft::irfft, "[1, 2, 3, 4]", fft::irfft(fft::rfft(Tensor{1.0, 2.0, 3.0, 4.0})));
    LAZULI_EXAMPLE(fft::fftn, "[[10, -2], [-4, 0]]",
                   fft::fftn(Tensor{{1.0, 2.0}, {3.0, 4.0}}).real());
    LAZULI_EXAMPLE(fft::ifftn, "[[1, 2], [3, 4]]",
                   fft::ifftn(Tensor{{10.0, -2.0}, {-4.0, 0.0}}).real());
    LAZULI_EXAMPLE(fft::rfftn, "[2, 3, 3]", fft::rfftn(ones({2, 3, 4})).shape());
    LAZULI_EXAMPLE(fft::irfftn, "[[1, 2], [3, 4]]",
                   fft::irfftn(fft::rfftn(Tensor{{1.0, 2.0}, {3.0, 4.0}})));
    LAZULI_EXAMPLE(fft::fft2, "[[10, -2], [-4, 0]]",
                   fft::fft2(Tensor{{1.0, 2.0}, {3.0, 4.0}}).real());
    LAZULI_EXAMPLE(fft::ifft2, "[[1, 2], [3, 4]]",
                   fft::ifft2(Tensor{{10.0, -2.0}, {-4.0, 0.0}}).real());
    return examples;
}

}  // namespace examples
