/** What a block is about: callers of a network, in CIDR notation, or a file, by its SHA-256. */
export type BlockKind = 'network' | 'hash'

/** A block is in force while its row exists. */
export interface Block {
  kind: BlockKind
  /** The canonical network or the hash. */
  value: string
  /** For operators. */
  reason: string
  createdAt: number
  /** When it is removed; null for never. */
  expiresAt: number | null
}

/** The name in change notifications that stands for the blocks of networks. No site and no domain has it. */
export const BLOCKS_CHANGED = '_blocks'

/** Blocks. A value has at most one of its kind. */
export interface BlockQueries {
  /** All of a kind, newest first. */
  list(kind: BlockKind): Promise<Block[]>

  count(kind: BlockKind): Promise<number>

  /** Replaces the one of the same value. */
  put(block: Block): Promise<void>

  /** Returns whether it existed. */
  remove(kind: BlockKind, value: string): Promise<boolean>

  expired(now: number, limit: number): Promise<Block[]>

  /** The blocked ones among these hashes. */
  hashesAmong(hashes: readonly string[]): Promise<Set<string>>
}
