/*
 * A library of 150 MB with 10.8 MB of .eh_frame: 180,000 functions, room, and in the
 * middle one that calls what it is given and uses the frame pointer for something else.
 */
#if defined(__x86_64__)
	.macro small
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset 3, -16
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_offset 6, -24
	push %r12
	.cfi_adjust_cfa_offset 8
	.cfi_offset 12, -32
	push %r13
	.cfi_adjust_cfa_offset 8
	.cfi_offset 13, -40
	push %r14
	.cfi_adjust_cfa_offset 8
	.cfi_offset 14, -48
	xor %eax, %eax
	pop %r14
	.cfi_adjust_cfa_offset -8
	pop %r13
	.cfi_adjust_cfa_offset -8
	pop %r12
	.cfi_adjust_cfa_offset -8
	pop %rbp
	.cfi_adjust_cfa_offset -8
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.p2align 4
	.endm

	.text
	.rept 90000
	small
	.endr
	.skip 66 << 20, 0x90
	.globl large_call
	.type large_call, @function
large_call:
	.cfi_startproc
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_offset 6, -16
	mov $1, %ebp
	call *%rdi
	pop %rbp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size large_call, . - large_call
	.rept 90000
	small
	.endr
	.skip 66 << 20, 0x90
#endif
	.section .note.GNU-stack, "", %progbits
