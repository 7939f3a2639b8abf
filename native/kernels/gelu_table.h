/* gelu_table.h - the polynomials of vf_gelu_coarse. Piece i holds the coefficients of Phi(i / 4 + r) - 1/2, |r| <= 1/8,
 * from the constant on: tools/fit_polynomials.py gelu_table. */
#ifndef ASC_KERNELS_GELU_TABLE_H
#define ASC_KERNELS_GELU_TABLE_H

static const _Alignas(64) float asc_gelu_table[3][32] = {
    {0x0p+0f,        0x1.945accp-4f, 0x1.881f9ep-3f, 0x1.17ef1ap-2f, 0x1.5d895p-2f,  0x1.93d01cp-2f, 0x1.bb9684p-2f,
     0x1.d6fa78p-2f, 0x1.e8b40cp-2f, 0x1.f37b6p-2f,  0x1.f9a42cp-2f, 0x1.fcf2e4p-2f, 0x1.fe9e28p-2f, 0x1.ff68cp-2f,
     0x1.ffc308p-2f, 0x1.ffe8d4p-2f, 0x1.fff7b4p-2f, 0x1.fffd34p-2f, 0x1.ffff1cp-2f, 0x1.ffffbcp-2f, 0x1.ffffecp-2f,
     0x1.fffffap-2f, 0x1p-1f,        0x1p-1f,        0x1p-1f,        0x1p-1f,        0x1p-1f,        0x1p-1f,
     0x1p-1f,        0x1p-1f,        0x1p-1f,        0x1p-1f},
    {0x1.992088p-2f, 0x1.8b47e8p-2f, 0x1.67fec6p-2f,  0x1.341a3ep-2f,  0x1.ef8e06p-3f,  0x1.7678dep-3f,
     0x1.09e578p-3f, 0x1.62cf8ep-4f, 0x1.bce16p-5f,   0x1.06129p-5f,   0x1.222106p-6f,  0x1.2dcd4ap-7f,
     0x1.26fe8p-8f,  0x1.0eef86p-9f, 0x1.d3a1e8p-11f, 0x1.7b3616p-12f, 0x1.20e1a2p-13f, 0x1.9d41bap-15f,
     0x1.16346p-16f, 0x1.5f0ecp-18f, 0x1.90a8b8p-20f, 0x1.be1b5ep-22f, 0x0p+0f,         0x0p+0f,
     0x0p+0f,        0x0p+0f,        0x0p+0f,         0x0p+0f,         0x0p+0f,         0x0p+0f,
     0x0p+0f,        0x0p+0f},
    {-0x1.a6c22p-7f,   -0x1.9ace24p-5f,  -0x1.69c658p-4f,  -0x1.cdab0cp-4f,  -0x1.ee42fcp-4f, -0x1.d20c78p-4f,
     -0x1.8cd63ep-4f,  -0x1.34b46cp-4f,  -0x1.ba26acp-5f,  -0x1.24e2cep-5f,  -0x1.68195cp-6f, -0x1.9bd332p-7f,
     -0x1.b6f626p-8f,  -0x1.b4426ap-9f,  -0x1.959b3ap-10f, -0x1.5fe98cp-11f, -0x1.1ea12p-12f, -0x1.b661b8p-14f,
     -0x1.34237cp-15f, -0x1.a2b766p-17f, -0x1.9a1eecp-19f, 0x1.94eefap-22f,  0x0p+0f,         0x0p+0f,
     0x0p+0f,          0x0p+0f,          0x0p+0f,          0x0p+0f,          0x0p+0f,         0x0p+0f,
     0x0p+0f,          0x0p+0f},
};

#endif
