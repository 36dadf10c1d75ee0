// The page: how good the recording is, the timeline, the picture, the tables. All of it follows
// one state.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { CodePane } from './code'
import { Flame, type FlameApi } from './flame'
import { count, nanoseconds, percent } from './format'
import { type Model, type Tree, findPath, KINDS, matchedWeight, matcher, matching, pathOf, rowsBy, shapeTree, shortOf, weigh } from './model'
import { DARK, LIGHT, moduleColour } from './paint'
import { FIRST, type State, fromFragment, toFragment } from './state'
import { CallTree, Callers, Functions, Modules } from './tables'
import { Timeline } from './timeline'

const LEVELS = ['info', 'good', 'warn', 'bad']
const VERDICTS = ['', 'This recording can be trusted', 'Read this recording with care', 'Do not trust this recording as it is']
const MARKS = ['·', '✓', '!', '✗']

function Quality({ model }: { model: Model }) {
  const worst = Math.max(1, ...model.sources.flatMap((s) => s.sentences.map((line) => line.level)))
  return (
    <details class={`quality ${LEVELS[worst]}`} open>
      <summary>
        <span class="mark" aria-hidden="true">{MARKS[worst]}</span> {VERDICTS[worst]}
      </summary>
      <div class="sources">
        {model.sources.map((source, i) => (
          <div key={i}>
            {model.sources.length > 1 && <h3>{i ? 'after' : 'before'}: {source.file}</h3>}
            <dl>
              {source.sentences.map((line, k) => (
                <div key={k} class={LEVELS[line.level]}>
                  <dt><span class="mark" aria-hidden="true">{MARKS[line.level]}</span> {line.about}</dt>
                  <dd>{line.text}</dd>
                </div>
              ))}
            </dl>
          </div>
        ))}
      </div>
    </details>
  )
}

function useDark(theme: State['theme']): boolean {
  const query = useMemo(() => matchMedia('(prefers-color-scheme: dark)'), [])
  const [system, setSystem] = useState(query.matches)
  useEffect(() => {
    const change = () => setSystem(query.matches)
    query.addEventListener('change', change)
    return () => query.removeEventListener('change', change)
  }, [])
  const dark = theme === 'dark' || (theme === 'auto' && system)
  useEffect(() => {
    document.documentElement.dataset.theme = dark ? 'dark' : 'light'
  }, [dark])
  return dark
}

function Crumbs({ model, tree, zoom, onZoom }: { model: Model; tree: Tree; zoom: number; onZoom: (node: number) => void }) {
  const nodes: number[] = []
  for (let node = zoom; node > 0; node = tree.parent[node]) nodes.push(node)
  nodes.reverse()
  const shown = nodes.length > 6 ? nodes.slice(-5) : nodes
  return (
    <nav class="crumbs" aria-label="Where the picture is zoomed to">
      <button type="button" onClick={() => onZoom(0)} disabled={!zoom}>everything</button>
      {nodes.length > shown.length && <span>› … {nodes.length - shown.length} …</span>}
      {shown.map((node) => (
        <span key={node}>› <button type="button" title={model.names[tree.func[node]]} onClick={() => onZoom(node)} disabled={node === zoom}><bdi dir="ltr">{shortOf(model, tree.func[node]).slice(0, 60)}</bdi></button></span>
      ))}
    </nav>
  )
}

function Legend({ model: m, tree, dark, byModule }: { model: Model; tree: Tree; dark: boolean; byModule: boolean }) {
  const modules = useMemo(() => {
    if (!byModule) return []
    const rows = rowsBy(tree, m.modules.length, (node) => m.functionModule[tree.func[node]], false)
    return rows.sort((x, y) => y.total - x.total).slice(0, 8)
  }, [m, tree, byModule])
  const words: Record<string, string> = { jit: 'JIT', other: 'unknown', program: 'program', kernel: 'kernel', library: 'library', inlined: 'inlined' }
  if (tree.a)
    return (
      <p class="legend">
        <i style={{ background: dark ? '#c0392b' : '#f0674f' }} /> larger share than before <i style={{ background: dark ? '#2f72c4' : '#5a9cec' }} /> smaller share
      </p>
    )
  if (byModule) return <p class="legend">{modules.map(({ id }) => <span key={id}><i style={{ background: moduleColour(id, dark) }} /> <bdi dir="ltr">{m.modules[id].name.slice(0, 40)}</bdi> </span>)}</p>
  return <p class="legend">{KINDS.map((kind) => <span key={kind}><i style={{ background: (dark ? DARK : LIGHT)[kind] }} /> {words[kind]} </span>)}</p>
}

export function App({ model: m }: { model: Model }) {
  const limits = { functions: m.names.length, threads: m.threads.length, events: Math.max(1, m.events.length), end: m.end }
  const [s, setState] = useState<State>(() => fromFragment(location.hash, limits))
  const set = (part: Partial<State>) => setState((old) => ({ ...old, ...part }))
  const [filters, setFilters] = useState(!!(s.include || s.exclude || s.focus >= 0))
  const back = useRef<number[][]>([])
  const api = useRef<FlameApi | null>(null)
  const search = useRef<HTMLInputElement>(null)
  const dark = useDark(s.theme)
  useEffect(() => {
    const fragment = toFragment(s)
    if (fragment !== location.hash.slice(1)) history.replaceState(null, '', fragment ? '#' + fragment : location.pathname + location.search)
  }, [s])
  useEffect(() => {
    const change = () => setState(fromFragment(location.hash, limits))
    addEventListener('hashchange', change)
    return () => removeEventListener('hashchange', change)
  }, [])

  const threads = useMemo(() => (s.threads ? new Set(s.threads) : null), [s.threads])
  const weights = useMemo(() => weigh(m, { from: s.from, to: s.to, threads, event: s.event }), [m, s.from, s.to, threads, s.event])
  const include = useMemo(() => matching(m, s.include), [m, s.include])
  const exclude = useMemo(() => matching(m, s.exclude), [m, s.exclude])
  const tree = useMemo(
    () => shapeTree(m, weights, { invert: s.invert, collapse: s.collapse, focus: s.focus, include, exclude }),
    [m, weights, s.invert, s.collapse, s.focus, include, exclude],
  )
  const plain = useMemo(
    () => (s.invert || s.focus >= 0 ? shapeTree(m, weights, { invert: false, collapse: s.collapse, focus: -1, include, exclude }) : tree),
    [tree],
  )
  const found = useMemo(() => matching(m, s.query), [m, s.query])
  const zoom = useMemo(() => findPath(tree, s.zoom), [tree, s.zoom])
  const wrong = [s.query, s.include, s.exclude].map(matcher).find((word) => typeof word === 'string')
  const share = useMemo(() => (found ? matchedWeight(tree, found) / (tree.total[0] || 1) : 0), [tree, found])
  const group = m.events[s.event]
  const ns = !!group?.ns
  const amount = (weight: number) => (tree.a ? percent(weight) : ns ? nanoseconds(weight) : count(weight))

  const onZoom = (node: number) => {
    if (node === zoom) return
    back.current.push(s.zoom)
    set({ zoom: pathOf(tree, node) })
  }
  const onBack = () => {
    if (back.current.length) set({ zoom: back.current.pop() as number[] })
    else if (s.zoom.length) set({ zoom: [] })
    else if (s.query) set({ query: '' })
  }
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      const typing = e.target instanceof HTMLInputElement
      if (e.key === 'Escape') {
        if (typing) (e.target as HTMLInputElement).blur()
        else onBack()
      } else if (e.key === '/' && !typing && !e.ctrlKey && !e.metaKey) {
        e.preventDefault()
        search.current?.focus()
      }
    }
    addEventListener('keydown', key)
    return () => removeEventListener('keydown', key)
  })
  const tabList = useRef<HTMLDivElement>(null)
  useEffect(() => tabList.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }), [s.tab])
  const select = (selected: number) => set({ selected })
  const files = m.sources.map((source) => source.file).join(' → ')
  useEffect(() => {
    document.title = `${files || 'wick'} – wick`
  }, [])
  const data = { model: m, tree, inverted: s.invert, found, selected: s.selected, amount, onSelect: select }
  const compared = m.sources.length > 1
  const tabs: [State['tab'], string][] = [['functions', compared ? 'Changes' : 'Functions'], ['tree', 'Call tree'], ['callers', 'Callers and callees'], ['modules', 'Modules'], ['code', 'Source and code']]
  const toggle = (key: 'up' | 'invert' | 'collapse' | 'byModule', words: string) => (
    <button type="button" aria-pressed={s[key]} onClick={() => set({ [key]: !s[key] })}>{words}</button>
  )
  const filtered = s.from < s.to || s.threads || s.include || s.exclude || s.focus >= 0
  return (
    <main>
      <header>
        <h1><span class="logo" aria-hidden="true" /> {compared ? 'What changed' : 'Where the time went'}</h1>
        <p class="about" dir="ltr">{[files, m.sources[0].host, [...new Set(m.sources.map((source) => source.event))].join(' → '), `${m.sources.map((x) => count(x.samples)).join(' → ')} samples`].filter(Boolean).join(' · ')}</p>
        <button type="button" class="theme" onClick={() => set({ theme: dark ? 'light' : 'dark' })}>{dark ? 'light' : 'dark'}</button>
      </header>
      {compared && m.sources[0].event !== m.sources[1].event && (
        <p class="note alarm" role="alert">
          Before is <b dir="ltr">{m.sources[0].event}</b>, after is <b dir="ltr">{m.sources[1].event}</b>: shares of different things are compared.
        </p>
      )}
      <Quality model={m} />
      {m.events.length > 1 && (
        <p class="events">
          <label>event <select value={s.event} onChange={(e) => set({ event: +e.currentTarget.value })}>{m.events.map((e, i) => <option key={i} value={i}>{e.name}</option>)}</select></label>
        </p>
      )}
      {m.count > 0 && (
        <Timeline
          model={m} event={s.event} from={s.from} to={s.to} threads={s.threads} dark={dark}
          onTime={(from, to) => set({ from, to })} onThreads={(list) => set({ threads: list })}
        />
      )}
      <section class="picture" aria-label="Flame graph">
        <div class="tools">
          <label class="search">
            <span class="sr">search for functions and modules</span>
            <input ref={search} type="search" placeholder="search: words or /regex/" value={s.query} onInput={(e) => set({ query: e.currentTarget.value })} />
          </label>
          <output role="status">{wrong ? <b class="wrong">{wrong}</b> : found ? `${percent(share)} matched` : ''}</output>
          <span class="group">{toggle('invert', 'bottom-up')}{toggle('up', 'root below')}{toggle('collapse', 'fold recursion')}{!compared && toggle('byModule', 'by module')}</span>
          <span class="group">
            <button type="button" onClick={() => api.current?.svg()}>SVG</button>
            <button type="button" onClick={() => api.current?.png()}>PNG</button>
          </span>
          <details class="filters" open={filters} onToggle={(e) => setFilters(e.currentTarget.open)}>
            <summary>filters</summary>
            <label>only stacks with <input type="search" value={s.include} onInput={(e) => set({ include: e.currentTarget.value })} /></label>
            <label>without <input type="search" value={s.exclude} onInput={(e) => set({ exclude: e.currentTarget.value })} /></label>
            <button type="button" disabled={s.selected < 0 && s.focus < 0} aria-pressed={s.focus >= 0} onClick={() => set({ focus: s.focus >= 0 ? -1 : s.selected, zoom: [] })}>
              {s.focus >= 0 ? `focused on ${shortOf(m, s.focus).slice(0, 40)}` : 'focus on the chosen function'}
            </button>
          </details>
        </div>
        <div class="line">
          <Crumbs model={m} tree={tree} zoom={zoom} onZoom={onZoom} />
          <span class="sum">{count(tree.samples)} samples, {amount(tree.total[0])}{filtered ? ' chosen' : ''}{tree.cut ? '; the longest paths are cut' : ''}
            {filtered && <button type="button" onClick={() => set({ from: 0, to: 0, threads: null, include: '', exclude: '', focus: FIRST.focus })}>show all</button>}
          </span>
        </div>
        <Flame
          model={m} tree={tree} zoom={zoom} up={s.up} byModule={s.byModule} dark={dark} found={found} selected={s.selected}
          amount={amount} title={files} onZoom={onZoom} onSelect={select} api={api}
        />
        <Legend model={m} tree={tree} dark={dark} byModule={s.byModule} />
      </section>
      <section class="tables" aria-label="Tables">
        <div role="tablist" class="tabs" ref={tabList}>
          {tabs.map(([id, words]) => (
            <button key={id} type="button" role="tab" aria-selected={s.tab === id} onClick={() => set({ tab: id })}>{words}</button>
          ))}
        </div>
        <div role="tabpanel">
          {s.tab === 'tree' ? <CallTree {...data} /> : s.tab === 'callers' ? <Callers {...data} plain={plain} /> : s.tab === 'modules' ? <Modules {...data} /> : s.tab === 'code' ? <CodePane model={m} selected={s.selected} filtered={!!filtered} onSelect={select} /> : <Functions {...data} />}
        </div>
      </section>
      <footer>
        <p>Keys: <kbd>/</kbd> search, <kbd>Esc</kbd> back; in the picture arrows walk, <kbd>Enter</kbd> zooms, <kbd>+</kbd> <kbd>−</kbd> and Ctrl with the wheel magnify, dragging pans.</p>
        {m.sources.map((source, i) => source.command && <p key={i} class="command" dir="ltr">$ {source.command}</p>)}
      </footer>
    </main>
  )
}
