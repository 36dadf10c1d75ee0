import { expect, test } from 'vitest'
import { FIRST, fromFragment, toFragment, type State } from './state'

const LIMITS = { functions: 100, threads: 5, events: 2, end: 9000 }

test('there and back', () => {
  const state: State = {
    ...FIRST, tab: 'tree', invert: true, query: 'a b&c=#/x/', from: 10, to: 2000, threads: [1, 4], zoom: [0, 7, 99], selected: 0, theme: 'dark',
  }
  expect(fromFragment('#' + toFragment(state), LIMITS)).toEqual(state)
  expect(toFragment(FIRST)).toBe('')
  expect(fromFragment('', LIMITS)).toEqual(FIRST)
})

test('nonsense is left out', () => {
  expect(fromFragment('#zoom=5.100.x&threads=9&event=7&from=9&to=1&tab=<b>&focus=-3&theme=x', LIMITS)).toEqual({ ...FIRST, zoom: [5] })
})
