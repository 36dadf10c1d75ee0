// Names as they are shown: harmless, and short where there is little room.

const LONGEST = 2000

// What cannot be seen, or turns the direction of the text around, becomes visible.
export function printable(name: string): string {
  const cut = name.length > LONGEST ? name.slice(0, LONGEST) + '…' : name
  return cut.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]/gu, (c) => {
    const code = c.codePointAt(0) as number
    return code < 0x100 ? '\\x' + code.toString(16).padStart(2, '0') : '\\u' + code.toString(16)
  })
}

export function baseName(path: string): string {
  if (/^\[|^\/\/anon/.test(path)) return path
  const cut = path.lastIndexOf('/')
  return cut >= 0 && cut < path.length - 1 ? path.slice(cut + 1) : path
}

// "std::vector<int, std::allocator<int> >::push_back(int&&) const" -> "std::vector<…>::push_back"
export function shortName(name: string): string {
  if (name.length < 12 || !/[<(]/.test(name) || name.startsWith('[')) return name
  let text = name.replace(/\(anonymous namespace\)/g, '{anon}')
  let out = ''
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const c = text[i]
    if (depth === 0 && text.startsWith('operator', i)) {
      const op = /^operator\s*(\(\)|[<>]=?>?=?|<<=?|>>=?|->\*?|[^\s\w(]+)?/.exec(text.slice(i, i + 16))
      if (op) {
        out += op[0]
        i += op[0].length - 1
        continue
      }
    }
    if (c === '<' || c === '(') {
      if (depth++ === 0) out += c === '<' ? '<' : '('
    } else if ((c === '>' && text[i - 1] !== '-') || c === ')') {
      if (--depth === 0) out += c === '>' ? '…>' : ')'
      if (depth < 0) return name
    } else if (depth === 0) {
      out += c
    }
  }
  if (depth !== 0) return name
  text = out.replace(/\(\)(\s*(const|volatile|&&?|noexcept)\b)*(\s*\[clone [^\]]*\])?$/, '')
  // A template's name has its return type in front: "void f<…>".
  const space = text.lastIndexOf(' ', text.indexOf('<') < 0 ? text.length : text.length)
  if (space > 0 && !text.slice(0, space).includes('operator') && /^[\w:<>…*& ]+$/.test(text.slice(0, space)))
    text = text.slice(space + 1)
  return text.replace(/\{anon\}/g, '(anon)') || name
}

// The best form of a name in `room` characters; '' where not even three fit.
export function fit(name: string, short: string, room: number): string {
  if (room < 3) return ''
  if (name.length <= room) return name
  if (short.length <= room) return short
  let rest = short
  for (let cut = rest.indexOf('::'); cut >= 0 && rest.length > room; cut = rest.indexOf('::'))
    rest = rest.slice(cut + 2)
  return rest.length <= room ? rest : rest.slice(0, room - 1) + '…'
}
