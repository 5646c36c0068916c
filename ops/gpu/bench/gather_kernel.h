// A kernel that copies many pieces of the host's memory, which the device reads
// by itself, to the device's. It is PTX, as step_kernel.h is.
#ifndef LIQUID_OPS_GPU_BENCH_GATHER_KERNEL_H_
#define LIQUID_OPS_GPU_BENCH_GATHER_KERNEL_H_

#include <cstdint>

namespace liquid {

// Everything is a multiple of 16.
struct GatherPiece {
  uint64_t from, to;  // addresses
  uint64_t size, unused;
};

constexpr char kGatherKernel[] = "liquid_bench_gather";
constexpr unsigned kGatherThreads = 256;  // of a block
// Blocks that keep a bus busy: each has 4 KB on their way at once.
constexpr unsigned kMostGatherBlocks = 1024;

// liquid_bench_gather(GatherPiece* pieces, uint32_t count). A block copies a
// piece at a time, any number of blocks all of them.
constexpr char kGatherPtx[] = R"(
.version 6.3
.target sm_75
.address_size 64

.visible .entry liquid_bench_gather(
	.param .u64 liquid_bench_gather_param_0,
	.param .u32 liquid_bench_gather_param_1
)
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<11>;
	.reg .b64 	%rd<14>;

	ld.param.u64 	%rd1, [liquid_bench_gather_param_0];
	ld.param.u32 	%r1, [liquid_bench_gather_param_1];
	cvta.to.global.u64 	%rd2, %rd1;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %nctaid.x;
	mov.u32 	%r4, %tid.x;
	mov.u32 	%r5, %ntid.x;
	mul.wide.u32 	%rd3, %r4, 16;
	mul.wide.u32 	%rd4, %r5, 16;
$L__piece:
	setp.ge.u32 	%p1, %r2, %r1;
	@%p1 bra 	$L__done;
	mul.wide.u32 	%rd5, %r2, 32;
	add.s64 	%rd6, %rd2, %rd5;
	ld.global.u64 	%rd7, [%rd6];
	ld.global.u64 	%rd8, [%rd6+8];
	ld.global.u64 	%rd9, [%rd6+16];
	mov.u64 	%rd10, %rd3;
$L__copy:
	setp.ge.u64 	%p2, %rd10, %rd9;
	@%p2 bra 	$L__next;
	add.s64 	%rd11, %rd7, %rd10;
	add.s64 	%rd12, %rd8, %rd10;
	ld.global.v4.u32 	{%r6, %r7, %r8, %r9}, [%rd11];
	st.global.v4.u32 	[%rd12], {%r6, %r7, %r8, %r9};
	add.s64 	%rd10, %rd10, %rd4;
	bra.uni 	$L__copy;
$L__next:
	add.s32 	%r2, %r2, %r3;
	bra.uni 	$L__piece;
$L__done:
	ret;
}
)";

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_BENCH_GATHER_KERNEL_H_
