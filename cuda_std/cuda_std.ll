; What Rust cannot say: the dynamic shared memory of a block, and addresses within it.
;
; `cuda_builder` links this file into every kernel crate. The functions are inlined away; LLVM then knows that the
; addresses lie in shared memory and emits ld.shared and st.shared instead of generic accesses.

target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Its size is set at launch; 16 is the alignment that 16-byte accesses need.
@cuda_std_dynamic_shared = external addrspace(3) global [0 x i8], align 16

define ptr @cuda_std_shared_base() alwaysinline nounwind willreturn memory(none) {
  ret ptr addrspacecast (ptr addrspace(3) @cuda_std_dynamic_shared to ptr)
}

define i32 @cuda_std_shared_address(ptr %generic) alwaysinline nounwind willreturn memory(none) {
  %shared = addrspacecast ptr %generic to ptr addrspace(3)
  %address = ptrtoint ptr addrspace(3) %shared to i32
  ret i32 %address
}
