import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import { formatMoment } from '../app/format-time.ts'
import { Notice } from '../kit/notice.tsx'
import { Fact, Facts, Panel } from '../kit/panel.tsx'
import { LocalTime } from '../kit/time.tsx'

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
          {renewsAt && (
            <p>
              Next attempt: <LocalTime at={renewsAt} format={formatMoment} />.
            </p>
          )}
        </Notice>
      )}
      {status === 'active' && (
        <Facts>
          {issuedAt && (
            <Fact name="Issued">
              <LocalTime at={issuedAt} />
            </Fact>
          )}
          {expiresAt && (
            <Fact name="Expires">
              <LocalTime at={expiresAt} />
            </Fact>
          )}
          {renewsAt && problem === null && (
            <Fact name="Renews">
              <LocalTime at={renewsAt} />
            </Fact>
          )}
        </Facts>
      )}
    </Panel>
  )
}
