import type { DomainRecord } from '../../protocol/api/domains.ts'
import { formatDay, formatMoment } from '../app/format-time.ts'
import { Notice } from '../kit/notice.tsx'
import { Fact, Facts, Panel } from '../kit/panel.tsx'

/** The HTTPS state of an active domain. */
export function Certificate({ record }: { record: DomainRecord }) {
  const { status, issuedAt, expiresAt, renewsAt, problem } = record.certificate
  return (
    <Panel title="Certificate">
      {status === 'none' && (
        <p>This service does not get certificates itself: HTTPS is up to whatever stands before it.</p>
      )}
      {status === 'pending' && problem === null && (
        <p>It is being ordered and comes by itself, usually within a minute. There is nothing to do.</p>
      )}
      {problem !== null && (
        <Notice
          tone="warn"
          title={status === 'active' ? 'It could not be renewed yet.' : 'It could not be had yet.'}
        >
          <p>{problem}</p>
          {renewsAt && <p>{`It is tried again on ${formatMoment(renewsAt)}.`}</p>}
        </Notice>
      )}
      {status === 'active' && (
        <Facts>
          {issuedAt && <Fact name="Issued">{formatDay(issuedAt)}</Fact>}
          {expiresAt && <Fact name="Lasts until">{formatDay(expiresAt)}</Fact>}
          {renewsAt && problem === null && <Fact name="Renews itself about">{formatDay(renewsAt)}</Fact>}
        </Facts>
      )}
    </Panel>
  )
}
