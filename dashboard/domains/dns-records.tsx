import type { DomainDnsRecord, DomainRecord } from '../../protocol/api/domains.ts'
import { CopyLine } from '../kit/copy.tsx'
import { Badge, Panel } from '../kit/panel.tsx'
import {
  formatReason,
  fullName,
  isMoreThanRecords,
  type RecordState,
  recordState,
  toZone,
} from './domain-labels.ts'

const BADGES: Record<RecordState, [tone: 'plain' | 'good' | 'warn' | 'wrong', word: string]> = {
  unasked: ['plain', 'Not looked up yet'],
  unknown: ['warn', 'DNS does not say'],
  missing: ['plain', 'Not there yet'],
  wrong: ['wrong', 'Something else is there'],
  right: ['good', 'Right'],
}

/** The required DNS records, and what DNS returns now. */
export function DnsRecords({ record }: { record: DomainRecord }) {
  const zone = toZone(record)
  const isRoot = record.records[0]?.type === 'ALIAS'
  return (
    <Panel
      title="Two records to enter in DNS"
      lead={`Enter them at whoever runs the DNS of ${zone}: usually where the domain was bought, under “DNS” or “Name servers”.`}
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
  if (state === 'missing') return <p class="small">{`DNS answers nothing for ${name}.`}</p>
  if (state === 'unknown' && !found?.length)
    return <p class="small">{`DNS could not be asked about ${name}.`}</p>
  if (!found?.length) return null
  return (
    <div class="small stack tight">
      <p>{`DNS answers for ${name}:`}</p>
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
  if (type === 'TXT') return 'Put the value above beside it, or in its place: several TXT records are fine.'
  return `Change it to ${value}, and remove other records (A, AAAA, CNAME) of the same name.`
}

function RootNeeds({ record: { records } }: { record: DomainRecord }) {
  return (
    <p>
      {`A root domain cannot have a CNAME. Where you enter it, the record that does the same is called ALIAS, ANAME or CNAME flattening. Without one of these, use the name with www and redirect the root to it where the domain was bought; or enter every A and AAAA address of ${records[0]?.value}, which may change.`}
    </p>
  )
}

function More({ record }: { record: DomainRecord }) {
  return (
    <details>
      <summary>It does not work, or the form asks for something else</summary>
      <ul class="stack tight small">
        {!isMoreThanRecords(record) && record.checkedAt !== null && <li>{formatReason(record)}</li>}
        <li>
          {`Some forms want whole names: `}
          {record.records.map((one, index) => (
            <>
              {index > 0 && ' and '}
              <code>{fullName(one, record)}</code>
            </>
          ))}
          {`. Most add ${toZone(record)} by themselves. `}
          <code>@</code>
          {' stands for the domain itself; some forms leave it empty.'}
        </li>
        <li>Other A, AAAA or CNAME records of the same name have to go, such as those of a parking page.</li>
        <li>
          A proxy of the DNS provider hides where the domain leads: turn it off (at Cloudflare the orange
          cloud).
        </li>
        <li>
          What was there before may be answered until its time to live is over: minutes, sometimes a day.
        </li>
        <li>Leave both records in place later on, too.</li>
      </ul>
    </details>
  )
}
