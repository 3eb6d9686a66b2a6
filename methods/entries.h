// SPDX-License-Identifier: Apache-2.0
// The entries of all methods, one function per method, defined in the method's own file; table.cpp lists them.
#pragma once
#include "methods/table.h"

namespace draftline::methods {

Entry autoregressive();
Entry draft_model();
Entry pard();
Entry pearl();
Entry medusa();
Entry medusa_typical();
Entry eagle1();
Entry eagle2();
Entry hass();
Entry eagle3();
Entry p_eagle();
Entry dflash();
Entry dspark();
Entry dflash2();
Entry eagle3_1();
Entry specformer();
Entry mcsd();
Entry sequoia();
Entry mtp_heads();
Entry mtp_sequential();
Entry gemma4_assistant();
Entry hydra();
Entry hydra_plus();
Entry clover();
Entry s3d();
Entry space();
Entry prompt_lookup();
Entry suffix_decoding();
Entry assisted();
Entry bild();
Entry self_spec();
Entry layerskip();
Entry kangaroo();
Entry magicdec_streaming();
Entry magicdec_snapkv();
Entry triforce();
Entry jacobi();
Entry cllm();
Entry lookahead();
Entry ouroboros();

}  // namespace draftline::methods
