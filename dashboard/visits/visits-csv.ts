import type { ShownVisits } from './shown-visits.ts'

/** Saves the numbers of each interval as a CSV file (RFC 4180). */
export function downloadCsv({ slug, range, interval, series, measures }: ShownVisits): void {
  const columns = measures.map(({ of }) => of)
  const rows = series.map((numbers) => [numbers.at, ...columns.map((of) => numbers[of])].join())
  const text = [[interval, ...columns].join(), ...rows, ''].join('\r\n')
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = url
  link.download = `${slug}-visits-${range}.csv`
  link.click()
  URL.revokeObjectURL(url)
}
