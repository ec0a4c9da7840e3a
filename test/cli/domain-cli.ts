import type { DomainRecord } from '../../protocol/api/domains.ts'
import { errorResponse, sendJson } from './fake-server.ts'
import { KEY, startScriptedCli } from './scripted-cli.ts'

/** A scripted response: a record with status 200 or 201, or a status and body. */
export type ScriptedReply = DomainRecord | [status: number, body: unknown, headers?: Record<string, string>]

/** A domain that was just added to the site `otter`: `www.example.test`. */
export function pendingRecord(more: Partial<DomainRecord> = {}): DomainRecord {
  return {
    domain: 'www.example.test',
    siteSlug: 'otter',
    status: 'pending',
    records: [
      { type: 'CNAME', name: 'www', value: 'domains.sites.test', found: null, right: null },
      { type: 'TXT', name: '_slipway.www', value: 'slipway-0123', found: null, right: null },
    ],
    reason: 'Waiting for both DNS records',
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

/** The record after a check that found these values in DNS. */
export function withDnsAnswers(record: DomainRecord, pointing: string[], proof: string[]): DomainRecord {
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
  const right = withDnsAnswers(pendingRecord(), ['domains.sites.test'], ['slipway-0123'])
  return { ...right, status: 'active', reason: null, verifiedAt: '2030-01-01T00:00:09.000Z', ...more }
}

/**
 * A signed-in CLI whose folder remembers the site `otter`, and a server that answers each "METHOD /path" with its
 * scripted responses in order and repeats the last one.
 */
export async function startDomainCli(turns: Record<string, ScriptedReply[]>) {
  const fixture = await startScriptedCli()
  fixture.remember('otter')
  fixture.cli.env.SLIPWAY_KEY = KEY
  const remaining = new Map(Object.entries(turns).map(([call, list]) => [call, [...list]]))
  fixture.server.intercept = ({ method, path }, _request, response) => {
    const list = remaining.get(`${method} ${path}`)
    const turn = list && list.length > 1 ? list.shift() : list?.[0]
    if (turn === undefined) sendJson(response, ...errorResponse(404, 'NOT_FOUND'))
    else if (Array.isArray(turn)) sendJson(response, ...turn)
    else sendJson(response, method === 'POST' ? 201 : 200, turn)
    return true
  }
  return fixture
}
