// What the user chose. It stands in the URL's fragment, so that a link shows the same picture.

export interface State {
  tab: 'functions' | 'tree' | 'callers' | 'modules' | 'code'
  up: boolean // the root at the bottom
  invert: boolean
  collapse: boolean
  byModule: boolean
  query: string
  include: string
  exclude: string
  focus: number // function; -1: none
  selected: number // function; -1: none
  from: number // us; 0, 0: all
  to: number
  threads: number[] | null
  event: number
  zoom: number[] // functions from the root on
  theme: 'auto' | 'light' | 'dark'
}

export const FIRST: State = {
  tab: 'functions', up: false, invert: false, collapse: false, byModule: false, query: '', include: '', exclude: '',
  focus: -1, selected: -1, from: 0, to: 0, threads: null, event: 0, zoom: [], theme: 'auto',
}

const LONGEST_ZOOM = 200

// Only what differs from FIRST.
export function toFragment(s: State): string {
  const out = new URLSearchParams()
  for (const key of Object.keys(FIRST) as (keyof State)[]) {
    const value = s[key]
    if (key === 'zoom' && s.zoom.length > LONGEST_ZOOM) continue
    const text = Array.isArray(value) ? value.join('.') : value === null ? '' : String(value)
    const first = FIRST[key]
    if (text !== (Array.isArray(first) ? first.join('.') : first === null ? '' : String(first))) out.set(key, text)
  }
  return out.toString()
}

// What cannot be understood is left as it is at first; the limits are those of the recording.
export function fromFragment(text: string, limits: { functions: number; threads: number; events: number; end: number }): State {
  const s: State = { ...FIRST }
  const given = new URLSearchParams(text.replace(/^#/, ''))
  const word = (key: string) => given.get(key) ?? ''
  const index = (value: string, below: number, none: number) => (/^\d{1,9}$/.test(value) && +value < below ? +value : none)
  const list = (key: string, below: number) => word(key).split('.').map((v) => index(v, below, -1)).filter((v) => v >= 0)
  for (const key of ['up', 'invert', 'collapse', 'byModule'] as const) s[key] = word(key) === 'true'
  for (const key of ['query', 'include', 'exclude'] as const) s[key] = word(key).slice(0, 1000)
  const tab = word('tab')
  if (tab === 'tree' || tab === 'callers' || tab === 'modules' || tab === 'code') s.tab = tab
  const theme = word('theme')
  if (theme === 'light' || theme === 'dark') s.theme = theme
  s.focus = index(word('focus'), limits.functions, -1)
  s.selected = index(word('selected'), limits.functions, -1)
  s.event = index(word('event'), limits.events, 0)
  s.zoom = list('zoom', limits.functions).slice(0, LONGEST_ZOOM)
  const threads = list('threads', limits.threads)
  s.threads = threads.length ? threads : null
  const from = Number(word('from'))
  const to = Number(word('to'))
  if (from >= 0 && to > from && from <= limits.end) [s.from, s.to] = [from, to]
  return s
}
