import { NetworkSet, parseNetwork } from '../../packages/http-server/clients/network.ts'
import { ApiError } from '../lib/errors.ts'
import { shareSuccess } from '../lib/share-result.ts'
import type { Store } from '../store/store.ts'
import { BLOCKS_CHANGED, type Block } from '../store/tables/moderation.ts'

type Lists = ReturnType<typeof toLists>

/** Read at first use and after each change. A visit reads the blocks of its files: a node may not be notified yet. */
export class Blocklist {
  #read: () => Promise<Lists>

  constructor(store: Store) {
    const readOnce = () => shareSuccess(() => store.read.blocks.list().then(toLists))
    this.#read = readOnce()
    store.onChange((names) => {
      if (names === undefined || names.includes(BLOCKS_CHANGED)) this.#read = readOnce()
    })
  }

  /** BLOCKED for a caller in a blocked network. */
  async assertCaller(address: string): Promise<void> {
    if ((await this.#read()).networks.has(address))
      throw new ApiError('BLOCKED', 'The operator of this service has blocked your network')
  }

  /** CONTENT_REFUSED when a file is blocked; names its path, and nothing about the block. */
  async assertFiles(files: readonly { path: string; hash?: string | undefined }[]): Promise<void> {
    const { hashes } = await this.#read()
    if (hashes.size === 0) return
    const found = files.find(({ hash }) => hash !== undefined && hashes.has(hash))
    if (!found) return
    const { path } = found
    throw new ApiError('CONTENT_REFUSED', `The operator of this service does not accept the file '${path}'`, {
      details: { path },
    })
  }

  async hasHash(hash: string): Promise<boolean> {
    return (await this.#read()).hashes.has(hash)
  }
}

function toLists(blocks: readonly Block[]) {
  const networks = blocks.filter(({ kind }) => kind === 'network').map(({ value }) => parseNetwork(value)!)
  const hashes = blocks.filter(({ kind }) => kind === 'hash').map(({ value }) => value)
  return { networks: new NetworkSet(networks), hashes: new Set(hashes) }
}
