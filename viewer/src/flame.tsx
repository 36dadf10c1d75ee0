// The flame graph: a canvas as large as the window it scrolls in.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Model, Tree } from './model'
import { percent, points } from './format'
import { type Box, type Look, ROW, contentHeight, paint, toSvg } from './paint'

export interface FlameApi {
  png(): void
  svg(): void
}

interface Props {
  model: Model
  tree: Tree
  zoom: number // node
  up: boolean
  byModule: boolean
  dark: boolean
  found: Uint8Array | null
  selected: number
  amount: (weight: number) => string
  title: string
  onZoom: (node: number) => void
  onSelect: (func: number) => void
  api: { current: FlameApi | null }
}

const FONT = '12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace'

let charWidth = 0
function measure(context: CanvasRenderingContext2D): number {
  context.font = FONT
  return (charWidth ||= context.measureText('M'.repeat(50)).width / 50)
}

export function save(blob: Blob, name: string) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10000)
}

function draw(canvas: HTMLCanvasElement, boxes: Box[], look: Look, marked: (node: number) => boolean, cursor: number) {
  const ratio = window.devicePixelRatio || 1
  const [w, h] = [Math.round(look.width * ratio), Math.round(look.height * ratio)]
  if (canvas.width !== w) canvas.width = w
  if (canvas.height !== h) canvas.height = h
  const context = canvas.getContext('2d') as CanvasRenderingContext2D
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, look.width, look.height)
  let fill = ''
  for (const box of boxes) {
    if (box.fill !== fill) context.fillStyle = fill = box.fill
    context.fillRect(box.x, box.y, Math.max(0.4, box.w - (box.w > 3 ? 1 : 0)), ROW - 1)
  }
  context.font = FONT
  context.textBaseline = 'middle'
  let ink = ''
  for (const box of boxes) {
    if (!box.text) continue
    if (box.ink !== ink) context.fillStyle = ink = box.ink
    context.fillText(box.text, box.x + 4, box.y + ROW / 2)
  }
  context.lineWidth = 2
  for (const box of boxes) {
    if (box.node < 0 || (box.node !== cursor && !marked(box.node)) || box.w < 2) continue
    context.strokeStyle = look.dark ? '#ffffff' : '#10151c'
    context.strokeRect(box.x + 1, box.y + 1, Math.max(1, box.w - 3), ROW - 3)
  }
}

export function place(m: Model, t: Tree, node: number): string {
  const at = t.place[node]
  const file = at < 0 ? '' : m.files[m.placeFile[at]]
  if (!file) return ''
  return m.placeLine[at] ? `${file}:${m.placeLine[at]}` : file
}

interface Tip {
  node: number
  x: number
  y: number
}

export function facts(p: { model: Model; tree: Tree; zoom: number; amount: (w: number) => string }, node: number): [string, string][] {
  const { model: m, tree: t } = p
  const f = t.func[node]
  const share = (w: number) => `${percent(w / t.total[p.zoom])} of view, ${percent(w / t.total[0])} of all`
  const all = t.total[0] === t.total[p.zoom]
  const shares = (w: number) => (all ? percent(w / t.total[0]) : share(w))
  const rows: [string, string][] = []
  if (t.a && t.b) rows.push(['share', `${percent(t.a[node])} → ${percent(t.b[node])} (${points(t.b[node] - t.a[node])})`])
  else {
    rows.push(['self', `${p.amount(t.self[node])}, ${shares(t.self[node])}`])
    rows.push(['total', `${p.amount(t.total[node])}, ${shares(t.total[node])}`])
  }
  if (f >= 0) rows.push(['module', m.modules[m.functionModule[f]].path])
  const line = place(m, t, node)
  if (line) rows.push([t.place[node] >= 0 && m.placeInlined[t.place[node]] ? 'inlined, at' : 'line', line])
  return rows
}

export function Flame(p: Props) {
  const scroller = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const boxes = useRef<Box[]>([])
  const view = useRef({ from: 0, to: 1 })
  const drag = useRef<{ x: number; from: number; to: number; moved: boolean } | null>(null)
  const look = useRef<Look | null>(null)
  const [size, setSize] = useState({ width: 0, height: 0 })
  const [tip, setTip] = useState<Tip | null>(null)
  const [cursor, setCursor] = useState(-1)
  const { tree: t, model: m } = p

  const redraw = () => {
    const [box, target] = [scroller.current, canvas.current]
    if (!box || !target || !size.width) return
    const now: Look = {
      width: size.width, height: size.height, top: box.scrollTop, from: view.current.from, to: view.current.to, up: p.up,
      byModule: p.byModule, dark: p.dark, found: p.found, charWidth: measure(target.getContext('2d') as CanvasRenderingContext2D),
    }
    const picture = paint(m, t, now)
    look.current = now
    boxes.current = picture.boxes
    draw(target, picture.boxes, now, (node) => p.selected >= 0 && t.func[node] === p.selected, cursor)
    target.dataset.boxes = String(picture.boxes.length)
    target.dataset.visited = String(picture.visited)
  }

  useLayoutEffect(() => {
    const box = scroller.current as HTMLDivElement
    const watch = new ResizeObserver(() => setSize({ width: box.clientWidth, height: box.clientHeight }))
    watch.observe(box)
    return () => watch.disconnect()
  }, [])
  useLayoutEffect(() => {
    view.current = { from: t.start[p.zoom], to: t.start[p.zoom] + t.total[p.zoom] }
    setTip(null)
    setCursor(-1)
  }, [t, p.zoom])
  useLayoutEffect(() => {
    const box = scroller.current
    if (!box) return
    if (p.up) box.scrollTop = box.scrollHeight - t.depth[p.zoom] * ROW
    else if (t.depth[p.zoom] * ROW < box.scrollTop || t.depth[p.zoom] * ROW > box.scrollTop + box.clientHeight / 2)
      box.scrollTop = Math.max(0, (t.depth[p.zoom] - 2) * ROW)
  }, [t, p.zoom, p.up, size.height])
  useEffect(redraw)

  p.api.current = {
    png: () => canvas.current?.toBlob((blob) => blob && save(blob, 'wick.png')),
    svg: () => look.current && save(new Blob([toSvg(paint(m, t, look.current), look.current, p.title)], { type: 'image/svg+xml' }), 'wick.svg'),
  }

  const at = (e: MouseEvent): { node: number; x: number; y: number } => {
    const frame = (canvas.current as HTMLCanvasElement).getBoundingClientRect()
    const [x, y] = [e.clientX - frame.left, e.clientY - frame.top]
    const hit = boxes.current.find((b) => x >= b.x && x < b.x + b.w && y >= b.y && y < b.y + ROW)
    return { node: hit ? hit.node : -1, x, y }
  }
  const setView = (from: number, to: number) => {
    const all = t.total[0]
    const width = Math.min(all, Math.max(all * 1e-7, to - from))
    const left = Math.min(Math.max(0, from), all - width)
    view.current = { from: left, to: left + width }
    redraw()
  }
  const move = (e: PointerEvent) => {
    const held = drag.current
    if (held) {
      const shift = ((held.x - e.clientX) / size.width) * (held.to - held.from)
      if (Math.abs(e.clientX - held.x) > 4) held.moved = true
      if (held.moved) {
        setTip(null)
        setView(held.from + shift, held.to + shift)
      }
      return
    }
    const { node, x, y } = at(e)
    setTip(node >= 0 ? { node, x, y } : null)
  }
  const choose = (node: number) => {
    p.onSelect(t.func[node])
    p.onZoom(node)
  }
  const wheel = (e: WheelEvent) => {
    if (!e.ctrlKey && !e.metaKey) return
    e.preventDefault()
    const frame = (canvas.current as HTMLCanvasElement).getBoundingClientRect()
    const { from, to } = view.current
    const middle = from + ((e.clientX - frame.left) / frame.width) * (to - from)
    const factor = Math.exp(Math.max(-50, Math.min(50, e.deltaY)) * 0.01)
    setView(middle - (middle - from) * factor, middle + (to - middle) * factor)
  }
  useEffect(() => {
    const box = scroller.current as HTMLDivElement
    box.addEventListener('wheel', wheel, { passive: false })
    return () => box.removeEventListener('wheel', wheel)
  })

  const key = (e: KeyboardEvent) => {
    const now = cursor >= 0 ? cursor : p.zoom
    const brothers = t.kids.subarray(t.first[t.parent[now] < 0 ? now : t.parent[now]], t.first[(t.parent[now] < 0 ? now : t.parent[now]) + 1])
    const mine = brothers.indexOf(now)
    const deeper = p.up ? 'ArrowUp' : 'ArrowDown'
    const back = p.up ? 'ArrowDown' : 'ArrowUp'
    let next = -1
    if (e.key === deeper) next = t.first[now] < t.first[now + 1] ? t.kids[t.first[now]] : now
    else if (e.key === back) next = Math.max(0, t.parent[now])
    else if (e.key === 'ArrowRight') next = mine >= 0 && mine + 1 < brothers.length ? brothers[mine + 1] : now
    else if (e.key === 'ArrowLeft') next = mine > 0 ? brothers[mine - 1] : now
    else if (e.key === 'Enter') choose(now)
    else if (e.key === '+' || e.key === '-') {
      const { from, to } = view.current
      const part = (to - from) * (e.key === '+' ? 0.25 : -0.5)
      setView(from + part, to - part)
    } else return
    e.preventDefault()
    if (next < 0) return
    setCursor(next)
    setTip(null)
    const box = scroller.current as HTMLDivElement
    const y = p.up ? Math.max(contentHeight(t), size.height) - (t.depth[next] + 1) * ROW : t.depth[next] * ROW
    if (y < box.scrollTop || y + ROW > box.scrollTop + size.height) box.scrollTop = y - size.height / 2
  }

  const named = (node: number) => (t.func[node] < 0 ? 'everything' : m.names[t.func[node]])
  const told = cursor >= 0 ? cursor : -1
  const empty = !(t.total[0] > 0)
  return (
    <div class="flame" style={{ maxHeight: `${Math.max(contentHeight(t), 200) + 2}px` }}>
      <div class="scroller" ref={scroller} onScroll={redraw}>
        <div style={{ height: `${Math.max(contentHeight(t), 1)}px` }}>
          <canvas
            ref={canvas} tabIndex={0} role="application" style={{ width: `${size.width}px`, height: `${size.height}px` }}
            aria-label={`Flame graph, ${p.title}. Arrow keys walk, Enter zooms in, Escape goes back.`}
            onPointerMove={move} onPointerLeave={() => !drag.current && setTip(null)} onKeyDown={key}
            onPointerDown={(e) => {
              if (e.button !== 0) return
              drag.current = { x: e.clientX, ...view.current, moved: false }
              if (e.pointerType !== 'touch') canvas.current?.setPointerCapture(e.pointerId)
            }}
            onPointerCancel={() => (drag.current = null)}
            onPointerUp={(e) => {
              const held = drag.current
              drag.current = null
              if (!held || held.moved) return
              const { node } = at(e)
              if (node >= 0) choose(node)
            }}
          />
        </div>
      </div>
      {empty && <p class="nothing">Nothing was sampled here.</p>}
      <p class="sr" aria-live="polite">
        {told >= 0 ? `${named(told)}: ${facts(p, told).map((row) => row.join(' ')).join('; ')}` : ''}
      </p>
      {(tip || told >= 0) && (
        <Tooltip node={tip ? tip.node : told} x={tip ? tip.x : 8} y={tip ? tip.y : size.height - 8} size={size} named={named} p={p} />
      )}
    </div>
  )
}

function Tooltip({ node, x, y, size, named, p }: { node: number; x: number; y: number; size: { width: number; height: number }; named: (n: number) => string; p: Props }) {
  if (node >= p.tree.parent.length) return null
  const style: Record<string, string> = {}
  if (size.width < 640) style.left = '4px'
  else if (x > size.width / 2) style.right = `${Math.max(0, Math.min(size.width - x + 12, size.width - 300))}px`
  else style.left = `${Math.max(0, Math.min(x + 12, size.width - 300))}px`
  if (y > size.height / 2) style.bottom = `${size.height - y + 12}px`
  else style.top = `${y + 16}px`
  const name = named(node)
  return (
    <div class="tip" style={style} aria-hidden="true">
      <b dir="ltr">{name.length > 300 ? name.slice(0, 300) + '…' : name}</b>
      <dl>
        {facts(p, node).map(([what, value]) => (
          <>
            <dt>{what}</dt>
            <dd>{value.length > 200 ? '…' + value.slice(-200) : value}</dd>
          </>
        ))}
      </dl>
    </div>
  )
}
