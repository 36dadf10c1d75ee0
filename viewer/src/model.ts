// What the page shows, as numbers: one call tree that does not depend on filters, weights that do,
// and the trees that are drawn, made from both. A node's parent always has a smaller number, so
// one pass from the last node to the first makes totals; nothing recurses.
import type { Code, Profile, Sentence, Span, Thread } from './decode'
import { baseName, printable, shortName } from './names'

export type Kind = 'kernel' | 'program' | 'library' | 'jit' | 'inlined' | 'other'
export const KINDS: Kind[] = ['kernel', 'program', 'library', 'jit', 'inlined', 'other']

export interface Source {
  file: string
  event: string
  host: string
  command: string
  sentences: Sentence[]
  samples: number
}

export interface Model {
  sources: Source[] // one, or two that are compared
  events: { name: string; members: Set<number>; ns: boolean }[]
  modules: { path: string; name: string; kind: Kind }[]
  names: string[] // of functions
  shorts: (string | undefined)[]
  functionModule: Int32Array
  files: string[]
  // the call tree; node 0 is everything
  parent: Int32Array
  func: Int32Array // -1: node 0
  place: Int32Array // index into file, line, inlined
  placeFile: Int32Array
  placeLine: Int32Array
  placeInlined: Uint8Array
  threads: (Thread & { side: number })[]
  spans: Span[]
  code: Code[] // of the hot functions, hottest first; none where two are compared
  // samples
  count: number
  second: number // the first sample of the second source
  time: Float64Array
  thread: Uint32Array
  eventOf: Uint16Array
  node: Int32Array // of the call tree
  weight: Float64Array
  end: number // us
}

function kindOf(kind: number, name: string): Kind {
  if (kind === 1 || kind === 2) return 'kernel'
  if (kind === 4) return name.startsWith('[') && name !== '[anon]' && !/jit|anon|heap|stack/i.test(name) ? 'other' : 'jit'
  if (kind === 5) return 'other'
  return kind === 3 || /\.so($|[.\s])/.test(name) ? 'library' : 'program'
}

// Gives equal keys one number.
class Numbers<K> {
  readonly map = new Map<K, number>()
  of(key: K): number {
    let id = this.map.get(key)
    if (id === undefined) this.map.set(key, (id = this.map.size))
    return id
  }
}

// A tree that grows: a step from a node to a function is one node. The steps are found by an open
// hash table of node numbers, which is several times as fast as a Map.
class Steps {
  count = 1
  parent = new Int32Array(1024).fill(-1, 0, 1)
  func = new Int32Array(1024).fill(-1, 0, 1)
  place = new Int32Array(1024).fill(-1, 0, 1)
  private slots = new Int32Array(4096) // node numbers, 0: free (node 0 is no step)

  step(up: number, f: number, place: number): number {
    let mask = this.slots.length - 1
    let at = Steps.hash(up, f) & mask
    for (let id = this.slots[at]; id; id = this.slots[at]) {
      if (this.parent[id] === up && this.func[id] === f) return id
      at = (at + 1) & mask
    }
    if (this.count === this.parent.length) {
      this.grow()
      mask = this.slots.length - 1
      at = Steps.hash(up, f) & mask
      while (this.slots[at]) at = (at + 1) & mask
    }
    this.slots[at] = this.count
    this.parent[this.count] = up
    this.func[this.count] = f
    this.place[this.count] = place
    return this.count++
  }

  private static hash(up: number, f: number): number {
    let h = Math.imul(up, 0x9e3779b1) ^ Math.imul(f + 1, 0x85ebca6b)
    h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d)
    return (h ^ (h >>> 13)) >>> 0
  }

  private grow() {
    const wider = (from: Int32Array) => {
      const to = new Int32Array(from.length * 2)
      to.set(from)
      return to
    }
    this.parent = wider(this.parent)
    this.func = wider(this.func)
    this.place = wider(this.place)
    this.slots = new Int32Array(this.slots.length * 2)
    const mask = this.slots.length - 1
    for (let id = 1; id < this.count; id++) {
      let at = Steps.hash(this.parent[id], this.func[id]) & mask
      while (this.slots[at]) at = (at + 1) & mask
      this.slots[at] = id
    }
  }

  done() {
    const cut = (from: Int32Array) => from.subarray(0, this.count)
    return { parent: cut(this.parent), func: cut(this.func), place: cut(this.place) }
  }
}

type Nodes = { parent: Int32Array; func: Int32Array; place: Int32Array }

export function build(profiles: Profile[]): Model {
  const modules = new Numbers<string>()
  const functions = new Numbers<string>()
  const files = new Numbers<string>()
  const m: Model = {
    sources: profiles.map((p) => ({
      file: printable(p.file), event: printable(p.event), host: printable(p.host), command: printable(p.command),
      sentences: p.sentences, samples: p.time.length,
    })),
    events: [], modules: [], names: [], shorts: [], functionModule: new Int32Array(0), files: [],
    parent: new Int32Array(0), func: new Int32Array(0), place: new Int32Array(0),
    placeFile: new Int32Array(0), placeLine: new Int32Array(0), placeInlined: new Uint8Array(0),
    threads: [], spans: profiles.length === 1 ? profiles[0].spans : [], code: [],
    count: profiles.reduce((sum, p) => sum + p.time.length, 0), second: profiles[0].time.length,
    time: new Float64Array(0), thread: new Uint32Array(0), eventOf: new Uint16Array(0),
    node: new Int32Array(0), weight: new Float64Array(0), end: 0,
  }
  const functionModule: number[] = []
  const placeFile: number[] = []
  const placeLine: number[] = []
  const placeInlined: number[] = []
  const steps = new Steps()
  m.time = new Float64Array(m.count)
  m.thread = new Uint32Array(m.count)
  m.eventOf = new Uint16Array(m.count)
  m.node = new Int32Array(m.count)
  m.weight = new Float64Array(m.count)
  const groups: Model['events'] = []
  let done = 0
  let eventBase = 0
  profiles.forEach((p, side) => {
    const moduleOf = p.modules.map(({ kind, path }) => {
      // Compared builds may lie in different folders.
      const id = modules.of(kind + '|' + (profiles.length > 1 ? baseName(path) : path))
      if (id === m.modules.length) {
        const name = printable(baseName(path))
        m.modules.push({ path: printable(path), name, kind: kindOf(kind, name) })
      }
      return id
    })
    const functionOf = Array.from(p.functionName, (string, i) => {
      const id = functions.of(moduleOf[p.functionModule[i]] + '|' + p.strings[string])
      if (id === m.names.length) {
        m.names.push(printable(p.strings[string]) || '[unknown]')
        functionModule.push(moduleOf[p.functionModule[i]])
      }
      return id
    })
    if (profiles.length === 1)
      m.code = p.code.map((c) => ({
        ...c, func: functionOf[c.func], note: printable(c.note), text: c.text.map(printable),
        lineFile: c.lineFile.map(printable), lineText: c.lineText.map((text) => (text === null ? null : printable(text))),
      }))
    const placeBase = placeFile.length
    p.placeFunction.forEach((_, i) => {
      const id = files.of(p.strings[p.placeFile[i]])
      if (id === m.files.length) m.files.push(printable(p.strings[p.placeFile[i]]))
      placeFile.push(id)
      placeLine.push(p.placeLine[i])
      placeInlined.push(p.placeInlined[i])
    })
    const nodeOf = new Int32Array(p.nodeParent.length)
    for (let i = 0; i < nodeOf.length; i++) {
      const up = p.nodeParent[i] < 0 ? 0 : nodeOf[p.nodeParent[i]]
      const f = functionOf[p.placeFunction[p.nodePlace[i]]]
      nodeOf[i] = steps.step(up, f, placeBase + p.nodePlace[i])
    }
    const threadBase = m.threads.length
    for (const thread of p.threads) m.threads.push({ ...thread, comm: printable(thread.comm), side })
    for (let i = 0; i < p.time.length; i++) {
      m.node[done + i] = p.node[i] < 0 ? 0 : nodeOf[p.node[i]]
      m.thread[done + i] = threadBase + p.thread[i]
      m.eventOf[done + i] = eventBase + p.eventOf[i]
      m.weight[done + i] = p.weight[i]
      m.time[done + i] = p.time[i]
      if (p.time[i] > m.end) m.end = p.time[i]
    }
    addEvents(groups, p, eventBase)
    eventBase += p.events.length
    done += p.time.length
  })
  m.events = groups
  m.functionModule = Int32Array.from(functionModule)
  m.placeFile = Int32Array.from(placeFile)
  m.placeLine = Int32Array.from(placeLine)
  m.placeInlined = Uint8Array.from(placeInlined)
  return Object.assign(m, steps.done())
}

// The first group is what the recording is about; the same of the second source joins it.
function addEvents(groups: Model['events'], p: Profile, base: number) {
  p.events.forEach((event, i) => {
    const at = event.shown ? 0 : groups.findIndex((group, k) => k > 0 && group.name === event.name)
    if (at >= 0 && groups[at]) groups[at].members.add(base + i)
    else groups.push({ name: printable(event.name), members: new Set([base + i]), ns: event.ns })
  })
}

export function shortOf(m: Model, f: number): string {
  return (m.shorts[f] ??= shortName(m.names[f]))
}

export function kindOfNode(m: Model, f: number, place: number): Kind {
  if (f < 0) return 'other'
  const kind = m.modules[m.functionModule[f]].kind
  return place >= 0 && m.placeInlined[place] && kind !== 'kernel' ? 'inlined' : kind
}

// ---- weights

export interface Filter {
  from: number // us; from < to, or both 0: all
  to: number
  threads: Set<number> | null
  event: number // a group
}

export interface Weights {
  self: Float64Array // of the call tree; compared: the mean of the shares
  a: Float64Array | null // compared: shares of the first, and of the second
  b: Float64Array | null
  counts: Int32Array // samples, of the call tree's nodes
  total: number
}

export function chosen(m: Model, filter: Filter, i: number): boolean {
  return (
    (filter.to <= filter.from || (m.time[i] >= filter.from && m.time[i] < filter.to)) &&
    (!filter.threads || filter.threads.has(m.thread[i])) &&
    m.events[filter.event].members.has(m.eventOf[i])
  )
}

function sum(values: Float64Array): number {
  let total = 0
  for (let i = 0; i < values.length; i++) total += values[i]
  return total
}

export function weigh(m: Model, filter: Filter): Weights {
  const n = m.parent.length
  const compared = m.sources.length > 1
  const self = new Float64Array(n)
  const b = compared ? new Float64Array(n) : null
  const counts = new Int32Array(n)
  let samples = 0
  for (let i = 0; i < m.count; i++) {
    if (!chosen(m, filter, i)) continue
    samples++
    counts[m.node[i]]++
    const into = b && i >= m.second ? b : self
    into[m.node[i]] += m.weight[i]
  }
  if (!b && samples && sum(self) === 0) {
    // Nothing has a weight: the samples count.
    for (let i = 0; i < m.count; i++) if (chosen(m, filter, i)) self[m.node[i]]++
  }
  if (!b) return { self, a: null, b: null, counts, total: sum(self) }
  const a = self.slice()
  const sumA = sum(a) || 1
  const sumB = sum(b) || 1
  for (let i = 0; i < n; i++) {
    a[i] /= sumA
    b[i] /= sumB
    self[i] = (a[i] + b[i]) / 2
  }
  return { self, a, b, counts, total: sum(self) }
}

// ---- trees

export interface Tree {
  parent: Int32Array
  func: Int32Array
  place: Int32Array
  self: Float64Array
  total: Float64Array
  a: Float64Array | null // totals of each side
  b: Float64Array | null
  selfA: Float64Array | null
  selfB: Float64Array | null
  depth: Int32Array
  deepest: number
  // children of node i: kids[first[i] .. first[i + 1]], the heaviest first
  first: Int32Array
  kids: Int32Array
  start: Float64Array // where a node's box begins, in weight
  samples: number // in the tree
  cut: boolean // an upside-down tree that was too large to be shown whole
}

export interface Shape {
  invert: boolean
  collapse: boolean // a function that calls itself is one step
  focus: number // function; -1: none
  include: Uint8Array | null // by function
  exclude: Uint8Array | null
}

const INVERTED_STEPS = 1500000

// Which of the call tree's nodes stay, by what is on their paths.
function kept(m: Model, shape: Shape): Uint8Array | null {
  const { include, exclude } = shape
  if (!include && !exclude) return null
  const n = m.parent.length
  const state = new Uint8Array(n) // 1: met what is included, 2: met what is excluded
  const keep = new Uint8Array(n)
  for (let i = 0; i < n; i++) {
    const f = m.func[i]
    let now = i ? state[m.parent[i]] : 0
    if (f >= 0 && include?.[f]) now |= 1
    if (f >= 0 && exclude?.[f]) now |= 2
    state[i] = now
    keep[i] = (!include || now & 1) && !(now & 2) ? 1 : 0
  }
  return keep
}

export function shapeTree(m: Model, w: Weights, shape: Shape): Tree {
  const keep = kept(m, shape)
  const n = m.parent.length
  const same = !shape.invert && !shape.collapse && shape.focus < 0
  const maker = new Steps()
  const into = new Int32Array(n) // the node of the new tree; -1: left out
  let cut = false
  if (same) {
    for (let i = 0; i < n; i++) into[i] = i
  } else if (!shape.invert) {
    into[0] = shape.focus < 0 ? 0 : -1
    for (let i = 1; i < n; i++) {
      const up = into[m.parent[i]]
      const f = m.func[i]
      if (up < 0) into[i] = f === shape.focus ? maker.step(0, f, m.place[i]) : -1
      else if (shape.collapse && maker.func[up] === f) into[i] = up
      else into[i] = maker.step(up, f, m.place[i])
    }
  } else {
    cut = invert(m, w, shape, keep, maker, into)
  }
  const nodes: Nodes = same ? { parent: m.parent, func: m.func, place: m.place } : maker.done()
  const size = nodes.parent.length
  const gather = (from: Float64Array | null): Float64Array | null => {
    if (!from) return null
    const out = new Float64Array(size)
    for (let i = 0; i < n; i++) if (into[i] >= 0 && (!keep || keep[i])) out[into[i]] += from[i]
    return out
  }
  let samples = 0
  for (let i = 0; i < n; i++) if (into[i] >= 0 && (!keep || keep[i])) samples += w.counts[i]
  return { ...finish(nodes, gather(w.self) as Float64Array, gather(w.a), gather(w.b)), samples, cut }
}

// Paths from the leaf on; self weights then stand where a path ends.
function invert(m: Model, w: Weights, shape: Shape, keep: Uint8Array | null, maker: Steps, into: Int32Array): boolean {
  const ends: number[] = []
  into.fill(-1)
  for (let i = 0; i < m.parent.length; i++) if (w.self[i] > 0 && (!keep || keep[i])) ends.push(i)
  ends.sort((x, y) => w.self[y] - w.self[x])
  let budget = INVERTED_STEPS
  let cut = false
  for (const end of ends) {
    let at = 0
    let last = -1
    let i = end
    let met = shape.focus < 0
    for (; i > 0; i = m.parent[i]) {
      const f = m.func[i]
      if (!met && f !== shape.focus) continue
      met = true
      if (shape.collapse && f === last) continue
      if (budget-- <= 0) {
        cut = true
        break
      }
      at = maker.step(at, f, m.place[i])
      last = f
    }
    if (met) into[end] = at
  }
  return cut
}

function finish(nodes: Nodes, self: Float64Array, selfA: Float64Array | null, selfB: Float64Array | null): Omit<Tree, 'samples' | 'cut'> {
  const { parent } = nodes
  const n = parent.length
  const add = (values: Float64Array | null) => {
    if (!values) return null
    const total = values.slice()
    for (let i = n - 1; i > 0; i--) total[parent[i]] += total[i]
    return total
  }
  const total = add(self) as Float64Array
  const depth = new Int32Array(n)
  const first = new Int32Array(n + 1)
  let deepest = 0
  for (let i = 1; i < n; i++) {
    depth[i] = depth[parent[i]] + 1
    if (total[i] <= 0) continue
    if (depth[i] > deepest) deepest = depth[i]
    first[parent[i] + 1]++
  }
  for (let i = 0; i < n; i++) first[i + 1] += first[i]
  const kids = new Int32Array(first[n])
  const next = first.slice(0, n)
  for (let i = 1; i < n; i++) if (total[i] > 0) kids[next[parent[i]]++] = i
  const start = new Float64Array(n)
  for (let i = 0; i < n; i++) {
    const mine = kids.subarray(first[i], first[i + 1])
    if (mine.length > 1) mine.sort((x, y) => total[y] - total[x] || x - y)
    let at = start[i]
    for (const kid of mine) {
      start[kid] = at
      at += total[kid]
    }
  }
  return {
    ...nodes, self, total,
    a: add(selfA), b: add(selfB), selfA, selfB, depth, deepest, first, kids, start,
  }
}

export function pathOf(t: Tree, node: number): number[] {
  const path: number[] = []
  for (; node > 0; node = t.parent[node]) path.push(t.func[node])
  return path.reverse()
}

// The node at the end of a path of functions, as far as it is there.
export function findPath(t: Tree, path: number[]): number {
  let node = 0
  for (const f of path) {
    let next = -1
    for (let k = t.first[node]; k < t.first[node + 1] && next < 0; k++) if (t.func[t.kids[k]] === f) next = t.kids[k]
    if (next < 0) return node
    node = next
  }
  return node
}

// ---- tables

export interface Row {
  id: number // function, or module
  self: number
  total: number
  a: number // compared: shares of self
  b: number
}

// 1 where no ancestor is in the same group: there a group's total is counted once.
export function outermost(t: Tree, groups: number, groupOf: (node: number) => number): Uint8Array {
  const open = new Int32Array(groups)
  const out = new Uint8Array(t.parent.length)
  const stack: number[] = [0]
  // Node n >= 0: go in; ~n: come out.
  while (stack.length) {
    const node = stack.pop() as number
    if (node < 0) {
      open[groupOf(~node)]--
      continue
    }
    if (node > 0) {
      const group = groupOf(node)
      if (open[group]++ === 0) out[node] = 1
      stack.push(~node)
    }
    for (let k = t.first[node]; k < t.first[node + 1]; k++) stack.push(t.kids[k])
  }
  return out
}

export function rowsBy(t: Tree, groups: number, groupOf: (node: number) => number, inverted: boolean): Row[] {
  const rows: (Row | undefined)[] = new Array(groups)
  const top = outermost(t, groups, groupOf)
  for (let i = 1; i < t.parent.length; i++) {
    if (t.total[i] <= 0) continue
    const id = groupOf(i)
    const row = (rows[id] ??= { id, self: 0, total: 0, a: 0, b: 0 })
    // Upside down, the first level is where the time was spent.
    const own = inverted ? t.depth[i] === 1 : true
    if (own) {
      row.self += inverted ? t.total[i] : t.self[i]
      row.a += inverted ? (t.a?.[i] ?? 0) : (t.selfA?.[i] ?? 0)
      row.b += inverted ? (t.b?.[i] ?? 0) : (t.selfB?.[i] ?? 0)
    }
    if (top[i]) row.total += t.total[i]
  }
  return rows.filter((row): row is Row => row !== undefined)
}

// Who calls a function and what it calls, one step away. Of a tree that is not upside down.
export function neighbours(m: Model, t: Tree, f: number): { callers: Row[]; callees: Row[] } {
  const callers = new Map<number, Row>()
  const callees = new Map<number, Row>()
  const top = outermost(t, m.names.length, (node) => t.func[node])
  const add = (rows: Map<number, Row>, id: number, node: number) => {
    let row = rows.get(id)
    if (!row) rows.set(id, (row = { id, self: 0, total: 0, a: 0, b: 0 }))
    row.total += t.total[node]
    row.self += t.self[node]
    row.a += t.a?.[node] ?? 0
    row.b += t.b?.[node] ?? 0
  }
  for (let i = 1; i < t.parent.length; i++) {
    if (t.total[i] <= 0) continue
    if (t.func[i] === f && top[i]) add(callers, t.func[t.parent[i]], i)
    if (t.func[t.parent[i]] === f && t.func[i] !== f) add(callees, t.func[i], i)
  }
  const heavy = (rows: Map<number, Row>) => [...rows.values()].sort((x, y) => y.total - x.total)
  return { callers: heavy(callers), callees: heavy(callees) }
}

// ---- search

// Plain words, or /a regular expression/; null: nothing is looked for, a string: what is wrong.
export function matcher(query: string): ((text: string) => boolean) | string | null {
  const words = query.trim()
  if (!words) return null
  if (words.length > 1 && words.startsWith('/')) {
    const end = words.lastIndexOf('/')
    const body = end > 0 ? words.slice(1, end) : words.slice(1)
    try {
      const regex = new RegExp(body, end > 0 && words.slice(end + 1).includes('i') ? 'i' : '')
      return (text) => regex.test(text)
    } catch {
      return 'not a regular expression'
    }
  }
  const lower = words.toLowerCase()
  return (text) => text.toLowerCase().includes(lower)
}

export function matching(m: Model, query: string): Uint8Array | null {
  const match = matcher(query)
  if (typeof match !== 'function') return null
  const found = new Uint8Array(m.names.length)
  const module = m.modules.map(({ name }) => match(name))
  for (let i = 0; i < found.length; i++) found[i] = match(m.names[i]) || module[m.functionModule[i]] ? 1 : 0
  return found
}

// The weight of the paths that have a match on them.
export function matchedWeight(t: Tree, found: Uint8Array): number {
  const inside = new Uint8Array(t.parent.length)
  let weight = 0
  for (let i = 1; i < t.parent.length; i++) {
    if (inside[t.parent[i]]) inside[i] = 1
    else if (found[t.func[i]]) {
      inside[i] = 1
      weight += t.total[i]
    }
  }
  return weight
}
