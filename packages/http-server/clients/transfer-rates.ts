export interface Transfer {
  readonly receivedBytes: number
  /** Received bytes that this process has not read yet. */
  readonly unreadBytes: number
  /** Nothing more will arrive. */
  readonly isFinished: boolean
}

interface TransferRatesOptions {
  /** A monotonic clock in milliseconds. */
  clock: () => number
  intervalMs?: number
}

interface Watched {
  transfer: Transfer
  onTooSlow: () => void
  receivedBytes: number
  checkedAt: number
  /** Remaining milliseconds that it may wait for its client. */
  allowanceMs: number
}

const BYTES_PER_SECOND = 1024
const INITIAL_ALLOWANCE_MS = 30_000
const MAX_ALLOWANCE_MS = 60_000

/**
 * Enforces a minimum transfer rate, so that a slow client cannot hold its slot for hours: 1 KiB/s on average over a
 * minute. A transfer may wait 30 seconds for its client; each KiB adds a second, up to a minute. Time in which this
 * process has unread bytes does not count.
 */
export class TransferRates {
  readonly #clock: () => number
  readonly #intervalMs: number
  readonly #watched = new Set<Watched>()
  #timer: NodeJS.Timeout | undefined

  constructor({ clock, intervalMs = 1000 }: TransferRatesOptions) {
    this.#clock = clock
    this.#intervalMs = intervalMs
  }

  /** Calls `onTooSlow` once if the transfer falls below the minimum rate before it is over. */
  watch(transfer: Transfer, onTooSlow: () => void): void {
    if (transfer.isFinished) return
    const { receivedBytes } = transfer
    const checkedAt = this.#clock()
    this.#watched.add({
      transfer,
      onTooSlow,
      receivedBytes,
      checkedAt,
      allowanceMs: INITIAL_ALLOWANCE_MS,
    })
    this.#timer ??= setInterval(() => this.#check(), this.#intervalMs).unref()
  }

  #check(): void {
    const now = this.#clock()
    for (const watched of this.#watched) {
      const isTooSlow = !watched.transfer.isFinished && this.#updateAllowance(watched, now) <= 0
      if (isTooSlow || watched.transfer.isFinished) this.#watched.delete(watched)
      if (isTooSlow) watched.onTooSlow()
    }
    if (this.#watched.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #updateAllowance(watched: Watched, now: number): number {
    const { transfer, receivedBytes, checkedAt } = watched
    const earnedMs = ((transfer.receivedBytes - receivedBytes) / BYTES_PER_SECOND) * 1000
    const waitedMs = transfer.unreadBytes > 0 ? 0 : now - checkedAt
    watched.receivedBytes = transfer.receivedBytes
    watched.checkedAt = now
    watched.allowanceMs = Math.min(MAX_ALLOWANCE_MS, watched.allowanceMs + earnedMs - waitedMs)
    return watched.allowanceMs
  }
}
