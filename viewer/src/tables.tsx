// The tables below the picture. A row is chosen with a click or Enter; arrow keys walk.
import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks'
import type { Model, Row, Tree } from './model'
import { neighbours, rowsBy, shortOf } from './model'
import { percent, points } from './format'

interface Column<T> {
  key: string
  title: string
  number?: boolean
  bar?: (row: T) => number // share
  text: (row: T) => string
  hint?: (row: T) => string
  order: (x: T, y: T) => number
}

const PAGE = 50

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    document.body.append(area)
    area.select()
    const done = document.execCommand('copy')
    area.remove()
    return done
  }
}

export function walk(e: KeyboardEvent) {
  const row = (e.target as HTMLElement).closest('tr')
  const step = e.key === 'ArrowDown' ? row?.nextElementSibling : e.key === 'ArrowUp' ? row?.previousElementSibling : null
  if (!(step instanceof HTMLElement)) return
  e.preventDefault()
  step.focus()
}

interface TableProps<T> {
  label: string
  rows: T[]
  columns: Column<T>[]
  first: string // sorted by this column
  id: (row: T) => number
  chosen?: number
  found?: (row: T) => boolean
  onChoose?: (row: T) => void
}

export function Table<T>(p: TableProps<T>) {
  const [by, setBy] = useState({ key: p.first, down: true })
  const [limit, setLimit] = useState(PAGE)
  const [copied, setCopied] = useState('')
  const column = p.columns.find((c) => c.key === by.key) ?? p.columns[0]
  const rows = useMemo(() => {
    const sorted = p.rows.slice().sort(column.order)
    return by.down ? sorted : sorted.reverse()
  }, [p.rows, column.key, by.down])
  useEffect(() => setLimit(PAGE), [p.rows])
  const text = () => [p.columns.map((c) => c.title), ...rows.map((row) => p.columns.map((c) => c.text(row).replace(/[\t\n]/g, ' ')))].map((line) => line.join('\t')).join('\n')
  return (
    <div class="table">
      <table aria-label={p.label}>
        <thead>
          <tr>
            {p.columns.map((c) => (
              <th key={c.key} class={c.number ? 'n' : ''} aria-sort={c.key === column.key ? (by.down ? 'descending' : 'ascending') : undefined}>
                <button type="button" onClick={() => setBy({ key: c.key, down: c.key === by.key ? !by.down : true })}>
                  {c.title}
                  {c.key === column.key ? (by.down ? ' ▾' : ' ▴') : ''}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody onKeyDown={walk}>
          {rows.slice(0, limit).map((row) => (
            <tr
              key={p.id(row)} tabIndex={0} aria-selected={p.chosen === p.id(row)} class={p.found?.(row) ? 'found' : ''}
              onClick={() => p.onChoose?.(row)} onKeyDown={(e) => e.key === 'Enter' && p.onChoose?.(row)}
            >
              {p.columns.map((c) => (
                <td key={c.key} class={c.number ? 'n' : 'name'} title={c.hint?.(row)}>
                  {c.bar && <i class="bar" style={{ width: `${Math.min(100, Math.max(0, c.bar(row) * 100))}%` }} />}
                  <span dir="ltr">{c.text(row)}</span>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="more">
        {rows.length > limit && (
          <button type="button" onClick={() => setLimit(limit + 10 * PAGE)}>{rows.length - limit} more</button>
        )}
        {rows.length > 0 ? (
          <button type="button" onClick={async () => setCopied((await copy(text())) ? 'copied' : 'the browser does not allow it')}>copy table</button>
        ) : (
          <span>none</span>
        )}
        <span role="status">{copied}</span>
      </p>
    </div>
  )
}

interface Data {
  model: Model
  tree: Tree
  inverted: boolean
  found: Uint8Array | null
  selected: number
  amount: (weight: number) => string
  onSelect: (f: number) => void
}

const cut = (name: string) => (name.length > 160 ? name.slice(0, 159) + '…' : name)

function weightColumns(p: Data): Column<Row>[] {
  const all = p.tree.total[0] || 1
  if (p.tree.a)
    return [
      { key: 'change', title: 'change', number: true, text: (r) => points(r.b - r.a), order: (x, y) => Math.abs(y.b - y.a) - Math.abs(x.b - x.a) },
      { key: 'a', title: 'self before', number: true, bar: (r) => r.a, text: (r) => percent(r.a), order: (x, y) => y.a - x.a },
      { key: 'b', title: 'self after', number: true, bar: (r) => r.b, text: (r) => percent(r.b), order: (x, y) => y.b - x.b },
    ]
  return [
    { key: 'self', title: 'self', number: true, bar: (r) => r.self / all, text: (r) => percent(r.self / all), hint: (r) => p.amount(r.self), order: (x, y) => y.self - x.self || y.total - x.total },
    { key: 'total', title: 'total', number: true, bar: (r) => r.total / all, text: (r) => percent(r.total / all), hint: (r) => p.amount(r.total), order: (x, y) => y.total - x.total },
  ]
}

const nameOf = (m: Model, f: number) => (f < 0 ? '(everything: it is the first)' : m.names[f])

function functionColumns(p: Data, weights: Column<Row>[]): Column<Row>[] {
  const module = (r: Row) => (r.id < 0 ? '' : p.model.modules[p.model.functionModule[r.id]].name)
  return [
    ...weights,
    { key: 'name', title: 'function', text: (r) => (r.id >= 0 && p.model.names[r.id].length > 90 ? cut(shortOf(p.model, r.id)) : nameOf(p.model, r.id)), hint: (r) => nameOf(p.model, r.id), order: (x, y) => nameOf(p.model, x.id).localeCompare(nameOf(p.model, y.id)) },
    { key: 'module', title: 'module', text: module, order: (x, y) => module(x).localeCompare(module(y)) },
  ]
}

export function Functions(p: Data) {
  const rows = useMemo(() => rowsBy(p.tree, p.model.names.length, (node) => p.tree.func[node], p.inverted), [p.tree])
  return (
    <Table
      label="Functions" rows={rows} first={p.tree.a ? 'change' : 'self'} id={(r) => r.id} chosen={p.selected}
      found={(r) => !!p.found?.[r.id]} onChoose={(r) => p.onSelect(r.id)} columns={functionColumns(p, weightColumns(p))}
    />
  )
}

export function Modules(p: Data) {
  const rows = useMemo(() => rowsBy(p.tree, p.model.modules.length, (node) => p.model.functionModule[p.tree.func[node]], p.inverted), [p.tree])
  const { modules } = p.model
  return (
    <Table
      label="Modules" rows={rows} first={p.tree.a ? 'change' : 'self'} id={(r) => r.id}
      columns={[
        ...weightColumns(p),
        { key: 'name', title: 'module', text: (r) => modules[r.id].name, hint: (r) => modules[r.id].path, order: (x, y) => modules[x.id].name.localeCompare(modules[y.id].name) },
        { key: 'kind', title: 'kind', text: (r) => modules[r.id].kind, order: (x, y) => modules[x.id].kind.localeCompare(modules[y.id].kind) },
      ]}
    />
  )
}

export function Callers(p: Data & { plain: Tree }) {
  const both = useMemo(() => (p.selected >= 0 ? neighbours(p.model, p.plain, p.selected) : null), [p.plain, p.selected])
  if (!both) return <p class="hint">Choose a function, in the picture or in a table, to see who calls it and what it calls.</p>
  const all = p.plain.total[0] || 1
  const columns = (title: string): Column<Row>[] => {
    const weights: Column<Row>[] = p.plain.a
      ? [
          { key: 'a', title: 'before', number: true, text: (r) => percent(r.a), order: (x, y) => y.a - x.a },
          { key: 'b', title: 'after', number: true, text: (r) => percent(r.b), order: (x, y) => y.b - x.b },
        ]
      : [{ key: 'total', title: 'total', number: true, bar: (r) => r.total / all, text: (r) => percent(r.total / all), hint: (r) => p.amount(r.total), order: (x, y) => y.total - x.total }]
    return functionColumns(p, weights).map((c) => (c.key === 'name' ? { ...c, title } : c))
  }
  const first = p.plain.a ? 'b' : 'total'
  const choose = (r: Row) => r.id >= 0 && p.onSelect(r.id)
  return (
    <div class="sandwich">
      <h3 dir="ltr" title={p.model.names[p.selected]}>{cut(p.model.names[p.selected])}</h3>
      <div><Table label="Callers" rows={both.callers} first={first} id={(r) => r.id} columns={columns('called by')} onChoose={choose} /></div>
      <div><Table label="Callees" rows={both.callees} first={first} id={(r) => r.id} columns={columns('calls')} onChoose={choose} /></div>
    </div>
  )
}

// The call tree: what is heavy is open at first.
export function CallTree(p: Data) {
  const { tree: t, model: m } = p
  const [open, setOpen] = useState<Set<number>>(new Set())
  useLayoutEffect(() => {
    const heavy = new Set<number>([0])
    let node = 0
    for (let depth = 0; depth < 60 && t.first[node] < t.first[node + 1]; depth++) {
      node = t.kids[t.first[node]]
      heavy.add(node)
      if (t.total[node] < t.total[0] * 0.01) break
    }
    setOpen(heavy)
  }, [t])
  const rows = useMemo(() => {
    const out: { node: number; indent: number }[] = []
    const pending = [{ node: 0, indent: 4 }]
    while (pending.length && out.length < 3000) {
      const row = pending.pop() as { node: number; indent: number }
      const { node } = row
      if (node >= t.parent.length) continue
      out.push(row)
      if (!open.has(node)) continue
      // Where ways part the eye needs the space; along one way it does not.
      const indent = Math.min(row.indent + (t.first[node + 1] - t.first[node] > 1 ? 14 : 2), 600)
      for (let k = t.first[node + 1] - 1; k >= t.first[node]; k--) pending.push({ node: t.kids[k], indent })
    }
    return out
  }, [t, open])
  const turn = (node: number, on: boolean) => {
    const next = new Set(open)
    if (on) next.add(node)
    else next.delete(node)
    setOpen(next)
  }
  const all = t.total[0] || 1
  const share = (node: number) => (t.a && t.b ? `${percent(t.a[node])} → ${percent(t.b[node])}` : percent(t.total[node] / all))
  return (
    <div class="table">
      <table aria-label="Call tree" role="treegrid">
        <thead>
          <tr>
            <th class="n">total</th>
            {!t.a && <th class="n">self</th>}
            <th>function</th>
          </tr>
        </thead>
        <tbody onKeyDown={walk}>
          {rows.map(({ node, indent }) => {
            const f = t.func[node]
            const leaf = t.first[node] === t.first[node + 1]
            const name = f < 0 ? 'everything' : shortOf(m, f)
            return (
              <tr
                key={node} tabIndex={0} aria-level={t.depth[node] + 1} aria-expanded={leaf ? undefined : open.has(node)}
                aria-selected={f >= 0 && f === p.selected} class={f >= 0 && p.found?.[f] ? 'found' : ''}
                onClick={() => f >= 0 && p.onSelect(f)}
                onKeyDown={(e) => {
                  if (e.key === 'ArrowRight') turn(node, true)
                  else if (e.key === 'ArrowLeft') turn(node, false)
                  else if (e.key === 'Enter' && f >= 0) p.onSelect(f)
                }}
              >
                <td class="n" title={p.amount(t.total[node])}>
                  <i class="bar" style={{ width: `${(t.total[node] / all) * 100}%` }} />
                  <span>{share(node)}</span>
                </td>
                {!t.a && <td class="n" title={p.amount(t.self[node])}>{t.self[node] > 0 ? percent(t.self[node] / all) : ''}</td>}
                <td class="name" title={f < 0 ? '' : m.names[f]} style={{ paddingLeft: `min(${indent}px, 35vw)` }}>
                  {leaf ? (
                    <span class="twig" />
                  ) : (
                    <button type="button" class="twig" tabIndex={-1} aria-label={open.has(node) ? 'close' : 'open'} onClick={(e) => { e.stopPropagation(); turn(node, !open.has(node)) }}>
                      {open.has(node) ? '▾' : '▸'}
                    </button>
                  )}
                  <span dir="ltr">{cut(name)}</span>
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
