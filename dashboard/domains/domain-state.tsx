import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import { domainUrl } from '../../protocol/domain-url.ts'
import type { Action } from '../api/action.ts'
import { settings } from '../api/settings.ts'
import { formatClock } from '../app/format-time.ts'
import { Button, ButtonLink } from '../kit/button.tsx'
import { Notice } from '../kit/notice.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { formatProgress, isMoreThanRecords, isSettled } from './domain-labels.ts'

interface DomainStateProps {
  record: DomainRecord
  check: Action<[]>
}

/** The state of a domain in a live region, with possible actions. */
export function DomainState({ record, check }: DomainStateProps) {
  const { status } = record
  const url = domainUrl(record, settings.baseUrl)
  return (
    <>
      {status === 'pending' ? <Waiting record={record} /> : <Serving record={record} />}
      <div class="choices">
        {status === 'active' && (
          <ButtonLink href={url} variant="main" icon="open" outside>
            {`Visit ${url}`}
          </ButtonLink>
        )}
        {!isSettled(record) && (
          <Button onClick={check} busy={check.busy}>
            Check now
          </Button>
        )}
        <CheckTimes record={record} />
      </div>
    </>
  )
}

function Waiting({ record }: { record: DomainRecord }) {
  const reason = isMoreThanRecords(record) ? record.reason : null
  const hasExpired = record.nextCheckAt === null && record.checkedAt !== null
  return (
    <Notice title={formatProgress(record)}>
      {reason && <p>{reason}</p>}
      {!hasExpired && (
        <p class="quiet small">This page updates automatically. You can close it; we'll keep checking.</p>
      )}
    </Notice>
  )
}

function Serving({ record }: { record: DomainRecord }) {
  const { domain, certificate, redirectsTo } = record
  const reason = record.reason
  const doing = redirectsTo === null ? 'is active' : `is active and redirects to ${redirectsTo}`
  if (reason !== null)
    return (
      <Notice tone="warn" title={`${domain} ${doing}, but its DNS is wrong`}>
        <p>{reason}</p>
      </Notice>
    )
  if (certificate.status !== 'pending')
    return (
      <Notice
        tone="good"
        title={`${domain} ${doing}${certificate.status === 'active' ? ', with HTTPS' : ''}.`}
      />
    )
  return (
    <Notice tone="good" title={`${domain} ${doing}.`}>
      <p>
        {certificate.problem === null
          ? 'The certificate is being issued. HTTPS works in a few seconds.'
          : 'HTTPS works once the certificate is issued.'}
      </p>
    </Notice>
  )
}

/** Times of the last and the next check, where that is soon. */
function CheckTimes({ record: { status, checkedAt, nextCheckAt } }: { record: DomainRecord }) {
  if (checkedAt === null) return null
  return (
    <span class="quiet small">
      Checked <RelativeTime at={checkedAt} />
      {status === 'pending' && nextCheckAt !== null && `, next at ${formatClock(Date.parse(nextCheckAt))}`}
    </span>
  )
}
