import type { ArchiveQuery } from '../../protocol/api/publish.schema.ts'
import type { VisitFilter } from '../../protocol/api/visits.schema.ts'
import type { RetryPolicy } from './retry.ts'
import type { Bytes, Transport } from './transport.ts'
import type { UploadOptions } from './upload.ts'

export interface SlipwayOptions {
  /** Base URL of the server; empty in a page of the server itself. */
  baseUrl: string
  /** API key; white space around it is ignored. Without it, or with an empty one, calls are anonymous, or use the page's session. */
  key?: string | undefined
  /** The token of a review link, after the `#` of its URL. */
  reviewToken?: string | undefined
  /** The name and version of the program, which versions record: `my-tool/1.0`. */
  client?: string | undefined
  /** The HTTP transport; `fetch` by default. */
  send?: Transport | undefined
  /** Aborts every call of this client that has no other signal. */
  signal?: AbortSignal | undefined
  /** Clock and randomness of retries. */
  retryPolicy?: RetryPolicy | undefined
}

/** A downloaded file or archive. */
export interface Download {
  contentType: string | null
  /** In bytes, or null when the server does not send it. */
  size: number | null
  bytes(): AsyncIterable<Uint8Array>
}

/** An archive, and the fields of its publish, which the reference of the API describes. */
export interface ArchiveOptions extends ArchiveQuery {
  contentType: 'application/zip' | 'application/x-tar' | 'application/gzip'
  /** Length of a streamed archive in bytes, if known. */
  size?: number
  /** The site to update; otherwise a new one is created. */
  slug?: string
  /** Files that are excluded by default. Secrets with a hidden name need `dotfiles,secrets`. */
  include?: 'dotfiles' | 'secrets' | 'dotfiles,secrets'
}

export interface ListOptions {
  limit?: number
  cursor?: string
  q?: string
  /** Lists the sites in the trash. */
  deleted?: boolean
}

export interface VisitsOptions extends VisitFilter {
  /** IANA name of the time zone in which days begin; UTC by default. */
  timeZone?: string | undefined
}

export interface DeleteOptions {
  /** Deletes a site of an account without keeping it in the trash, or from there. */
  permanent?: boolean
  /** Of a site without an owner, which is deleted permanently. */
  claimToken?: string
}

/** Without final slashes; a page of the server itself may pass an empty one. */
export function readBaseUrl(baseUrl: unknown): string {
  if (typeof baseUrl === 'string' && (baseUrl === '' || /^https?:\/\//i.test(baseUrl)))
    return baseUrl.replace(/\/+$/, '')
  throw new TypeError('baseUrl must be the URL of a Slipway server, such as https://slipway.example')
}

/** Whether a header can have this text as an API key. */
export function isKey(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text)
}

/** Without the line break or space that a stored secret may end with; undefined when it is empty. */
export function readKey(key: string | undefined): string | undefined {
  const trimmed = key?.trim() || undefined
  if (trimmed === undefined || isKey(trimmed)) return trimmed
  throw new TypeError('key must be an API key, such as sl_live_…')
}

/** What a request has beside its operation. */
export interface AnyCall extends UploadOptions {
  params?: Readonly<Record<string, string>>
  query?: object | undefined
  json?: unknown
  /** In place of `json`. */
  body?: Bytes
  contentType?: string | undefined
  claimToken?: string | undefined
}
