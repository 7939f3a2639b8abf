/* The cube's instructions: loads into L1, L0A and L0B, the product, and the way out of L0C. */
#pragma once

#include "copy_enhanced.h"
#include "cube_modes.h"
#include "fixpipe.h"
#include "init_const.h"
#include "load_im2col.h"
#include "mmad.h"
#include "nd_nz.h"
