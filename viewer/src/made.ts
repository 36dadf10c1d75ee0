// Profiles for the tests, written as text: "main;parse 3" is three samples, root first; a name may
// say its module: "memcpy@libc.so.6". A millisecond a sample; weights are 1 ms.
import type { Profile } from './decode'

export function profileOf(lines: string[], threads: string[] = ['main']): Profile {
  const strings = ['', 'cpu-clock']
  const id = (list: string[], text: string) => {
    const at = list.indexOf(text)
    return at >= 0 ? at : list.push(text) - 1
  }
  const paths: string[] = []
  const functions: string[] = []
  const functionOf = new Map<string, number>()
  const steps = new Map<string, number>()
  const nodeParent: number[] = []
  const nodePlace: number[] = []
  const node: number[] = []
  const thread: number[] = []
  for (const line of lines) {
    const [, stack, times, which] = /^(.*) (\d+)(?: t(\d+))?$/.exec(line) as RegExpExecArray
    let at = -1
    for (const step of stack.split(';')) {
      const key = `${at} ${step}`
      let next = steps.get(key)
      if (next === undefined) {
        next = steps.size
        steps.set(key, next)
        nodeParent.push(at)
        if (!functionOf.has(step)) functionOf.set(step, functions.push(step) - 1)
        nodePlace.push(functionOf.get(step) as number)
      }
      at = next
    }
    for (let i = 0; i < +times; i++) {
      node.push(at)
      thread.push(+(which ?? 0))
    }
  }
  const moduleOf = functions.map((step) => id(paths, step.split('@')[1] ?? '/bin/program'))
  const n = node.length
  return {
    event: 'cpu-clock', file: 'made.data', host: 'here', command: '',
    events: [{ name: 'cpu-clock', ns: true, shown: true }], sentences: [],
    modules: paths.map((path) => ({ kind: path.startsWith('[k') ? 1 : 0, path })),
    functionName: Uint32Array.from(functions, (step) => id(strings, step.split('@')[0])),
    functionModule: Uint32Array.from(moduleOf),
    placeFunction: Uint32Array.from(functions, (_, i) => i),
    placeFile: new Uint32Array(functions.length),
    placeLine: new Uint32Array(functions.length),
    placeInlined: new Uint8Array(functions.length),
    strings,
    nodeParent: Int32Array.from(nodeParent), nodePlace: Uint32Array.from(nodePlace),
    threads: threads.map((comm, i) => ({ pid: 1, tid: i + 1, comm })), spans: [], code: [],
    time: Float64Array.from({ length: n }, (_, i) => i * 1000),
    thread: Uint32Array.from(thread), eventOf: new Uint16Array(n), node: Int32Array.from(node),
    weight: new Float64Array(n).fill(1e6),
  }
}
