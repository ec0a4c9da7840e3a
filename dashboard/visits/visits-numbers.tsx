import { Button } from '../kit/button.tsx'
import { longLabel } from './interval-labels.ts'
import type { ShownVisits } from './shown-visits.ts'

/** The plots' values as a table. */
export function Numbers({ visits }: { visits: ShownVisits }) {
  const { series, interval, measures, timeZone } = visits
  const last = series.length - 1
  return (
    <details class="panel">
      <summary>All numbers by {interval}</summary>
      <table class="numbers">
        <thead>
          <tr>
            <th scope="col">{interval === 'hour' ? 'Hour' : 'Day'}</th>
            {measures.map(({ of, name }) => (
              <th key={of} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {series.map((numbers, at) => (
            <tr key={numbers.at}>
              <th scope="row">{longLabel(numbers.at, interval, timeZone, at === last)}</th>
              {measures.map(({ of, words }) => (
                <td key={of}>{words(numbers[of])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <div class="choices">
        <Button icon="archive" onClick={() => downloadCsv(visits)}>
          Export CSV
        </Button>
      </div>
    </details>
  )
}

/** Saves the numbers of each interval as a CSV file (RFC 4180). */
function downloadCsv({ slug, range, interval, series, measures }: ShownVisits): void {
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
