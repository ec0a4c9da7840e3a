import type { RequestHeaders } from '../../packages/http-server/http-handler.ts'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import { type BlobLocation, createObjectName } from '../../server/blobs/blobs.ts'
import type { Encoding } from '../../server/blobs/encoding.ts'
import { buildResponse } from '../../server/edge/build-response.ts'
import { buildRouteTable, type RouteTable, type SiteInput } from '../../server/edge/resolve/route-table.ts'
import { ASSET_NOT_FOUND, DEFAULT_PAGES } from '../../server/edge/respond/pages/error-pages.ts'
import { publicPolicy, toLastModified } from '../../server/edge/respond/policy.ts'
import type { EdgeResponse } from '../../server/edge/response.ts'
import { headMetadata } from '../../server/sites/site-metadata.ts'
import { UrlBuilder } from '../../server/sites/urls.ts'
import type { BlobRecord } from '../../server/store/tables/blobs.ts'
import { NO_METADATA } from '../../server/store/tables/sites.ts'
import { sha256 } from '../api/content.ts'
import { parseRules } from '../support/parse-rules.ts'
import { defaultType } from './fixture.ts'

export const HOST = 'amber.sites.test'

/** When the versions here went live, and the time of requests. */
export const LIVE = Date.parse('2031-05-06T07:08:09.500Z')
export const NOW = LIVE + 60_000

const addresses = new UrlBuilder({ baseUrl: 'https://api.test', siteDomain: 'sites.test' })

/** Sizes of the encodings of a file. */
export type EncodedSizes = Readonly<Record<Encoding, number | null>>

interface TableOptions extends Partial<Omit<SiteInput, 'rules'>> {
  redirects?: string
  headers?: string
  /** By the hash of the file. */
  encodings?: ReadonlyMap<string, EncodedSizes>
}

/** The route table of a version with these files; the content of each is its path. */
export function buildTable(paths: readonly string[], options?: TableOptions): RouteTable {
  return buildRouteTable(toSite(paths, options))
}

/** The input of `buildTable`. */
export function toSite(
  paths: readonly string[],
  { redirects, headers, encodings, files = paths.map(toStoredFile), ...more }: TableOptions = {},
): SiteInput {
  const { rules, warnings } = parseRules({ redirects, headers })
  if (warnings.length > 0) throw new Error(JSON.stringify(warnings))
  const publishedAt = toLastModified(LIVE)
  return {
    files,
    pages: DEFAULT_PAGES,
    policy: publicPolicy({ publishedAt, metadataChangedAt: publishedAt }),
    rules: rules ?? undefined,
    metadata: headMetadata(NO_METADATA),
    toUrl: (name) => addresses.file('amber', name),
    blobs: new Map(
      files.map((file) => [file.hash!, { read: () => toBlobRecord(file, encodings?.get(file.hash!)) }]),
    ),
    ...more,
  }
}

/** What is stored of a file, with strings of its own as the store returns them. */
export function toBlobRecord({ hash, size }: StoredFile, sizes?: EncodedSizes): BlobRecord {
  const at = (name: string, bytes: number | null): BlobLocation | null =>
    bytes === null ? null : toLocation(`${hash} ${name}`, bytes)
  return {
    hash: hash!,
    location: at('itself', size),
    encodings: sizes
      ? { br: at('br', sizes.br), zstd: at('zstd', sizes.zstd), gzip: at('gzip', sizes.gzip) }
      : null,
    blockedUntil: 0,
  }
}

/** A place of its own for bytes of this name. */
export function toLocation(name: string, size: number): BlobLocation {
  const object = `${createObjectName(NOW)}.${sha256(name).slice(0, 8)}`
  return { hash: sha256(name), size, object, offset: 0, piecesHash: null }
}

export function toStoredFile(path: string): StoredFile {
  return { path, size: Buffer.byteLength(path), contentType: defaultType(path), hash: sha256(path) }
}

export function getResponse(
  table: RouteTable,
  target: string,
  headers: RequestHeaders & { host?: string } = {},
  now = NOW,
): EdgeResponse {
  const [path = '', ...query] = target.split(/(?=\?)/)
  const { host = HOST } = headers
  const asked = { host, isSecure: false, target: { path, query: query.join('') }, headers, socket: {} }
  return buildResponse(table, asked, now)
}

/** The value of a response header by its lower-case name. */
export function header({ headers }: EdgeResponse, name: string): string | undefined {
  for (let at = 0; at < headers.length; at += 2)
    if (headers[at]!.toLowerCase() === name) return headers[at + 1]
  return undefined
}

/**
 * A short form of a response: a file's path, `→` with a redirect's status unless it is 301, `404` with its page,
 * `404 text`, `404 plain`, `a page`, or another status.
 */
export function describeResponse(
  table: RouteTable,
  target: string,
  headers: RequestHeaders = {},
  now = NOW,
): string {
  const answer = getResponse(table, target, headers, now)
  const { status, content, body } = answer
  const to = header(answer, 'location')
  if (to !== undefined) return status === 301 ? `→ ${to}` : `→ ${status} ${to}`
  if (status === 200) return content ? content.path : 'a page'
  if (answer === ASSET_NOT_FOUND) return '404 text'
  if (answer === DEFAULT_PAGES.pageNotFound.for()) return '404 plain'
  return content ? `${status} ${content.path}` : body ? `${status}` : `${status} without a body`
}
