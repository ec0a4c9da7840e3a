import { sumSizes } from './manifest/manifest.ts'

/** "1,204". Not by locale: loading one takes longer than some publishes. */
export function formatNumber(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** "1 file", "1,204 files". */
export function pluralize(number: number, noun: string): string {
  return `${formatNumber(number)} ${noun}${number === 1 ? '' : 's'}`
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB']

/** A size in decimal SI units, with two significant digits below ten: "940 bytes", "3.9 kB", "12 MB". */
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

/** "12 files (340 kB)" */
export function formatFileCount(files: readonly { size: number }[]): string {
  return `${pluralize(files.length, 'file')} (${formatBytes(sumSizes(files))})`
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
