import { NetworkSet, parseNetwork } from '../../packages/http-server/clients/network.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import { listPages } from '../lib/list-pages.ts'
import { shareRunning } from '../lib/share-result.ts'
import type { Parts } from '../parts.ts'
import type { Queries } from '../store/queries.ts'
import { BLOCK_CHANGED, type Block } from '../store/tables/moderation.ts'

type BlocklistParts = Pick<Parts, 'store' | 'clock'>

const BLOCKS_PER_PAGE = 500

/** Reads all blocks at first use, then those that change. A visit reads those of its files: a node may not be notified yet. */
export class Blocklist extends Component<BlocklistParts> {
  #networks = new NetworkSet()
  /** When the blocks of files end, by hash. */
  #hashes = new Map<string, number>()
  /** Values whose blocks have changed since they were read; undefined for all. */
  #changed: Set<string> | undefined
  #isCurrent = false
  readonly #update = shareRunning(() => this.#read())

  constructor(parts: BlocklistParts) {
    super(parts)
    parts.store.onChange((names) => {
      for (const name of names ?? [])
        if (name.startsWith(BLOCK_CHANGED)) this.#changed?.add(name.slice(BLOCK_CHANGED.length))
      if (names === undefined || (this.#changed?.size ?? 0) > BLOCKS_PER_PAGE) this.#changed = undefined
      this.#isCurrent &&= this.#changed?.size === 0
    })
  }

  /** BLOCKED for a caller in a blocked network. */
  async assertCaller(address: string): Promise<void> {
    while (!this.#isCurrent) await this.#update()
    if (this.#networks.has(address, this.parts.clock()))
      throw new ApiError('BLOCKED', 'The operator of this service has blocked your network')
  }

  /** CONTENT_REFUSED when a file is blocked; names its path, and nothing about the block. */
  async assertFiles(files: readonly { path: string; hash?: string | undefined }[]): Promise<void> {
    while (!this.#isCurrent) await this.#update()
    const found = this.#hashes.size > 0 && files.find(({ hash }) => hash !== undefined && this.#hasHash(hash))
    if (!found) return
    const { path } = found
    throw new ApiError('CONTENT_REFUSED', `The operator of this service does not accept the file '${path}'`, {
      details: { path },
    })
  }

  async hasHash(hash: string): Promise<boolean> {
    while (!this.#isCurrent) await this.#update()
    return this.#hasHash(hash)
  }

  #hasHash(hash: string): boolean {
    return this.parts.clock() < (this.#hashes.get(hash) ?? 0)
  }

  /** Not current afterwards when more has changed during the read. */
  async #read(): Promise<void> {
    const { blocks } = this.parts.store.read
    const changed = this.#changed
    this.#changed = new Set()
    try {
      if (!changed) [this.#networks, this.#hashes] = [new NetworkSet(), new Map()]
      for (const value of changed ?? []) this.#set(value, undefined)
      for await (const page of changed ? [await blocks.among([...changed])] : listBlocks(blocks))
        for (const { value, expiresAt } of page) this.#set(value, expiresAt ?? Number.POSITIVE_INFINITY)
    } catch (error) {
      this.#changed = undefined
      throw error
    }
    this.#isCurrent = this.#changed?.size === 0
  }

  #set(value: string, end: number | undefined): void {
    const network = parseNetwork(value)
    if (network) this.#networks.set(network, end)
    else if (end === undefined) this.#hashes.delete(value)
    else this.#hashes.set(value, end)
  }
}

/** In the order of their keys. Other work runs between the pages. */
export function listBlocks(blocks: Queries['blocks']): AsyncGenerator<Block[]> {
  const first = { kind: 'hash', value: '', reason: '', createdAt: 0, expiresAt: null } as const
  return listPages<Block>(first, (after) => blocks.page(after, BLOCKS_PER_PAGE))
}
