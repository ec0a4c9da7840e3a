import { type EntityOf, integer, json, key, nullable, oneOf, Table, text } from '../table.ts'

/** What a block is about: callers of a network, in CIDR notation, or a file, by its SHA-256. */
export type BlockKind = 'network' | 'hash'

/** A block is in force until its end, or its row is removed. */
export const blockTable = new Table({
  kind: key(oneOf<BlockKind>()),
  value: key(text),
  reason: text,
  createdAt: integer,
  expiresAt: nullable(integer),
})

export type Block = EntityOf<typeof blockTable>

/** Before the value of a block, its name in change notifications. No site and no domain has such a name. */
export const BLOCK_CHANGED = '_block '

export type ReportState = 'open' | 'dismissed' | 'acted'

export interface Report {
  at: number
  reason: string
  url: string
  text: string
  /** Of the reporter; null without. */
  email: string | null
}

export const reportTable = new Table({
  /** The `visitsKey` of the site. */
  site: key(text),
  state: oneOf<ReportState>(),
  count: integer,
  firstAt: integer,
  lastAt: integer,
  /** When an operator last dismissed them or acted; null before that. */
  decidedAt: nullable(integer),
  /** The newest ones, newest first. */
  latest: json<readonly Report[]>(),
  /** Number of reports that the operator was notified of, and when. */
  mailedCount: integer,
  mailedAt: nullable(integer),
})

export type ReportedSite = EntityOf<typeof reportTable>
