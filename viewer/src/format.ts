// Numbers as people read them.

export function count(n: number): string {
  return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ',')
}

export function percent(share: number): string {
  if (!Number.isFinite(share)) return '–'
  const p = share * 100
  return (p !== 0 && Math.abs(p) < 0.1 ? p.toFixed(2) : p.toFixed(1)) + ' %'
}

export function points(change: number): string {
  return (change > 0 ? '+' : change < 0 ? '−' : '±') + percent(Math.abs(change))
}

export function nanoseconds(ns: number): string {
  if (ns >= 100e9) return count(ns / 1e9) + ' s'
  if (ns >= 1e9) return (ns / 1e9).toFixed(2) + ' s'
  if (ns >= 1e6) return (ns / 1e6).toFixed(ns >= 100e6 ? 0 : 1) + ' ms'
  if (ns <= 0) return '0'
  return ns >= 1e3 ? (ns / 1e3).toFixed(0) + ' µs' : Math.round(ns) + ' ns'
}

export function seconds(us: number): string {
  return nanoseconds(us * 1000)
}
