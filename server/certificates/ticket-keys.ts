import { randomBytes } from 'node:crypto'
import { Component } from '../lib/component.ts'
import type { SecretBox } from '../lib/secret-box.ts'
import { HOUR_MS } from '../lib/time.ts'
import type { Parts } from '../parts.ts'
import type { WriteTransaction } from '../store/store.ts'

const PERIOD_MS = 12 * HOUR_MS

const KEY_BYTES = 48

/** Minimum interval between two attempts to get the keys of a period from the store. */
const RETRY_MS = 10_000

/** Random, shared through the store (RFC 5077; RFC 8446, 4.6.1; docs/decisions/008-handshakes.md). */
export class TicketKeys extends Component<Pick<Parts, 'store' | 'clock' | 'log'> & { secretBox: SecretBox }> {
  readonly #keys = new Map<number, Buffer>()
  #period = Number.NaN
  #isRefreshing = false
  #nextAttempt = Number.NEGATIVE_INFINITY
  /** Incremented with each change of the current key: contexts with the previous key must be created again. */
  #generation = 0

  /** The current key, 48 bytes as `tls.createSecureContext` takes them, and its number among those of this process. */
  get current(): { key: Buffer; generation: number } {
    const period = this.#periodNow()
    if (period !== this.#period) this.#enter(period)
    if (!this.#keys.has(period + 1)) void this.refresh()
    return { key: this.#keys.get(period)!, generation: this.#generation }
  }

  /** Reads the keys of this period and the next one from the store, and creates missing ones. Never rejects. */
  async refresh(): Promise<void> {
    const { store, clock, log } = this.parts
    if (this.#isRefreshing || clock() < this.#nextAttempt) return
    this.#isRefreshing = true
    this.#nextAttempt = clock() + RETRY_MS
    const period = this.#periodNow()
    try {
      // One node after another: each keeps in memory what it has found or created.
      const keys = await store.write('relaxed', { counter: 'ticket keys' }, async (tx) => {
        await tx.ticketKeys.dropBefore(period - 1)
        return [await this.#shared(tx, period), await this.#shared(tx, period + 1)] as const
      })
      this.#keys.set(period, keys[0]).set(period + 1, keys[1])
      this.#period = Number.NaN
    } catch (error) {
      log.warn('the keys of session tickets could not be read', { error })
    }
    this.#isRefreshing = false
  }

  /** The stored key of a period; a new one when it is missing or was encrypted with another secret. */
  async #shared(tx: WriteTransaction, period: number): Promise<Buffer> {
    const { secretBox } = this.parts
    const context = `session tickets ${period}`
    const row = await tx.ticketKeys.find(period)
    const opened = row && secretBox.decrypt(row.key, context)
    if (opened !== undefined) return Buffer.from(opened, 'base64')
    const key = randomBytes(KEY_BYTES)
    await tx.rows.put('ticket_keys', { period, key: secretBox.encrypt(key.toString('base64'), context) })
    return key
  }

  #enter(period: number): void {
    this.#period = period
    this.#generation++
    for (const known of this.#keys.keys()) if (known < period || known > period + 1) this.#keys.delete(known)
    if (!this.#keys.has(period)) this.#keys.set(period, randomBytes(KEY_BYTES))
    // A private key is valid only until the store has responded.
    if (!this.#keys.has(period + 1)) this.#nextAttempt = Number.NEGATIVE_INFINITY
  }

  #periodNow(): number {
    return Math.floor(this.parts.clock() / PERIOD_MS)
  }
}
