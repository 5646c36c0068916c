// The step of a training, as far as the multiprocessors see it: sums of
// products in registers, between a read and a write of memory. It is PTX, which
// every driver compiles, so it needs neither a CUDA compiler nor the module of
// the kernels.
#ifndef LIQUID_OPS_GPU_BENCH_STEP_KERNEL_H_
#define LIQUID_OPS_GPU_BENCH_STEP_KERNEL_H_

namespace liquid {

constexpr char kStepKernel[] = "liquid_bench_step";
constexpr unsigned kStepThreads = 256;  // of a block; one for each number

// liquid_bench_step(float* data, uint32_t count, uint32_t rounds): each number
// becomes half of itself plus one, `rounds` times. 2 stays 2.
constexpr char kStepPtx[] = R"(
.version 6.3
.target sm_75
.address_size 64

.visible .entry liquid_bench_step(
	.param .u64 liquid_bench_step_param_0,
	.param .u32 liquid_bench_step_param_1,
	.param .u32 liquid_bench_step_param_2
)
{
	.reg .pred 	%p<3>;
	.reg .f32 	%f<2>;
	.reg .b32 	%r<8>;
	.reg .b64 	%rd<5>;

	ld.param.u64 	%rd1, [liquid_bench_step_param_0];
	ld.param.u32 	%r1, [liquid_bench_step_param_1];
	ld.param.u32 	%r2, [liquid_bench_step_param_2];
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mov.u32 	%r5, %tid.x;
	mad.lo.s32 	%r6, %r3, %r4, %r5;
	setp.ge.u32 	%p1, %r6, %r1;
	@%p1 bra 	$L__done;
	cvta.to.global.u64 	%rd2, %rd1;
	mul.wide.u32 	%rd3, %r6, 4;
	add.s64 	%rd4, %rd2, %rd3;
	ld.global.f32 	%f1, [%rd4];
	mov.u32 	%r7, 0;
$L__round:
	setp.ge.u32 	%p2, %r7, %r2;
	@%p2 bra 	$L__write;
	fma.rn.f32 	%f1, %f1, 0f3F000000, 0f3F800000;
	add.s32 	%r7, %r7, 1;
	bra.uni 	$L__round;
$L__write:
	st.global.f32 	[%rd4], %f1;
$L__done:
	ret;
}
)";

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_BENCH_STEP_KERNEL_H_
