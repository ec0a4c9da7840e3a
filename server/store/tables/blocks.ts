import { type EntityOf, integer, nullable, oneOf, Table, text } from '../table.ts'
/** What a block is about: callers of a network, in CIDR notation, or a file, by its SHA-256. */
export type BlockKind = 'network' | 'hash'

/** A block is in force while its row exists. */
export const blockTable = new Table({
  kind: oneOf<BlockKind>(),
  /** The canonical network or the hash. */
  value: text,
  /** For operators. */
  reason: text,
  createdAt: integer,
  /** When it is removed; null for never. */
  expiresAt: nullable(integer),
})

export type Block = EntityOf<typeof blockTable>

/** The name in change notifications that stands for the blocks. No site and no domain has it. */
export const BLOCKS_CHANGED = '_blocks'

/** Blocks. A value has at most one of its kind. */
export interface BlockQueries {
  /** All, or those of a kind, newest first. */
  list(kind?: BlockKind): Promise<Block[]>

  count(kind: BlockKind): Promise<number>

  /** Replaces the one of the same value. */
  put(block: Block): Promise<void>

  /** Returns whether it existed, and had ended by `endedBy`, where that is given. */
  remove(kind: BlockKind, value: string, endedBy?: number): Promise<boolean>

  expired(now: number, limit: number): Promise<Block[]>
}
