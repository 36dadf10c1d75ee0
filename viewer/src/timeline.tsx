// Threads over time: how busy each was. Dragging chooses a time range, clicking a name a thread.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Model } from './model'
import type { Span } from './decode'
import { count, percent, seconds } from './format'

const LINE = 22
const BINS = 300
const NAMES = 150

interface Props {
  model: Model
  event: number
  from: number
  to: number
  threads: number[] | null
  dark: boolean
  onTime: (from: number, to: number) => void
  onThreads: (threads: number[] | null) => void
}

interface Lanes {
  order: number[] // threads, the busiest first
  weight: Float64Array
  total: number
  bins: Float32Array // of the thread at a place of `order`, behind those of all together
  full: number // what a lane at full height weighs
  fullAll: number
}

export function lanesOf(m: Model, event: number): Lanes {
  const weight = new Float64Array(m.threads.length)
  const members = m.events[event].members
  const span = Math.max(1, m.end)
  for (let i = 0; i < m.count; i++) if (members.has(m.eventOf[i])) weight[m.thread[i]] += m.weight[i] || 1
  const order = Array.from(weight.keys()).filter((i) => weight[i] > 0)
  order.sort((x, y) => weight[y] - weight[x] || x - y)
  const lane = new Int32Array(m.threads.length)
  order.forEach((thread, i) => (lane[thread] = i + 1))
  const bins = new Float32Array((order.length + 1) * BINS)
  let total = 0
  for (let i = 0; i < m.count; i++) {
    if (!members.has(m.eventOf[i])) continue
    const bin = Math.min(BINS - 1, Math.floor((m.time[i] / span) * BINS))
    const w = m.weight[i] || 1
    bins[bin] += w
    bins[lane[m.thread[i]] * BINS + bin] += w
    total += w
  }
  let most = 0
  let mostAll = 0
  for (let i = 0; i < bins.length; i++) {
    if (i < BINS) mostAll = Math.max(mostAll, bins[i])
    else most = Math.max(most, bins[i])
  }
  // Where weights are time, a lane that is full is one CPU's.
  const one = m.events[event].ns ? (span / BINS) * 1000 : 0
  return { order, weight, total, bins, full: Math.max(one, most * 0.999, 1e-9), fullAll: Math.max(mostAll, 1e-9) }
}

const SPANS = 200 // that are listed

// In words: where samples are missing, of each kind.
export function missingOf(m: Model): { kind: number; words: string }[] {
  return [0, 1].flatMap((kind) => {
    const own = m.spans.filter((it) => it.kind === kind)
    if (!own.length) return []
    const length = seconds(own.reduce((sum, it) => sum + it.length, 0))
    const times = own.length === 1 ? 'once' : `${count(own.length)} times`
    return [{ kind, words: kind ? `yellow: held back by the kernel ${times}, ${length}` : `red: samples were lost ${times}` }]
  })
}

export function spanWords(m: Model, it: Span): string {
  const thread = m.threads[it.thread]
  const whose = thread ? ` while ${thread.comm || '?'} ${thread.tid} ran` : ''
  return `${it.kind ? 'held back' : 'lost'} at ${seconds(it.start)} for ${seconds(it.length)}${whose}`
}

export function Timeline(p: Props) {
  const { model: m } = p
  const lanes = useMemo(() => lanesOf(m, p.event), [m, p.event])
  const scroller = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const [size, setSize] = useState({ width: 0, height: 0 })
  const [drag, setDrag] = useState<{ start: number; end: number } | null>(null)
  const names = Math.min(NAMES, size.width * 0.3)
  const chart = size.width - names
  const rows = lanes.order.length + 1
  const span = Math.max(1, m.end)
  const laneOf = useMemo(() => new Map(lanes.order.map((thread, i) => [thread, i + 1])), [lanes])
  const missing = useMemo(() => missingOf(m), [m])

  const label = (row: number) => {
    if (row === 0) return `all ${lanes.order.length} thread${lanes.order.length === 1 ? '' : 's'}`
    const thread = m.threads[lanes.order[row - 1]]
    return `${m.sources.length > 1 ? 'AB'[thread.side] + ' ' : ''}${thread.comm || '?'} ${thread.tid}`
  }
  const draw = () => {
    const [box, target] = [scroller.current, canvas.current]
    if (!box || !target || !size.width) return
    const ratio = window.devicePixelRatio || 1
    const [w, h] = [Math.round(size.width * ratio), Math.round(size.height * ratio)]
    if (target.width !== w) target.width = w
    if (target.height !== h) target.height = h
    const context = target.getContext('2d') as CanvasRenderingContext2D
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.clearRect(0, 0, size.width, size.height)
    context.textBaseline = 'middle'
    context.font = '12px system-ui, sans-serif'
    const ink = p.dark ? '#e6e9ee' : '#1d2733'
    const chosen = p.threads ? new Set(p.threads) : null
    const top = box.scrollTop
    for (let row = Math.floor(top / LINE); row < rows && row * LINE - top < size.height; row++) {
      const y = row * LINE - top
      const on = row === 0 ? !chosen : !chosen || chosen.has(lanes.order[row - 1])
      context.globalAlpha = on ? 1 : 0.35
      context.fillStyle = ink
      context.save()
      context.beginPath()
      context.rect(0, y, names - 6, LINE)
      context.clip()
      context.fillText(label(row), 6, y + LINE / 2)
      context.restore()
      context.fillStyle = p.dark ? '#22272f' : '#f0f2f5'
      context.fillRect(names, y + 1, chart, LINE - 2)
      context.fillStyle = row === 0 ? (p.dark ? '#8b97a8' : '#66758a') : p.dark ? '#4f9be0' : '#3a86cf'
      const full = row === 0 ? lanes.fullAll : lanes.full
      for (let i = 0; i < BINS; i++) {
        const height = Math.min(1, lanes.bins[row * BINS + i] / full) * (LINE - 3)
        if (height > 0) context.fillRect(names + (i / BINS) * chart, y + LINE - 1 - Math.max(1, height), chart / BINS + 0.5, Math.max(1, height))
      }
    }
    context.globalAlpha = 1
    for (const it of m.spans) {
      context.fillStyle = it.kind ? (p.dark ? 'rgba(235,180,60,.55)' : 'rgba(200,130,0,.45)') : p.dark ? 'rgba(240,90,70,.6)' : 'rgba(220,60,40,.45)'
      const [x, width] = [names + (it.start / span) * chart, Math.max(2, (it.length / span) * chart)]
      const lane = it.thread < 0 ? 0 : (laneOf.get(it.thread) ?? 0)
      if (!lane) context.fillRect(x, 0, width, size.height)
      else for (const row of [0, lane]) context.fillRect(x, row * LINE - top, width, LINE)
    }
    const [a, b] = drag ? [Math.min(drag.start, drag.end), Math.max(drag.start, drag.end)] : [p.from, p.to]
    if (b > a) {
      context.fillStyle = p.dark ? 'rgba(0,0,0,.55)' : 'rgba(255,255,255,.68)'
      context.fillRect(names, 0, (a / span) * chart, size.height)
      context.fillRect(names + (b / span) * chart, 0, chart - (b / span) * chart, size.height)
      context.fillStyle = ink
      context.fillRect(names + (a / span) * chart - 1, 0, 1.5, size.height)
      context.fillRect(names + (b / span) * chart, 0, 1.5, size.height)
    }
  }
  useLayoutEffect(() => {
    const box = scroller.current as HTMLDivElement
    const watch = new ResizeObserver(() => setSize({ width: box.clientWidth, height: box.clientHeight }))
    watch.observe(box)
    return () => watch.disconnect()
  }, [])
  useEffect(draw)

  const spot = (e: MouseEvent) => {
    const frame = (canvas.current as HTMLCanvasElement).getBoundingClientRect()
    const x = e.clientX - frame.left
    const y = e.clientY - frame.top + (scroller.current as HTMLDivElement).scrollTop
    return { x, row: Math.floor(y / LINE), time: Math.min(span, Math.max(0, ((x - names) / chart) * span)) }
  }
  const toggle = (row: number) => {
    if (row === 0) return p.onThreads(null)
    const thread = lanes.order[row - 1]
    if (thread === undefined) return
    const now = new Set(p.threads ?? [])
    if (now.has(thread)) now.delete(thread)
    else now.add(thread)
    p.onThreads(now.size ? [...now] : null)
  }
  const check = (thread: number, on: boolean) => {
    const now = new Set(p.threads ?? lanes.order)
    if (on) now.add(thread)
    else now.delete(thread)
    p.onThreads(now.size === lanes.order.length || !now.size ? null : [...now])
  }
  const hint = p.to > p.from ? `${seconds(p.from)} to ${seconds(p.to)} of ${seconds(m.end)}` : `${seconds(m.end)}; drag to choose a part`
  return (
    <section class="timeline" aria-label="Timeline of threads">
      <h2>
        Timeline <small>{hint}</small>
        {(p.to > p.from || p.threads) && (
          <button type="button" onClick={() => { p.onTime(0, 0); p.onThreads(null) }}>show all</button>
        )}
        {missing.map(({ kind, words }) => <small key={kind} class={kind ? 'throttled' : 'lost'}>{words}</small>)}
      </h2>
      <div class="scroller" ref={scroller} onScroll={draw} style={{ height: `${Math.min(rows, 6) * LINE}px` }}>
        <div style={{ height: `${rows * LINE}px` }}>
          <canvas
            ref={canvas} style={{ width: `${size.width}px`, height: `${size.height}px` }} role="img"
            aria-label={[`${lanes.order.length} threads over ${seconds(m.end)}`, ...missing.map(({ words }) => words)].join('; ')}
            onPointerDown={(e) => {
              const s = spot(e)
              if (e.button !== 0) return
              if (s.x < names) return toggle(s.row)
              canvas.current?.setPointerCapture(e.pointerId)
              setDrag({ start: s.time, end: s.time })
            }}
            onPointerMove={(e) => drag && setDrag({ start: drag.start, end: spot(e).time })}
            onPointerUp={(e) => {
              if (!drag) return
              const end = spot(e).time
              setDrag(null)
              const [a, b] = [Math.min(drag.start, end), Math.max(drag.start, end)]
              if (((b - a) / span) * chart > 3) p.onTime(Math.floor(a), Math.ceil(b))
              else p.onTime(0, 0)
            }}
            onPointerCancel={() => setDrag(null)}
          />
        </div>
      </div>
      <details class="by-keys">
        <summary>Time and threads by keyboard</summary>
        <Range p={p} span={span} />
        <ul>
          {lanes.order.slice(0, 200).map((thread, i) => (
            <li key={thread}>
              <label>
                <input type="checkbox" checked={!p.threads || p.threads.includes(thread)} onChange={(e) => check(thread, e.currentTarget.checked)} />{' '}
                {label(i + 1)} <small>{percent(lanes.weight[thread] / lanes.total)}</small>
              </label>
            </li>
          ))}
        </ul>
        {m.spans.length > 0 && (
          <ul aria-label="Where samples are missing">
            {m.spans.slice(0, SPANS).map((it, i) => <li key={i}>{spanWords(m, it)}</li>)}
            {m.spans.length > SPANS && <li>and {count(m.spans.length - SPANS)} more</li>}
          </ul>
        )}
      </details>
    </section>
  )
}

function Range({ p, span }: { p: Props; span: number }) {
  const value = (us: number) => (us / 1e6).toFixed(3)
  const set = (from: number, to: number) => {
    const [a, b] = [Math.max(0, from), Math.min(span + 1, to)]
    if (b > a) p.onTime(Math.floor(a), Math.ceil(b))
  }
  const to = p.to > p.from ? p.to : span + 1
  return (
    <p>
      <label>from <input type="number" min="0" step="0.01" value={value(p.from)} onChange={(e) => set(+e.currentTarget.value * 1e6, to)} /></label>{' '}
      <label>to <input type="number" min="0" step="0.01" value={value(to)} onChange={(e) => set(p.from, +e.currentTarget.value * 1e6)} /></label> seconds
    </p>
  )
}
