import { pluralize } from './format.ts'

/** Units by their suffixes. A number without a suffix has the unit of 1. */
export type Units = Readonly<Record<string, number>>

export const BYTE_UNITS: Units = {
  '': 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
}

export const TIME_UNITS: Units = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 }

/** A whole number of the base unit, with or without a space before the unit; NaN for any other text. */
export function parseQuantity(given: string, units: Units): number {
  const [, digits, fraction = '', suffix = ''] =
    /^(\d{1,15})(\.\d{1,3})?(?: ?([A-Za-z]{1,3}))?$/.exec(given) ?? []
  const unit = Object.entries(units).find(([name]) => name.toLowerCase() === suffix.toLowerCase())?.[1]
  if (digits === undefined || unit === undefined || (fraction !== '' && suffix === '')) return Number.NaN
  return Math.round(Number(digits + fraction) * unit)
}

/** The value in the largest unit that states it exactly: "250MiB", "24h" rather than "1d". */
export function formatQuantity(value: number, units: Units): string {
  const exact = Object.entries(units).filter(
    ([suffix, unit]) => suffix !== '' && value % unit === 0 && value / unit >= (suffix === 'd' ? 2 : 1),
  )
  const [suffix, unit] = exact.sort(([, one], [, other]) => other - one)[0] ?? ['', 1]
  return `${value / unit}${value === 0 ? '' : suffix}`
}

/** A size as people read it: "1 byte", "16 TiB". */
export function formatSize(value: number): string {
  const text = formatQuantity(value, BYTE_UNITS)
  const number = Number.parseInt(text, 10)
  const unit = text.slice(String(number).length)
  return unit ? `${number} ${unit}` : pluralize(number, 'byte')
}
