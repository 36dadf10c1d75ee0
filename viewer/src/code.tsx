// The chosen function's source lines and instructions, each with its share of the function's
// samples. Long stretches in which nothing stopped are folded; choosing a line marks its
// instructions, and the other way round.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Code as Annotated } from './decode'
import { count, percent } from './format'
import type { Model } from './model'
import { walk } from './tables'

const AROUND = 6 // rows that are shown beside a hot one
const FOLD = 200 // shorter lists are shown whole

// The rows to show of `n`: those near one that `hot` says, and what stands between as [from, to).
export function folded(n: number, hot: (i: number) => boolean, open: Set<number>): (number | [number, number])[] {
  const out: (number | [number, number])[] = []
  const keep = new Uint8Array(n)
  for (let i = 0; i < n; i++) if (n <= FOLD || hot(i)) keep.fill(1, Math.max(0, i - AROUND), i + AROUND + 1)
  for (let i = 0; i < n; ) {
    let end = i
    while (end < n && !keep[end]) end++
    if (end - i > 3 && !open.has(i)) out.push([i, end])
    else for (let k = i; k < end; k++) out.push(k)
    i = end
    while (i < n && keep[i]) out.push(i++)
  }
  return out
}

// How strong the colour behind a row is.
const heat = (share: number) => (share > 0 ? { '--heat': `${Math.round(8 + 62 * Math.sqrt(Math.min(1, share)))}%` } : undefined)

const baseName = (path: string) => path.slice(path.lastIndexOf('/') + 1)

interface ListProps {
  label: string
  columns: string[]
  n: number
  share: (i: number) => number
  samples: (i: number) => number
  cells: (i: number) => [string, string] // the narrow column, and the text
  head: (i: number) => string | null // what stands above a row
  marked: (i: number) => boolean
  onChoose: (i: number) => void
}

function List(p: ListProps) {
  const [open, setOpen] = useState<Set<number>>(new Set())
  const box = useRef<HTMLDivElement>(null)
  const rows = useMemo(() => folded(p.n, (i) => p.samples(i) > 0, open), [p.n, p.label, open])
  const hottest = useMemo(() => {
    let best = 0
    for (let i = 1; i < p.n; i++) if (p.share(i) > p.share(best)) best = i
    return best
  }, [p.n, p.label])
  useEffect(() => {
    const row = box.current?.querySelector<HTMLElement>(`tr[data-i="${hottest}"]`)
    if (box.current && row) box.current.scrollTop = row.offsetTop - box.current.clientHeight / 3
  }, [hottest, p.label])
  return (
    <div class="code-list" ref={box}>
      <table aria-label={p.label}>
        <thead><tr>{p.columns.map((words, i) => <th key={words} class={i < 3 ? 'n' : ''}>{words}</th>)}</tr></thead>
        <tbody onKeyDown={walk}>
          {rows.map((row) => {
            if (typeof row !== 'number')
              return (
                <tr key={`f${row[0]}`} class="folded" tabIndex={0} onClick={() => setOpen(new Set(open).add(row[0]))} onKeyDown={(e) => e.key === 'Enter' && setOpen(new Set(open).add(row[0]))}>
                  <td colSpan={4}>… {count(row[1] - row[0])} more, in which nothing stopped</td>
                </tr>
              )
            const [narrow, text] = p.cells(row)
            const samples = p.samples(row)
            const head = p.head(row)
            return (
              <tr
                key={row} data-i={row} tabIndex={0} class={samples ? 'hot' : ''} style={heat(p.share(row))} aria-selected={p.marked(row)}
                onClick={() => p.onChoose(row)} onKeyDown={(e) => e.key === 'Enter' && p.onChoose(row)}
              >
                <td class="n">{samples ? percent(p.share(row)) : ''}</td>
                <td class="n">{samples ? count(samples) : ''}</td>
                <td class="n dim">{narrow}</td>
                <td class="text" title={head ?? undefined}>{text ? <span dir="ltr">{text}</span> : ' '}{head && <small dir="ltr">{head}</small>}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

function One({ code: c, whole, filtered }: { code: Annotated; whole: number; filtered: boolean }) {
  const [line, setLine] = useState(-1)
  const all = c.weight || c.samples || 1
  const share = (weight: number, samples: number) => (c.weight ? weight : samples) / all
  const files = new Set(c.lineFile)
  const absent = [...files].filter((file) => !c.lineText.some((text, i) => text !== null && c.lineFile[i] === file))
  const addresses = useMemo(() => {
    let at = c.address
    return c.size.map((size) => (at += size) - size)
  }, [c])
  const place = (i: number) => (c.lineOf[i] < 0 ? null : `${baseName(c.lineFile[c.lineOf[i]])}:${c.line[c.lineOf[i]]}`)
  return (
    <article>
      <p class="hint">
        {percent(c.samples / (whole || 1))} of all samples stopped in this function: {count(c.samples)}. Percent are shares of these
        {filtered ? ', of the whole recording: filters do not apply here' : ''}. An instruction that waits for the one before it is often the one that is charged.
      </p>
      {c.note && <p class="note" role="note">{c.note}</p>}
      {absent.length > 0 && (
        <p class="note" role="note" title={absent.join('\n')}>
          {count(absent.length)} source file{absent.length > 1 ? 's were' : ' was'} not found where the page was made: <span dir="ltr">{absent.slice(0, 4).map(baseName).join(', ')}</span>{absent.length > 4 ? ', …' : ''}
        </p>
      )}
      <div class="code">
        {c.line.length > 0 && (
          <List
            label="Source lines" columns={['self', 'samples', 'line', [...files].length === 1 ? c.lineFile[0] : 'source']} n={c.line.length}
            share={(i) => share(c.lineWeight[i], c.lineSamples[i])} samples={(i) => c.lineSamples[i]}
            cells={(i) => [String(c.line[i]), c.lineText[i] ?? '']}
            head={(i) => (c.lineText[i] === null ? baseName(c.lineFile[i]) : files.size > 1 && (!i || c.lineFile[i] !== c.lineFile[i - 1]) ? c.lineFile[i] : null)}
            marked={(i) => i === line} onChoose={(i) => setLine(i === line ? -1 : i)}
          />
        )}
        {c.size.length > 0 && (
          <List
            label="Instructions" columns={['self', 'samples', 'address', 'instruction']} n={c.size.length}
            share={(i) => share(c.weights[i], c.counts[i])} samples={(i) => c.counts[i]}
            cells={(i) => [addresses[i].toString(16), c.text[i]]}
            head={(i) => (!i || c.lineOf[i] !== c.lineOf[i - 1] ? place(i) : null)}
            marked={(i) => line >= 0 && c.lineOf[i] === line} onChoose={(i) => setLine(c.lineOf[i] === line ? -1 : c.lineOf[i])}
          />
        )}
      </div>
    </article>
  )
}

export function CodePane({ model: m, selected: asked, filtered, onSelect }: { model: Model; selected: number; filtered: boolean; onSelect: (f: number) => void }) {
  const [which, setWhich] = useState(0)
  const selected = asked < 0 && m.code.length ? m.code[0].func : asked // at first, the hottest
  const own = useMemo(() => m.code.filter(({ func }) => func === selected), [m, selected])
  useEffect(() => setWhich(0), [selected])
  const whole = m.sources[0].samples
  if (!m.code.length) return <p class="hint">{m.sources.length > 1 ? 'Two recordings are compared: open one of them alone to see code.' : 'No code came with this recording.'}</p>
  const chooser = (
    <label class="chooser">function{' '}
      <select value={selected} onChange={(e) => onSelect(+e.currentTarget.value)}>
        {own.length === 0 && <option value={selected}>choose one</option>}
        {[...new Set(m.code.map(({ func }) => func))].map((func) => <option key={func} value={func}>{m.names[func].slice(0, 120)}</option>)}
      </select>
    </label>
  )
  const code = own[Math.min(which, own.length - 1)]
  if (!code)
    return (
      <div>
        {chooser}
        <p class="hint">
          {m.names[selected].slice(0, 120)} is not among the {m.code.length} functions whose code the page has: fewer samples stopped in it, or it is inlined into others.
        </p>
      </div>
    )
  return (
    <div>
      {chooser}
      {own.length > 1 && (
        <label class="chooser"> of this name{' '}
          <select value={which} onChange={(e) => setWhich(+e.currentTarget.value)}>
            {own.map((one, i) => <option key={i} value={i}>{`${one.address.toString(16)}, ${count(one.samples)} samples`}</option>)}
          </select>
        </label>
      )}
      <One key={`${selected} ${which}`} code={code} whole={whole} filtered={filtered} />
    </div>
  )
}
