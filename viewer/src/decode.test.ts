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
    1, 1, 3, 4, 1, // a span: throttled, of the thread
    1, 1, 0x80, 0x20, 2, 64, 7, // code of work at 0x1000
    2, 6, 6, 12, 13, 0, 5, 2, 0, 64, 0, // lines 12 and 13 of p.c; the text of 13 is "work"
    2, 4, 1, 3, 4, 1, 0, 2, 0, 64, 0, // instructions of 4 bytes and of 1; the second has no line
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
  expect(p.spans).toEqual([{ kind: 1, start: 3, length: 4, thread: 0 }])
  expect(p.code.length).toBe(1)
  const [c] = p.code
  expect([c.func, c.address, c.samples, c.weight, c.note]).toEqual([1, 0x1000, 2, 64, 'ok'])
  expect([[...c.line], c.lineFile, c.lineText, c.lineSamples, c.lineWeight]).toEqual([[12, 13], ['p.c', 'p.c'], [null, 'work'], [2, 0], [64, 0]])
  expect([c.size, c.text, [...c.lineOf], c.counts, c.weights]).toEqual([[4, 1], ['main', 'work'], [0, -1], [2, 0], [64, 0]])
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
