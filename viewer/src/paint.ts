// Which boxes of a tree are to be seen, and in what colours. The work is bounded by what fits on
// the screen: children are sorted by weight, so that behind the first one that is too narrow there
// is nothing but narrow ones (one grey box), and those left of the screen are skipped by halving.
import type { Kind, Model, Tree } from './model'
import { kindOfNode, shortOf } from './model'
import { fit } from './names'

export const ROW = 20
const NARROW = 0.6 // pixels

export interface Box {
  node: number // -1: what is too narrow to be told apart
  x: number
  y: number
  w: number
  fill: string
  ink: string
  text: string
}

export interface Picture {
  boxes: Box[]
  visited: number
}

export interface Look {
  width: number
  height: number
  top: number // scrolled down so far
  from: number // the part of the weights that is shown
  to: number
  up: boolean // the root is at the bottom
  byModule: boolean
  dark: boolean
  found: Uint8Array | null
  charWidth: number
}

export const LIGHT: Record<Kind, string> = {
  kernel: '#f3a35c', program: '#7fb8ea', library: '#8fd0b4', jit: '#d8a3d6', inlined: '#bcdcf7', other: '#c9ced6',
}
export const DARK: Record<Kind, string> = {
  kernel: '#a85a14', program: '#2a6cab', library: '#1f7a5c', jit: '#8a4a8c', inlined: '#234a72', other: '#4a505a',
}
const BY_MODULE = {
  light: ['#7fb8ea', '#f3a35c', '#8fd0b4', '#d8a3d6', '#f0d060', '#b0b7e8', '#e8a0a0', '#9fd5e0', '#c8c88a', '#d0b49a'],
  dark: ['#2a6cab', '#a85a14', '#1f7a5c', '#8a4a8c', '#7d6608', '#4a52a0', '#9c4040', '#25717f', '#62622a', '#6f5138'],
}
const FOUND = { light: '#ffe23d', dark: '#e8c81a' }

// Modules are numbered as they are met: the first ones all differ.
export function moduleColour(module: number, dark: boolean): string {
  const palette = dark ? BY_MODULE.dark : BY_MODULE.light
  return palette[module % palette.length]
}

const mixed = new Map<string, string>()

function mix(from: string, to: string, share: number): string {
  const key = `${from}${to}${share}`
  let colour = mixed.get(key)
  if (!colour) {
    if (mixed.size > 10000) mixed.clear()
    mixed.set(key, (colour = mixNew(from, to, share)))
  }
  return colour
}

function mixNew(from: string, to: string, share: number): string {
  const part = (colour: string, at: number) => parseInt(colour.slice(at, at + 2), 16)
  const channel = (at: number) => Math.round(part(from, at) + (part(to, at) - part(from, at)) * share)
  return `#${[1, 3, 5].map((at) => channel(at).toString(16).padStart(2, '0')).join('')}`
}

// Red: a larger share than before, blue: a smaller one; the colour is full at three times.
export function changeColour(a: number, b: number, dark: boolean): string {
  const none = dark ? '#4a505a' : '#e3e5e9'
  const change = a + b > 0 ? (b - a) / (a + b) : 0
  const share = Math.min(1, Math.abs(change) * 2)
  return mix(none, change > 0 ? (dark ? '#c0392b' : '#f0674f') : dark ? '#2f72c4' : '#5a9cec', share)
}

export function colourOf(m: Model, t: Tree, node: number, look: Look): string {
  const f = t.func[node]
  if (t.a && t.b) return changeColour(t.a[node], t.b[node], look.dark)
  if (f < 0) return look.dark ? '#3a3f48' : '#dfe3e8'
  if (look.byModule) return moduleColour(m.functionModule[f], look.dark)
  const base = (look.dark ? DARK : LIGHT)[kindOfNode(m, f, t.place[node])]
  // Neighbours differ a little, the same function always looks the same.
  return mix(base, look.dark ? '#000000' : '#ffffff', ((f * 2654435761) >>> 29) / 7 * 0.18)
}

function firstVisible(t: Tree, node: number, from: number): number {
  let low = t.first[node]
  let high = t.first[node + 1]
  while (low < high) {
    const middle = (low + high) >> 1
    const kid = t.kids[middle]
    if (t.start[kid] + t.total[kid] <= from) low = middle + 1
    else high = middle
  }
  return low
}

export function contentHeight(t: Tree): number {
  return (t.deepest + 1) * ROW
}

export function paint(m: Model, t: Tree, look: Look): Picture {
  const boxes: Box[] = []
  const scale = look.width / (look.to - look.from)
  const bottom = Math.max(contentHeight(t), look.height)
  const pending: number[] = [0]
  let visited = 0
  if (!(t.total[0] > 0) || !Number.isFinite(scale)) return { boxes, visited }
  const yOf = (depth: number) => (look.up ? bottom - (depth + 1) * ROW : depth * ROW) - look.top
  const shown = (y: number) => y > -ROW && y < look.height
  const ink = look.dark ? '#f2f4f7' : '#17202b'
  while (pending.length) {
    const node = pending.pop() as number
    const depth = t.depth[node]
    const y = yOf(depth)
    visited++
    if (shown(y)) {
      const left = Math.max(0, (t.start[node] - look.from) * scale)
      const right = Math.min(look.width, (t.start[node] + t.total[node] - look.from) * scale)
      const found = look.found !== null && node > 0 && look.found[t.func[node]] > 0
      let fill = found ? FOUND[look.dark ? 'dark' : 'light'] : colourOf(m, t, node, look)
      if (look.found && !found) fill = mix(fill, look.dark ? '#16191e' : '#ffffff', 0.6)
      boxes.push({ node, x: left, y, w: right - left, fill, ink: found ? '#17202b' : ink, text: label(m, t, node, right - left, look) })
    }
    const below = yOf(depth + 1)
    if (look.up ? below <= -ROW : below >= look.height) continue
    for (let k = firstVisible(t, node, look.from); k < t.first[node + 1]; k++) {
      const kid = t.kids[k]
      const x = (t.start[kid] - look.from) * scale
      if (x >= look.width) break
      if (t.total[kid] * scale >= NARROW) {
        pending.push(kid)
        continue
      }
      const last = t.kids[t.first[node + 1] - 1]
      const right = Math.min(look.width, (t.start[last] + t.total[last] - look.from) * scale)
      const left = Math.max(0, x)
      if (shown(below) && right - left > 0.3)
        boxes.push({ node: -1, x: left, y: below, w: right - left, fill: look.dark ? '#343a44' : '#d5dae1', ink, text: '' })
      break
    }
  }
  return { boxes, visited }
}

function label(m: Model, t: Tree, node: number, width: number, look: Look): string {
  const room = Math.floor((width - 8) / look.charWidth)
  if (room < 3) return ''
  const f = t.func[node]
  return f < 0 ? fit('everything', 'all', room) : fit(m.names[f], shortOf(m, f), room)
}

export function toSvg(picture: Picture, look: Look, title: string): string {
  const xml = (text: string) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
  const n = (value: number) => value.toFixed(2).replace(/\.?0+$/, '')
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${look.width}" height="${look.height}" viewBox="0 0 ${look.width} ${look.height}" font-family="ui-monospace,monospace" font-size="12">`,
    `<title>${xml(title)}</title>`,
    `<rect width="100%" height="100%" fill="${look.dark ? '#16191e' : '#ffffff'}"/>`,
  ]
  for (const box of picture.boxes) {
    out.push(`<rect x="${n(box.x)}" y="${n(box.y)}" width="${n(Math.max(0.3, box.w - 1))}" height="${ROW - 1}" fill="${box.fill}"/>`)
    if (box.text) out.push(`<text x="${n(box.x + 4)}" y="${n(box.y + 14)}" fill="${box.ink}">${xml(box.text)}</text>`)
  }
  return out.join('\n') + '\n</svg>\n'
}
