import { Addresses } from '../server/address.ts'
import { type Answer, answerTo } from '../server/edge/answer.ts'
import type { VisitHeaders } from '../server/edge/asked.ts'
import { NO_ASSET, NO_PAGE } from '../server/edge/pages/pages.ts'
import { momentOf, openPolicy } from '../server/edge/policy.ts'
import { compile, type Published, type Table } from '../server/edge/table.ts'
import type { StoredFile } from '../server/file.ts'
import { parseRules } from '../server/rules/site-rules.ts'
import { typeOf } from './edge-contents.ts'
import { sha256 } from './edge-fixture.ts'

export const HOST = 'amber.sites.test'

/** When the versions here went live, and when they are asked. */
export const LIVE = Date.parse('2031-05-06T07:08:09.500Z')
export const NOW = LIVE + 60_000

const addresses = new Addresses({ baseUrl: 'https://api.test', siteDomain: 'sites.test' })

interface Said extends Partial<Omit<Published, 'files' | 'rules'>> {
  redirects?: string
  headers?: string
}

/** A version of these files, each of which has its own path as bytes. */
export function tableOf(paths: readonly string[], { redirects, headers, ...more }: Said = {}): Table {
  const { rules, warnings } = parseRules({ redirects, headers })
  if (warnings.length > 0) throw new Error(JSON.stringify(warnings))
  const live = momentOf(LIVE)
  return compile({
    files: paths.map(fileOf),
    policy: openPolicy({ live, said: live }),
    rules: rules ?? undefined,
    said: { title: null, description: null, og_image_path: null },
    urlOf: (name) => addresses.file('amber', name),
    ...more,
  })
}

export function fileOf(path: string): StoredFile {
  return { path, size: Buffer.byteLength(path), contentType: typeOf(path), hash: sha256(path) }
}

export function ask(table: Table, target: string, headers: VisitHeaders = {}, now = NOW): Answer {
  const [path = '', ...query] = target.split(/(?=\?)/)
  const asked = { host: HOST, secure: false, target: { path, query: query.join('') }, headers }
  return answerTo(table, asked, now)
}

/** The value of a header of an answer, by its lower-case name. */
export function header({ headers }: Answer, name: string): string | undefined {
  for (let at = 0; at < headers.length; at += 2)
    if (headers[at]!.toLowerCase() === name) return headers[at + 1]
  return undefined
}

/**
 * What a request gets in a word or two: a file's path, `→` with a redirect's status unless it is 301, `404` with its
 * page, `404 text`, `404 plain`, `a page`, or another status.
 */
export function told(table: Table, target: string, headers: VisitHeaders = {}, now = NOW): string {
  const answer = ask(table, target, headers, now)
  const { status, content, body } = answer
  const to = header(answer, 'location')
  if (to !== undefined) return status === 301 ? `→ ${to}` : `→ ${status} ${to}`
  if (status === 200) return content ? content.path : 'a page'
  if (answer === NO_ASSET) return '404 text'
  if (answer === NO_PAGE) return '404 plain'
  return content ? `${status} ${content.path}` : body ? `${status}` : `${status} without a body`
}
