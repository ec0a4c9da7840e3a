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
        <p>This server doesn't issue certificates. HTTPS depends on the proxy in front of it.</p>
      )}
      {status === 'pending' && problem === null && (
        <p>Being issued. This usually takes less than a minute.</p>
      )}
      {problem !== null && (
        <Notice tone="warn" title={status === 'active' ? 'Renewal failed' : 'Issuing failed'}>
          <p>{problem}</p>
          {renewsAt && <p>{`Next attempt: ${formatMoment(renewsAt)}.`}</p>}
        </Notice>
      )}
      {status === 'active' && (
        <Facts>
          {issuedAt && <Fact name="Issued">{formatDay(issuedAt)}</Fact>}
          {expiresAt && <Fact name="Expires">{formatDay(expiresAt)}</Fact>}
          {renewsAt && problem === null && <Fact name="Renews">{formatDay(renewsAt)}</Fact>}
        </Facts>
      )}
    </Panel>
  )
}
