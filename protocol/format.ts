/** "1,204". Not by locale: loading one takes longer than some publishes. */
export function formatNumber(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** "1 file", "1,204 files". */
export function pluralize(number: number, noun: string): string {
  return `${formatNumber(number)} ${noun}${number === 1 ? '' : 's'}`
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB']

/** A size in decimal units: "940 bytes", "3.9 MB", "12 MB". */
export function formatBytes(bytes: number): string {
  let unit = 0
  let value = bytes
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000
    unit++
  }
  if (unit === 0) return pluralize(bytes, 'byte')
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`
}

/** A size limit exactly as it was set: "250 MiB", "10 GiB"; otherwise in decimal units. */
export function formatLimit(bytes: number): string {
  if (bytes % 2 ** 30 === 0) return `${formatNumber(bytes / 2 ** 30)} GiB`
  return bytes % 2 ** 20 === 0 ? `${formatNumber(bytes / 2 ** 20)} MiB` : formatBytes(bytes)
}

/** A duration: "3 s", "2 min", "5 hours", "3 days". */
export function formatDuration(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`
  if (seconds < 48 * 3600) return pluralize(Math.round(seconds / 3600), 'hour')
  return pluralize(Math.round(seconds / 86400), 'day')
}

/** A time in UTC: "2025-11-21 09:30 UTC". */
export function formatUtc(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`
}

/** External text without control characters. */
export function stripControlChars(text: string): string {
  return text.replace(/\p{Cc}/gu, '\uFFFD')
}

/** A short list of names with counts: ".DS_Store (2), .env"; and how many more there are. */
export function summarizeNames(paths: string[], most = 8): { shown: string; more: number } {
  const counts = new Map<string, number>()
  for (const path of paths) {
    const name = stripControlChars(path.replace(/^.*\/(?=[^/])/, ''))
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const all = [...counts].map(([name, times]) => (times > 1 ? `${name} (${times})` : name))
  return { shown: all.slice(0, most).join(', '), more: Math.max(0, all.length - most) }
}

/** Rows in columns as wide as their widest cell. */
export function formatTable(rows: string[][]): string[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length)
  }
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at]!))
      .join('  ')
      .trimEnd(),
  )
}
