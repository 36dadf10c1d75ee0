/*
 * CIEs and FDEs.
 *
 *     CIE  length id=0 version "zPLR" code_align data_align ra_reg [aug data] program
 *     FDE  length ->CIE start len [aug data] program
 *
 * In .eh_frame the id is the distance back from itself to the CIE (0: this is one); in
 * .debug_frame it is an offset in the section (all ones: this is a CIE), 8 bytes wide with a
 * 64-bit length.
 */
#include "object/cfi_internal.h"

#include <elf.h>
#include <errno.h>

static uint64_t address_read(struct bytes *b, uint8_t bytes)
{
	switch (bytes) {
	case 2:
		return bytes_u16(b);
	case 4:
		return bytes_u32(b);
	case 8:
		return bytes_u64(b);
	default:
		b->bad = true;
		return 0;
	}
}

static uint64_t sign_extend(uint64_t value, unsigned bits)
{
	unsigned shift = 64 - bits;

	return (uint64_t)((int64_t)(value << shift) >> shift);
}

static uint64_t raw_pointer(struct bytes *b, uint8_t form, uint8_t address_bytes)
{
	switch (form) {
	case PE_ABSPTR:
		return address_read(b, address_bytes);
	case PE_SIGNED:
		return sign_extend(address_read(b, address_bytes), address_bytes * 8u);
	case PE_ULEB:
		return bytes_uleb(b);
	case PE_SLEB:
		return (uint64_t)bytes_sleb(b);
	case PE_UDATA2:
		return bytes_u16(b);
	case PE_SDATA2:
		return sign_extend(bytes_u16(b), 16);
	case PE_UDATA4:
		return bytes_u32(b);
	case PE_SDATA4:
		return sign_extend(bytes_u32(b), 32);
	case PE_UDATA8:
	case PE_SDATA8:
		return bytes_u64(b);
	default:
		b->bad = true;
		return 0;
	}
}

uint64_t cfi_pointer(const struct cfi_section *section, struct bytes *b, uint8_t enc,
	uint8_t address_bytes, uint64_t function, uint64_t *ret_raw)
{
	uint64_t here = section->vaddr + (uint64_t)(b->at - section->blob.bytes);
	uint64_t base = 0, raw;

	if (enc == PE_OMIT)
		return 0;
	switch (enc & 0x70) {
	case PE_ABSPTR:
		break;
	case PE_PCREL:
		base = here;
		break;
	case PE_TEXTREL:
		base = section->text;
		break;
	case PE_DATAREL:
		base = section->data;
		break;
	case PE_FUNCREL:
		base = function;
		break;
	case PE_ALIGNED:
		if (address_bytes)
			bytes_skip(b, (0 - here) & (address_bytes - 1u));
		break;
	default:
		b->bad = true;
	}
	raw = raw_pointer(b, enc & 0x0f, address_bytes);
	if (ret_raw)
		*ret_raw = raw;
	raw += base;
	return address_bytes == 4 ? (uint32_t)raw : raw;
}

/* The letters behind 'z' tell what the augmentation data holds, in their order. */
static void augmentation_read(const struct cfi_section *section, struct cfi_cie *cie,
	const char *letters, struct bytes *b)
{
	struct bytes data = *b;
	uint64_t len = bytes_uleb(b);
	const uint8_t *start = bytes_take(b, len);

	cie->has_augmentation_data = true;
	if (!start)
		return;
	data.at = start;
	data.end = start + len;
	for (const char *p = letters + 1; *p; p++) {
		switch (*p) {
		case 'R':
			cie->pointer_enc = bytes_u8(&data);
			break;
		case 'P': {
			uint8_t enc = bytes_u8(&data);

			cfi_pointer(section, &data, enc, cie->address_bytes, 0, NULL);
			break;
		}
		case 'L':
			cie->lsda_enc = bytes_u8(&data);
			break;
		case 'S':
			cie->signal_frame = true;
			break;
		case 'B': /* AArch64: the B key signs; authentication bits are masked anyway */
		case 'G': /* AArch64: tagged stack memory */
			break;
		default: /* the length of the rest is known: skipped */
			return;
		}
	}
	if (data.bad)
		b->bad = true;
}

static void cie_read(const struct cfi_section *section, struct cfi_cie *cie, struct bytes *b)
{
	const char *letters;
	uint64_t ra;

	cie->address_bytes = section->is64 ? 8 : 4;
	cie->pointer_enc = PE_ABSPTR;
	cie->lsda_enc = PE_OMIT;
	cie->version = bytes_u8(b);
	letters = bytes_str(b);
	if (!letters || (cie->version != 1 && cie->version != 3 && cie->version != 4)) {
		b->bad = true;
		return;
	}
	if (letters[0] == 'e' && letters[1] == 'h') { /* old gcc: a pointer to its own tables */
		address_read(b, cie->address_bytes);
		letters += 2;
	}
	if (cie->version >= 4) {
		cie->address_bytes = bytes_u8(b);
		cie->segment_bytes = bytes_u8(b);
	}
	cie->code_align = bytes_uleb(b);
	cie->data_align = bytes_sleb(b);
	ra = cie->version == 1 ? bytes_u8(b) : bytes_uleb(b);
	if (ra >= CFI_REGS || (cie->address_bytes != 4 && cie->address_bytes != 8))
		b->bad = true;
	cie->ra_reg = (uint16_t)ra;
	if (letters[0] == 'z')
		augmentation_read(section, cie, letters, b);
	else if (letters[0])
		b->bad = true;
	cie->program = *b;
}

static void fde_read(const struct cfi_section *section, struct cfi_fde *fde, struct bytes *b)
{
	const struct cfi_cie *cie = &fde->cie;
	uint64_t raw = 0, len;

	if (cie->segment_bytes)
		bytes_skip(b, cie->segment_bytes);
	fde->start = cfi_pointer(section, b, cie->pointer_enc, cie->address_bytes, 0, &raw);
	len = raw_pointer(b, cie->pointer_enc & 0x07, cie->address_bytes);
	if (cie->pointer_enc & PE_INDIRECT || len > UINT64_MAX - fde->start)
		b->bad = true;
	fde->end = fde->start + len;
	/* Linkers write 0 over what they threw away. */
	fde->dead = !len || (!raw && section->eh) || (!raw && !fde->start);
	if (cie->has_augmentation_data)
		bytes_skip(b, bytes_uleb(b));
	fde->program = *b;
}

struct entry_head {
	struct bytes body;
	uint64_t id_offset, id, next;
	bool wide;
};

/* Length and id; body.at stands behind the id. False: a length of 0. */
static bool head_read(
	const struct cfi_section *section, uint64_t offset, struct entry_head *ret)
{
	struct bytes b = bytes_of(section->blob.bytes, section->blob.len);
	const uint8_t *base = b.at, *body;
	uint64_t len;

	b.swap = section->swap;
	bytes_skip(&b, offset);
	len = bytes_u32(&b);
	ret->wide = len == UINT32_MAX;
	if (ret->wide)
		len = bytes_u64(&b);
	if (!b.bad && !len) {
		ret->next = (uint64_t)(b.at - base);
		return false;
	}
	ret->id_offset = (uint64_t)(b.at - base);
	body = bytes_take(&b, len);
	ret->next = ret->id_offset + len;
	ret->body = b;
	if (!body)
		return true;
	ret->body.at = body;
	ret->body.end = body + len;
	ret->id = ret->wide && !section->eh ? bytes_u64(&ret->body) : bytes_u32(&ret->body);
	return true;
}

static bool is_cie(const struct cfi_section *section, const struct entry_head *head)
{
	if (section->eh)
		return head->id == 0;
	return head->id == (head->wide ? UINT64_MAX : UINT32_MAX);
}

static int cie_at(const struct cfi_section *section, uint64_t offset, struct cfi_cie *cie)
{
	struct entry_head head;

	if (cie->version && cie->offset == offset)
		return 0;
	*cie = (struct cfi_cie){.offset = offset};
	if (!head_read(section, offset, &head) || head.body.bad || !is_cie(section, &head)) {
		cie->version = 0;
		return -EBADMSG;
	}
	cie_read(section, cie, &head.body);
	if (head.body.bad) {
		cie->version = 0;
		return -EBADMSG;
	}
	return 0;
}

int cfi_entry(const struct cfi_section *section, uint64_t offset, struct cfi_fde *ret_fde,
	enum cfi_entry_kind *ret_kind, uint64_t *ret_next)
{
	struct entry_head head;
	uint64_t cie;
	int rc;

	if (!head_read(section, offset, &head)) {
		*ret_kind = CFI_ENTRY_END;
		*ret_next = head.next;
		return 0;
	}
	if (head.body.bad)
		return -EBADMSG;
	*ret_next = head.next;
	*ret_kind = is_cie(section, &head) ? CFI_ENTRY_CIE : CFI_ENTRY_FDE;
	if (*ret_kind == CFI_ENTRY_CIE)
		return cie_at(section, offset, &ret_fde->cie);
	cie = section->eh ? head.id_offset - head.id : head.id;
	if (section->eh && head.id > head.id_offset)
		return -EBADMSG;
	rc = cie_at(section, cie, &ret_fde->cie);
	if (rc < 0)
		return rc;
	fde_read(section, ret_fde, &head.body);
	return head.body.bad ? -EBADMSG : 0;
}
