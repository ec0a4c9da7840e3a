import type { Quotas } from '../../accounts/quotas.ts'
import type { Queries } from '../../store/queries.ts'

/** After these bytes, what the network has is read again. */
const BYTES_PER_CHECK = 8 * 2 ** 20

const ALL = ''

/** Counts the contents of an archive until its version is staged, which then counts them. */
export interface Receipt extends Disposable {
  /** Before the content is stored. QUOTA_EXCEEDED when there is no room for it. */
  add(bytes: number): Promise<void>
}

/**
 * Contents of archives of callers without an account that are stored and not staged yet: uncounted, many archives
 * together could exceed a quota. An account is checked when its version is staged.
 */
export class Receipts {
  readonly #quotas: Quotas
  readonly #read: Queries
  readonly #received = new Map<string, number>()

  constructor({ quotas, read }: { quotas: Quotas; read: Queries }) {
    this.#quotas = quotas
    this.#read = read
  }

  /** Without a network, that of an account, nothing is counted. */
  open(network: string | undefined): Receipt {
    let own = 0
    let unchecked = BYTES_PER_CHECK
    const count = (bytes: number) => {
      own += bytes
      for (const key of [ALL, network!]) {
        const sum = (this.#received.get(key) ?? 0) + bytes
        if (sum > 0) this.#received.set(key, sum)
        else this.#received.delete(key)
      }
    }
    return {
      add: async (bytes) => {
        if (network === undefined) return
        count(bytes)
        unchecked += bytes
        if (unchecked < BYTES_PER_CHECK) return
        unchecked = 0
        const received = { network: this.#received.get(network)!, anonymous: this.#received.get(ALL)! }
        await this.#quotas.assertRoom(this.#read, network, received)
      },
      [Symbol.dispose]: () => {
        if (own > 0) count(-own)
      },
    }
  }
}
