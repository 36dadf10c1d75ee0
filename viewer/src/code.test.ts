import { expect, test } from 'vitest'
import { folded } from './code'

test('a short list is whole', () => {
  expect(folded(5, () => false, new Set())).toEqual([0, 1, 2, 3, 4])
})

test('a long one shows what is hot and what is near it', () => {
  const rows = folded(1000, (i) => i === 500, new Set())
  expect(rows[0]).toEqual([0, 494])
  expect(rows.slice(1, -1)).toEqual(Array.from({ length: 13 }, (_, i) => 494 + i))
  expect(rows[rows.length - 1]).toEqual([507, 1000])
  expect(folded(1000, (i) => i === 500, new Set([507])).length).toBe(14 + 493)
  expect(folded(1000, () => false, new Set())).toEqual([[0, 1000]])
})
