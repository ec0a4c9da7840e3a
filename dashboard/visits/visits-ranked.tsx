import { useState } from 'preact/hooks'
import type { VisitCount, VisitFilter } from '../../protocol/api/visits.schema.ts'
import type { VisitNameKind } from '../../protocol/api/visits.ts'
import { formatNumber, stripControlChars } from '../../protocol/format.ts'
import { Button } from '../kit/button.tsx'
import { Panel } from '../kit/panel.tsx'

interface RankedProps {
  title: string
  /** What its names are. */
  of: string
  kind: VisitNameKind
  counts: VisitCount[]
  /** Start of its interval, where it differs from the plots. */
  since?: string | undefined
  none: string
  /** The name whose requests the plots show. */
  selected: string | undefined
  /** The address at which they show those of a name, or of all. */
  hrefOf: (filter: VisitFilter) => string
}

/** Names shown at first. */
const INITIAL_ROWS = 10

/** Names by count, descending. */
export function Ranked({ title, of, kind, counts, since, none, selected, hrefOf }: RankedProps) {
  const [isWhole, show] = useState(false)
  const most = counts[0]?.requests ?? 1
  const shown = isWhole ? counts : counts.slice(0, INITIAL_ROWS)
  const more = isWhole ? 'Show fewer' : `Show all ${counts.length}`
  return (
    <Panel title={title}>
      {counts.length === 0 ? (
        <p class="quiet">{none}</p>
      ) : (
        <table class="ranked">
          <thead>
            <tr>
              <th scope="col">{of}</th>
              <th scope="col">Requests</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ name, requests }) => (
              <tr key={name}>
                <td>
                  <a
                    href={hrefOf(name === selected ? {} : { [kind]: name })}
                    aria-current={name === selected ? 'true' : undefined}
                  >
                    <bdi title={stripControlChars(name)}>{stripControlChars(name)}</bdi>
                  </a>
                  <div class="share" style={{ width: `${(100 * requests) / most}%` }} />
                </td>
                <td>{formatNumber(requests)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {counts.length > INITIAL_ROWS && (
        <div class="choices">
          <Button variant="link" label={`${more}: ${title}`} onClick={() => show(!isWhole)}>
            {more}
          </Button>
        </div>
      )}
      {since && counts.length > 0 && <p class="quiet small">{since}</p>}
    </Panel>
  )
}
