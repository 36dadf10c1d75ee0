import { expect, test } from 'vitest'
import { Damaged, decode } from './decode'

// The layout of src/formats/viewer_data.h, by hand.
function packed(): Uint8Array {
  const text = (s: string) => [...new TextEncoder().encode(s)]
  const strings = ['', 'cpu', 'f.data', 'main', 'work', '/bin/p', 'p.c', 'ok', '[k]']
  return Uint8Array.from([
    ...text('wickview1\n'),
    strings.length, ...strings.map((s) => s.length), ...text(strings.join('')),
    1, 2, 0, 0, // event, file, host, command
    1, 1, 3, // one event, ns and shown
    1, 2, 7, 4, // one sentence: level 2, "ok", "work"
    2, 0, 1, 5, 8, // modules
    2, 3, 4, 0, 0, // functions main, work
    2, 0, 1, 0, 6, 0, 25, // places; work is inlined at line 12
    2, 0, 1, 0, 1, // nodes
    1, 0x87, 0x02, 0x88, 0x02, 3, // a thread: 263, 264
    0, // spans
    2, 5, 0, 0xd0, 0x0f, 0, 0, 0, 0, 4, 1, 0x80, 0x01, 0, // samples: 0 and 1000 us
    ...text('end\n'),
  ])
}

test('what stands there', () => {
  const p = decode(packed())
  expect(p.threads).toEqual([{ pid: 263, tid: 264, comm: 'main' }])
  expect(p.sentences).toEqual([{ level: 2, about: 'ok', text: 'work' }])
  expect([...p.time]).toEqual([0, 1000])
  expect([...p.node]).toEqual([1, 0])
  expect([...p.weight]).toEqual([64, 64])
  expect([...p.nodeParent]).toEqual([-1, 0])
  expect([p.placeLine[1], p.placeInlined[1]]).toEqual([12, 1])
})

test('cut anywhere it is damaged, and never anything else', () => {
  const whole = packed()
  for (let n = 0; n < whole.length; n++) expect(() => decode(whole.slice(0, n))).toThrow(Damaged)
})

test('a byte changed anywhere: an answer or damaged', () => {
  const whole = packed()
  for (let i = 0; i < whole.length; i++) {
    for (const value of [0, 0x7f, 0x80, 0xff]) {
      const bytes = whole.slice()
      bytes[i] = value
      try {
        decode(bytes)
      } catch (error) {
        expect(error).toBeInstanceOf(Damaged)
      }
    }
  }
})
