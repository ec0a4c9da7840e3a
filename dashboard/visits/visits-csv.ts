import type { Visits } from '../../protocol/api/visits.ts'

/** Saves the numbers of each interval as a CSV file (RFC 4180). */
export function downloadCsv({ slug, range, interval, series }: Visits): void {
  const rows = series.map(({ at, visitors, requests, bytes }) => [at, visitors, requests, bytes].join())
  const text = [[interval, 'visitors', 'requests', 'bytes'].join(), ...rows, ''].join('\r\n')
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = url
  link.download = `${slug}-visits-${range}.csv`
  link.click()
  URL.revokeObjectURL(url)
}
