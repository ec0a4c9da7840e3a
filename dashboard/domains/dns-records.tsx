import type { DomainDnsRecord, DomainRecord } from '../../protocol/api/domains.schema.ts'
import { toZone } from '../../protocol/domain-url.ts'
import { CopyLine } from '../kit/copy.tsx'
import { Badge, Panel } from '../kit/panel.tsx'
import { fullName, isMoreThanRecords, type RecordState, recordState } from './domain-labels.ts'

const BADGES: Record<RecordState, [tone: 'plain' | 'good' | 'warn' | 'wrong', word: string]> = {
  unasked: ['plain', 'Not checked yet'],
  unknown: ['warn', "Couldn't check"],
  missing: ['plain', 'Not found yet'],
  wrong: ['wrong', 'Wrong value'],
  right: ['good', 'Correct'],
}

/** The required DNS records, and what DNS returns now. */
export function DnsRecords({ record }: { record: DomainRecord }) {
  const zone = toZone(record)
  const isRoot = record.records[0]?.type === 'ALIAS'
  return (
    <Panel
      title="DNS records"
      lead={`Add these records for ${zone} at your DNS provider, usually where you bought the domain.`}
    >
      {isRoot && <RootNeeds record={record} />}
      <ol class="dns-records">
        {record.records.map((one) => (
          <Entry key={one.type} entry={one} record={record} />
        ))}
      </ol>
      <More record={record} />
    </Panel>
  )
}

function Entry({ entry, record }: { entry: DomainDnsRecord; record: DomainRecord }) {
  const state = recordState(entry, record)
  const [tone, word] = BADGES[state]
  return (
    <li class="stack tight">
      <div class="panel-head">
        <h3>{`${entry.type} record`}</h3>
        <Badge tone={tone}>{word}</Badge>
      </div>
      <div class="dns-entry">
        <span class="quiet small">Name</span>
        <CopyLine text={entry.name} of={`the name of the ${entry.type} record`} />
        <span class="quiet small">Value</span>
        <CopyLine text={entry.value} of={`the value of the ${entry.type} record`} />
      </div>
      <DnsAnswer entry={entry} state={state} record={record} />
    </li>
  )
}

interface DnsAnswerProps {
  entry: DomainDnsRecord
  state: RecordState
  record: DomainRecord
}

function DnsAnswer({ entry, state, record }: DnsAnswerProps) {
  const { found } = entry
  const name = fullName(entry, record)
  if (state === 'missing') return <p class="small">{`No record found for ${name}.`}</p>
  if (state === 'unknown' && !found?.length) return <p class="small">{`Couldn't check ${name}.`}</p>
  if (!found?.length) return null
  return (
    <div class="small stack tight">
      <p>{`Found for ${name}:`}</p>
      <ul class="dns-found">
        {found.map((value) => (
          <li key={value}>
            <code>{value}</code>
          </li>
        ))}
      </ul>
      {state === 'wrong' && <p>{remedy(entry)}</p>}
    </div>
  )
}

function remedy({ type, value }: DomainDnsRecord): string {
  if (type === 'TXT') return 'Add the value above, or replace the old one. Several TXT records are fine.'
  return `Change it to ${value}, and remove other records (A, AAAA, CNAME) of the same name.`
}

function RootNeeds({ record: { records } }: { record: DomainRecord }) {
  return (
    <p>
      {`A root domain can't have a CNAME record. Use an ALIAS, ANAME or flattened CNAME record instead. If your provider has none of these, use the www domain and redirect the root to it, or add every A and AAAA address of ${records[0]?.value}, which may change.`}
    </p>
  )
}

function More({ record }: { record: DomainRecord }) {
  return (
    <details>
      <summary>Troubleshooting</summary>
      <ul class="stack tight small">
        {!isMoreThanRecords(record) && record.checkedAt !== null && <li>{record.reason}</li>}
        <li>
          {`Some providers need full names: `}
          {record.records.map((one, index) => (
            <>
              {index > 0 && ' and '}
              <code>{fullName(one, record)}</code>
            </>
          ))}
          {`. Most add ${toZone(record)} automatically. `}
          <code>@</code>
          {' stands for the domain itself; some providers leave it empty.'}
        </li>
        <li>Remove other A, AAAA or CNAME records of the same name, such as those of a parking page.</li>
        <li>
          Turn off your DNS provider's proxy, such as the orange cloud at Cloudflare: it hides the record.
        </li>
        <li>Old values can remain in caches until their TTL ends: minutes, sometimes a day.</li>
        <li>Keep both records after the domain is active.</li>
      </ul>
    </details>
  )
}
