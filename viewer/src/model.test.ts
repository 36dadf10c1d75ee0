import { describe, expect, test } from 'vitest'
import { profileOf } from './made'
import * as M from './model'
import { paint } from './paint'

const ALL: M.Filter = { from: 0, to: 0, threads: null, event: 0 }
const PLAIN: M.Shape = { invert: false, collapse: false, focus: -1, include: null, exclude: null }

function treeOf(m: M.Model, shape: Partial<M.Shape> = {}, filter: Partial<M.Filter> = {}): M.Tree {
  return M.shapeTree(m, M.weigh(m, { ...ALL, ...filter }), { ...PLAIN, ...shape })
}

// "main 5/0; main;work 5/5" -- total/self in samples, the heaviest first
function show(m: M.Model, t: M.Tree): string[] {
  const out: string[] = []
  const pending = [0]
  while (pending.length) {
    const node = pending.pop() as number
    if (node) out.push(`${M.pathOf(t, node).map((f) => m.names[f]).join(';')} ${t.total[node] / 1e6}/${t.self[node] / 1e6}`)
    for (let k = t.first[node + 1] - 1; k >= t.first[node]; k--) pending.push(t.kids[k])
  }
  return out
}

const LINES = ['main;parse;copy@/lib/libc.so.6 3', 'main;parse 1', 'main;write@[kernel] 6 t1']
const model = () => M.build([profileOf(LINES, ['a', 'b'])])

describe('the tree', () => {
  test('totals and selfs, the heaviest first', () => {
    const m = model()
    expect(show(m, treeOf(m))).toEqual(['main 10/0', 'main;write 6/6', 'main;parse 4/1', 'main;parse;copy 3/3'])
  })
  test('boxes of one parent stand side by side', () => {
    const m = model()
    const t = treeOf(m)
    const parse = M.findPath(t, [m.names.indexOf('main'), m.names.indexOf('parse')])
    expect(t.start[parse]).toBe(6e6)
  })
  test('upside down', () => {
    const m = model()
    expect(show(m, treeOf(m, { invert: true }))).toEqual([
      'write 6/0', 'write;main 6/6', 'copy 3/0', 'copy;parse 3/0', 'copy;parse;main 3/3', 'parse 1/0', 'parse;main 1/1',
    ])
  })
  test('recursion folded', () => {
    const m = M.build([profileOf(['f;f;f;g 2', 'f;f 1'])])
    expect(show(m, treeOf(m, { collapse: true }))).toEqual(['f 3/1', 'f;g 2/2'])
  })
  test('focus, include, exclude', () => {
    const m = model()
    const named = (name: string) => M.matching(m, name)
    expect(show(m, treeOf(m, { focus: m.names.indexOf('parse') }))).toEqual(['parse 4/1', 'parse;copy 3/3'])
    expect(show(m, treeOf(m, { include: named('copy') }))).toEqual(['main 3/0', 'main;parse 3/0', 'main;parse;copy 3/3'])
    expect(treeOf(m, { include: named('copy') }).samples).toBe(3)
    expect(show(m, treeOf(m, { exclude: named('copy') }))).toEqual(['main 7/0', 'main;write 6/6', 'main;parse 1/1'])
  })
  test('8,000 steps of one path', () => {
    const m = M.build([profileOf([`${Array.from({ length: 8000 }, (_, i) => `f${i % 7}`).join(';')} 2`])])
    const t = treeOf(m)
    expect(t.deepest).toBe(8000)
    expect(treeOf(m, { invert: true }).deepest).toBe(8000)
    expect(M.rowsBy(t, m.names.length, (n) => t.func[n], false).length).toBe(7)
  })
  test('nothing at all', () => {
    const m = M.build([profileOf([])])
    expect(show(m, treeOf(m))).toEqual([])
    expect(show(m, treeOf(m, { invert: true }))).toEqual([])
  })
  test('the same paths give the same numbers, however many', () => {
    const lines = Array.from({ length: 3000 }, (_, i) => `a${i % 30};b${i % 100};c${i} 1`)
    const m = M.build([profileOf(lines)])
    const t = treeOf(m)
    expect(t.parent.length).toBe(1 + 30 + 300 + 3000)
    expect(t.total[0]).toBe(3000e6)
  })
})

describe('filters', () => {
  test('time', () => {
    const m = model()
    expect(show(m, treeOf(m, {}, { from: 2000, to: 5000 }))).toEqual(['main 3/0', 'main;parse 2/1', 'main;parse;copy 1/1', 'main;write 1/1'])
  })
  test('threads', () => {
    const m = model()
    expect(show(m, treeOf(m, {}, { threads: new Set([1]) }))).toEqual(['main 6/0', 'main;write 6/6'])
  })
  test('samples without a weight count', () => {
    const p = profileOf(LINES, ['a', 'b'])
    p.weight.fill(0)
    expect(M.weigh(M.build([p]), ALL).total).toBe(10)
  })
})

describe('tables', () => {
  const rows = (m: M.Model, t: M.Tree, inverted = false) =>
    Object.fromEntries(M.rowsBy(t, m.names.length, (n) => t.func[n], inverted).map((r) => [m.names[r.id], [r.self / 1e6, r.total / 1e6]]))
  test('a function that is twice on a path counts once', () => {
    const m = M.build([profileOf(['f;g;f 2', 'f 1'])])
    expect(rows(m, treeOf(m))).toEqual({ f: [3, 3], g: [0, 2] })
  })
  test('upside down says the same', () => {
    const m = model()
    expect(rows(m, treeOf(m, { invert: true }), true)).toEqual(rows(m, treeOf(m)))
  })
  test('callers and callees', () => {
    const m = model()
    const both = M.neighbours(m, treeOf(m), m.names.indexOf('parse'))
    expect(both.callers.map((r) => [m.names[r.id], r.total / 1e6])).toEqual([['main', 4]])
    expect(both.callees.map((r) => [m.names[r.id], r.total / 1e6])).toEqual([['copy', 3]])
  })
})

describe('search', () => {
  test('words, regular expressions, modules', () => {
    const m = model()
    const names = (query: string) => m.names.filter((_, i) => M.matching(m, query)?.[i])
    expect(names('WRIT')).toEqual(['write'])
    expect(names('/^(main|copy)$/')).toEqual(['main', 'copy'])
    expect(names('libc')).toEqual(['copy'])
    expect(M.matching(m, ' ')).toBeNull()
    expect(M.matcher('/(/')).toBe('not a regular expression')
  })
  test('the share counts a path once', () => {
    const m = model()
    expect(M.matchedWeight(treeOf(m), M.matching(m, '/parse|copy/') as Uint8Array)).toBe(4e6)
  })
})

describe('two recordings', () => {
  test('shares, whatever the number of samples', () => {
    const m = M.build([profileOf(['main;a 1', 'main;b 1']), profileOf(['main;a 30', 'main;c 10'])])
    const t = treeOf(m)
    const at = (name: string) => M.findPath(t, [m.names.indexOf('main'), m.names.indexOf(name)])
    expect([t.a?.[at('a')], t.b?.[at('a')]]).toEqual([0.5, 0.75])
    expect([t.a?.[at('b')], t.b?.[at('b')]]).toEqual([0.5, 0])
    expect([t.a?.[at('c')], t.b?.[at('c')]]).toEqual([0, 0.25])
    expect(t.total[0]).toBe(1)
    expect(m.threads.map((thread) => thread.side)).toEqual([0, 1])
  })
})

describe('painting', () => {
  const look = { width: 1000, height: 400, top: 0, from: 0, to: 0, up: false, byModule: false, dark: false, found: null, charWidth: 7 }
  test('work is bounded by the screen', () => {
    const lines = Array.from({ length: 20000 }, (_, i) => `r${i % 40};a${i % 2000};b${i} 1`)
    const m = M.build([profileOf(lines)])
    const t = treeOf(m)
    const picture = paint(m, t, { ...look, to: t.total[0] })
    expect(t.parent.length).toBeGreaterThan(20000)
    expect(picture.visited).toBeLessThan(5000)
    // Each level takes the whole width, narrow boxes included.
    const width = (level: number) => picture.boxes.filter((b) => b.y === level * 20).reduce((sum, b) => sum + b.w, 0)
    for (const level of [0, 1, 2]) expect(width(level)).toBeGreaterThan(990)
  })
  test('a part of the whole', () => {
    const m = model()
    const t = treeOf(m)
    const { boxes } = paint(m, t, { ...look, from: 6e6, to: 10e6 })
    expect(boxes.map((b) => m.names[t.func[b.node]] ?? 'all')).toEqual(['all', 'main', 'parse', 'copy'])
    expect(boxes.map((b) => b.w)).toEqual([1000, 1000, 1000, 750])
  })
})
