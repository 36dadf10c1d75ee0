import { expect, test } from 'vitest'
import { baseName, fit, printable, shortName } from './names'

test.each([
  ['std::vector<int, std::allocator<int> >::push_back(int&&)', 'std::vector<…>::push_back'],
  ['node::LoadEnvironment(node::Environment*, std::function<void (int)>)', 'node::LoadEnvironment'],
  ['ns::(anonymous namespace)::work(char const*) const', 'ns::(anon)::work'],
  ['bool operator< <int>(Big<int> const&, Big<int> const&)', 'bool operator< <…>'],
  ['Foo::operator()(int) const', 'Foo::operator()'],
  ['void run<int>(int)', 'run<…>'],
  ['<alloc::vec::Vec<T> as core::ops::Drop>::drop', '<…>::drop'],
  ['[truncated: copy exhausted]', '[truncated: copy exhausted]'],
  ['broken<name((((((', 'broken<name(((((('],
  ['main', 'main'],
])('%s is short as %s', (name, short) => {
  expect(shortName(name)).toBe(short)
})

test('what fits best', () => {
  const fitted = (room: number) => fit('a::b::handle(int)', 'a::b::handle', room)
  expect([20, 13, 9, 6, 4, 2].map(fitted)).toEqual(['a::b::handle(int)', 'a::b::handle', 'b::handle', 'handle', 'han…', ''])
})

test('nothing hides', () => {
  expect(printable('a\nb\u202ec\u0001')).toBe('a\\x0ab\\u202ec\\x01')
  expect(printable('x'.repeat(100000)).length).toBe(2001)
  expect(printable('ünïcödé 名前 <b>')).toBe('ünïcödé 名前 <b>')
})

test('base names', () => {
  expect(['/usr/lib/libc.so.6', '[kernel.kallsyms]', '//anon', 'a/'].map(baseName)).toEqual(['libc.so.6', '[kernel.kallsyms]', '//anon', 'a/'])
})
