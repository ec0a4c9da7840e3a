import { useState } from 'preact/hooks'
import type { VisitCount } from '../../client/wire/visits.ts'
import { figure, harmless } from '../../client/words.ts'
import { Button } from '../kit/button.tsx'
import { Panel } from '../kit/panel.tsx'

interface RankedProps {
  title: string
  /** What its names are. */
  of: string
  counts: VisitCount[]
  /** From when on, where it is not the span of the plots. */
  since?: string | undefined
  none: string
}

/** Names that are shown before somebody wants all. */
const FIRST = 10

/** Names with how often each was counted, the most first. */
export function Ranked({ title, of, counts, since, none }: RankedProps) {
  const [isWhole, show] = useState(false)
  const most = counts[0]?.requests ?? 1
  const shown = isWhole ? counts : counts.slice(0, FIRST)
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
                  <bdi title={harmless(name)}>{harmless(name)}</bdi>
                  <div class="share" style={{ width: `${(100 * requests) / most}%` }} />
                </td>
                <td>{figure(requests)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {counts.length > FIRST && (
        <div class="choices">
          <Button look="link" label={`${more}: ${title}`} onClick={() => show(!isWhole)}>
            {more}
          </Button>
        </div>
      )}
      {since && counts.length > 0 && <p class="quiet small">{since}</p>}
    </Panel>
  )
}
