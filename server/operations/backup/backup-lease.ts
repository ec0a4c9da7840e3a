import { randomUUID } from 'node:crypto'
import { MINUTE_MS } from '../../lib/time.ts'
import { INDEPENDENT, type Store } from '../../store/store.ts'
import { BACKUP_LEASE, BACKUP_LEASE_MS } from '../../store/tables/nodes.ts'
import { BackupError } from './target.ts'

const RENEWAL_INTERVAL_MS = MINUTE_MS

/** While it is held, no file that the database names is deleted, and no other backup runs. */
export class BackupLease implements AsyncDisposable {
  readonly #store: Store
  readonly #holder: string
  readonly #fence: number
  readonly #timer: NodeJS.Timeout

  /** BackupError while another backup runs. */
  static async acquire(store: Store): Promise<BackupLease> {
    const holder = randomUUID()
    const now = store.clock()
    const fence = await store.write('durable', INDEPENDENT, ({ leases }) =>
      leases.acquire(BACKUP_LEASE, holder, now, now + BACKUP_LEASE_MS),
    )
    if (fence !== undefined) return new BackupLease(store, holder, fence)
    throw new BackupError(
      'Another backup of this service is running, or was killed within the last ten minutes.',
    )
  }

  private constructor(store: Store, holder: string, fence: number) {
    this.#store = store
    this.#holder = holder
    this.#fence = fence
    // A failed renewal is found before the backup is complete.
    this.#timer = setInterval(() => void this.assertHeld().catch(() => undefined), RENEWAL_INTERVAL_MS)
    this.#timer.unref()
  }

  /** Renews the lease. Throws when it ended before, because files of the backup may have been deleted. */
  async assertHeld(): Promise<void> {
    const lease = { name: BACKUP_LEASE, holder: this.#holder, fence: this.#fence }
    const isHeld = await this.#store.write('relaxed', INDEPENDENT, async ({ leases }) => {
      const now = this.#store.clock()
      const until = now + BACKUP_LEASE_MS
      return (await leases.isTaken(BACKUP_LEASE, now, until)) && leases.extend({ ...lease, until })
    })
    if (!isHeld) throw new BackupError('The backup was interrupted for ten minutes. Run the command again.')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.#store.write('relaxed', INDEPENDENT, ({ leases }) =>
      leases.release(BACKUP_LEASE, this.#holder),
    )
  }
}
