import type { DomainRecord } from '../../protocol/api/domains.ts'
import { KEY, startAnsweringCli } from './answering-desk.ts'
import { answer, failure } from './peer.ts'

type PeerResponse = [status: number, body: unknown, headers?: Record<string, string>]

/** What the peer answers to one call: a record, or something else. */
export type PeerReply = DomainRecord | PeerResponse

/** A domain that was just added: `www.example.test`, for the site otter. */
export function pendingRecord(more: Partial<DomainRecord> = {}): DomainRecord {
  return {
    domain: 'www.example.test',
    siteSlug: 'otter',
    status: 'pending',
    records: [
      { type: 'CNAME', name: 'www', value: 'domains.sites.test', found: null, right: null },
      { type: 'TXT', name: '_slipway.www', value: 'slipway-0123', found: null, right: null },
    ],
    reason: 'Waiting for both DNS records to be entered',
    redirectsTo: null,
    alternate: null,
    certificate: { status: 'none', issuedAt: null, expiresAt: null, renewsAt: null, problem: null },
    createdAt: '2030-01-01T00:00:00.000Z',
    verifiedAt: null,
    checkedAt: null,
    nextCheckAt: '2030-01-01T00:00:10.000Z',
    ...more,
  }
}

/** The same record with what DNS answers to its two questions. */
export function found(record: DomainRecord, pointing: string[], proof: string[]): DomainRecord {
  const [first, second] = record.records
  return {
    ...record,
    records: [
      { ...first!, found: pointing, right: pointing.includes(first!.value) },
      { ...second!, found: proof, right: proof.includes(second!.value) },
    ],
    checkedAt: '2030-01-01T00:00:05.000Z',
  }
}

export function activeRecord(more: Partial<DomainRecord> = {}): DomainRecord {
  const right = found(pendingRecord(), ['domains.sites.test'], ['slipway-0123'])
  return { ...right, status: 'active', reason: null, verifiedAt: '2030-01-01T00:00:09.000Z', ...more }
}

/**
 * A desk, signed in, with the site otter in its folder, and a server that answers the calls of each "METHOD /path" by
 * turns; the last turn stays.
 */
export async function startDomainCli(turns: Record<string, PeerReply[]>) {
  const all = await startAnsweringCli()
  all.remember('otter')
  all.desk.env.SLIPWAY_KEY = KEY
  const left = new Map(Object.entries(turns).map(([call, list]) => [call, [...list]]))
  all.peer.misbehave = ({ method, path }, _request, response) => {
    const list = left.get(`${method} ${path}`)
    const turn = list && list.length > 1 ? list.shift() : list?.[0]
    if (turn === undefined) answer(response, ...failure(404, 'NOT_FOUND'))
    else if (Array.isArray(turn)) answer(response, ...turn)
    else answer(response, method === 'POST' ? 201 : 200, turn)
    return true
  }
  return all
}
