import { type EntityOf, integer, nullable, oneOf, Table, text } from '../table.ts'

/** What a block is about: callers of a network, in CIDR notation, or a file, by its SHA-256. */
export type BlockKind = 'network' | 'hash'

/** A block is in force while its row exists. */
export const blockTable = new Table({
  kind: oneOf<BlockKind>(),
  value: text,
  reason: text,
  createdAt: integer,
  /** When it is removed; null for never. */
  expiresAt: nullable(integer),
})

export type Block = EntityOf<typeof blockTable>

/** The name in change notifications that stands for the blocks. No site and no domain has it. */
export const BLOCKS_CHANGED = '_blocks'
