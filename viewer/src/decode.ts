// The bytes that src/formats/viewer_data.c packs, back into tables. That file's header says the
// layout. What does not fit throws: the page then says that it is damaged.

export interface Thread {
  pid: number
  tid: number
  comm: string
}
export interface Sentence {
  level: number // 0 info, 1 good, 2 warn, 3 bad
  about: string
  text: string
}
export interface Event {
  name: string
  ns: boolean // weights are nanoseconds
  shown: boolean // counts the same as the first event
}
export interface Span {
  kind: number // 0 lost, 1 throttled
  start: number // us
  length: number
  thread: number // -1: not known whose
}

// Where samples stopped in a function.
export interface Code {
  func: number // function
  address: number
  samples: number
  weight: number
  note: string
  line: Uint32Array
  lineFile: string[]
  lineText: (string | null)[] // null: the source was not found
  lineSamples: number[]
  lineWeight: number[]
  size: number[] // of instructions
  text: string[]
  lineOf: Int32Array // index of its line; -1: none
  counts: number[]
  weights: number[]
}

export interface Profile {
  event: string
  file: string
  host: string
  command: string
  events: Event[]
  sentences: Sentence[]
  strings: string[]
  modules: { kind: number; path: string }[]
  functionName: Uint32Array
  functionModule: Uint32Array
  placeFunction: Uint32Array
  placeFile: Uint32Array
  placeLine: Uint32Array
  placeInlined: Uint8Array
  nodeParent: Int32Array // -1: a root
  nodePlace: Uint32Array
  threads: Thread[]
  spans: Span[]
  code: Code[] // hottest first
  time: Float64Array // us since the first sample
  thread: Uint32Array
  eventOf: Uint16Array
  node: Int32Array // -1: no stack
  weight: Float64Array
}

export class Damaged extends Error {}

class Reader {
  at = 0
  constructor(readonly bytes: Uint8Array) {}

  number(): number {
    let value = 0
    let factor = 1
    for (;;) {
      if (this.at >= this.bytes.length) throw new Damaged('the data end too early')
      const byte = this.bytes[this.at++]
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
      factor *= 128
    }
  }

  signed(): number {
    const value = this.number()
    return value % 2 ? -(value + 1) / 2 : value / 2
  }

  // How many things follow; each takes a byte at least.
  count(): number {
    const n = this.number()
    if (n > this.bytes.length - this.at) throw new Damaged('the data end too early')
    return n
  }

  column(n: number): Uint32Array {
    const values = new Uint32Array(n)
    for (let i = 0; i < n; i++) values[i] = this.number()
    return values
  }

  below(n: number, limit: number): Uint32Array {
    const values = this.column(n)
    for (let i = 0; i < n; i++) if (values[i] >= limit) throw new Damaged('the data refer to nothing')
    return values
  }

  text(length: number): string {
    if (length > this.bytes.length - this.at) throw new Damaged('the data end too early')
    this.at += length
    return decoder.decode(this.bytes.subarray(this.at - length, this.at))
  }

  changes<T extends { [i: number]: number }>(values: T, n: number): T {
    let last = 0
    for (let i = 0; i < n; i++) {
      last += this.signed()
      values[i] = last
    }
    return values
  }
}

const decoder = new TextDecoder()

function readStrings(r: Reader): string[] {
  const lengths = r.column(r.count())
  return Array.from(lengths, (length) => r.text(length))
}

function readNodes(r: Reader, places: number) {
  const n = r.count()
  const nodeParent = new Int32Array(n)
  for (let i = 0; i < n; i++) {
    const up = r.number()
    if (up > i) throw new Damaged('a call path has no beginning')
    nodeParent[i] = up ? i - up : -1
  }
  return { nodeParent, nodePlace: r.below(n, places) }
}

function readSamples(r: Reader, threads: number, events: number, nodes: number) {
  const n = r.count()
  r.number() // the start: times are differences from it
  const time = r.changes(new Float64Array(n), n)
  const thread = r.changes(new Uint32Array(n), n)
  const eventOf = r.changes(new Uint16Array(n), n)
  const node = r.changes(new Int32Array(n), n)
  const weight = r.changes(new Float64Array(n), n)
  for (let i = 0; i < n; i++) {
    if (thread[i] >= threads || eventOf[i] >= events || node[i] < 0 || node[i] > nodes)
      throw new Damaged('a sample refers to nothing')
    node[i]--
  }
  return { time, thread, eventOf, node, weight }
}

function readCode(r: Reader, functions: number, strings: string[]): Code {
  const many = <T>(n: number, one: () => T) => Array.from({ length: n }, one)
  const string = () => strings[r.below(1, strings.length)[0]]
  const func = r.below(1, functions)[0]
  const [address, samples, weight, note] = [r.number(), r.number(), r.number(), string()]
  let n = r.count()
  const lineFile = many(n, string)
  const line = r.column(n)
  const lineText = Array.from(r.below(n, strings.length + 1), (id) => (id ? strings[id - 1] : null))
  const lineSamples = many(n, () => r.number())
  const lineWeight = many(n, () => r.number())
  const lines = n
  n = r.count()
  const size = many(n, () => r.number())
  const text = many(n, string)
  const lineOf = Int32Array.from(r.below(n, lines + 1), (id) => id - 1)
  return {
    func, address, samples, weight, note, line, lineFile, lineText, lineSamples, lineWeight, size, text, lineOf,
    counts: many(n, () => r.number()), weights: many(n, () => r.number()),
  }
}

export function decode(bytes: Uint8Array): Profile {
  const r = new Reader(bytes)
  if (r.text(Math.min(10, bytes.length)) !== 'wickview1\n') throw new Damaged('these are no data of this viewer')
  const strings = readStrings(r)
  const string = () => {
    const id = r.number()
    if (id >= strings.length) throw new Damaged('the data refer to nothing')
    return strings[id]
  }
  const many = <T>(n: number, one: (i: number) => T) => Array.from({ length: n }, (_, i) => one(i))
  const [event, file, host, command] = [string(), string(), string(), string()]
  let n = r.count()
  const eventNames = many(n, string)
  const events = eventNames.map((name) => {
    const flags = r.number()
    return { name, ns: (flags & 1) > 0, shown: (flags & 2) > 0 }
  })
  n = r.count()
  const levels = r.column(n)
  const abouts = many(n, string)
  const sentences = many(n, (i) => ({ level: levels[i], about: abouts[i], text: string() }))
  n = r.count()
  const kinds = r.column(n)
  const modules = many(n, (i) => ({ kind: kinds[i], path: string() }))
  n = r.count()
  const functionName = r.below(n, strings.length)
  const functionModule = r.below(n, modules.length)
  const places = r.count()
  const placeFunction = r.below(places, n)
  const placeFile = r.below(places, strings.length)
  const placeLine = r.column(places)
  const placeInlined = new Uint8Array(places)
  for (let i = 0; i < places; i++) {
    placeInlined[i] = placeLine[i] & 1
    placeLine[i] >>>= 1
  }
  const nodes = readNodes(r, places)
  n = r.count()
  const pids = r.column(n)
  const tids = r.column(n)
  const threads = many(n, (i) => ({ pid: pids[i], tid: tids[i], comm: string() }))
  const spans = many(r.count(), () => ({ kind: r.number(), start: r.number(), length: r.number(), thread: r.below(1, threads.length + 1)[0] - 1 }))
  const code = Array.from({ length: r.count() }, () => readCode(r, functionName.length, strings))
  const samples = readSamples(r, threads.length, events.length, nodes.nodeParent.length)
  if (r.text(Math.min(4, bytes.length - r.at)) !== 'end\n') throw new Damaged('the data end too early')
  return {
    event, file, host, command, events, sentences, strings, modules, functionName, functionModule,
    placeFunction, placeFile, placeLine, placeInlined, ...nodes, threads, spans, code, ...samples,
  }
}

// base64 and deflate, as they stand in the page
export async function unpack(base64: string): Promise<Profile> {
  let bytes: Uint8Array<ArrayBuffer>
  try {
    const text = atob(base64.trim())
    bytes = new Uint8Array(text.length)
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i)
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))
    bytes = new Uint8Array(await new Response(stream).arrayBuffer())
  } catch {
    throw new Damaged('the data cannot be unpacked')
  }
  return decode(bytes)
}
