import type { DomainRecord } from '../../client/wire.ts'
import type { Action } from '../api/action.ts'
import { clockTime } from '../app/time-words.ts'
import { Button, ButtonLink } from '../kit/button.tsx'
import { Notice } from '../kit/notice.tsx'
import { Ago } from '../kit/time.tsx'
import { addressOf, isMoreThanRecords, isSettled, progressOf, reasonOf } from './domain-words.ts'

interface DomainStateProps {
  record: DomainRecord
  check: Action<[]>
}

/** How a domain stands, in a sentence that is read out when it changes, and what can be done about it. */
export function DomainState({ record, check }: DomainStateProps) {
  const { status } = record
  return (
    <>
      {status === 'pending' ? <Waiting record={record} /> : <Serving record={record} />}
      <div class="choices">
        {status === 'active' && (
          <ButtonLink href={addressOf(record)} look="main" icon="open" outside>
            {`Visit ${addressOf(record)}`}
          </ButtonLink>
        )}
        {!isSettled(record) && (
          <Button onClick={check} busy={check.busy}>
            Check now
          </Button>
        )}
        <Looks record={record} />
      </div>
    </>
  )
}

function Waiting({ record }: { record: DomainRecord }) {
  const remark = isMoreThanRecords(record) ? reasonOf(record) : null
  const isGivenUp = record.nextCheckAt === null && record.checkedAt !== null
  return (
    <Notice title={progressOf(record)}>
      {remark && <p>{remark}</p>}
      {!isGivenUp && (
        <p class="quiet small">
          This page changes by itself. You need not stay: the service goes on looking, for minutes or for
          days.
        </p>
      )}
    </Notice>
  )
}

function Serving({ record }: { record: DomainRecord }) {
  const { domain, certificate, redirectsTo } = record
  const remark = reasonOf(record)
  const doing = redirectsTo === null ? 'is active' : `is active and leads to ${redirectsTo}`
  if (remark !== null)
    return (
      <Notice tone="warn" title={`${domain} ${doing}, but something is wrong in DNS.`}>
        <p>{remark}</p>
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
          ? 'Its certificate is on its way: HTTPS follows in some seconds.'
          : 'HTTPS follows when it has its certificate.'}
      </p>
    </Notice>
  )
}

/** When it was looked up and when it will be, where that is soon. */
function Looks({ record: { status, checkedAt, nextCheckAt } }: { record: DomainRecord }) {
  if (checkedAt === null) return null
  return (
    <span class="quiet small">
      Looked up <Ago at={checkedAt} />
      {status === 'pending' && nextCheckAt !== null && `, next at ${clockTime(Date.parse(nextCheckAt))}`}
    </span>
  )
}
