import { rateLimitSubnet } from './client-ip.ts'

interface ClientMemoryOptions {
  totalBytes: number
  perNetworkBytes: number
}

interface Holder {
  bytes: number
  /** Reservations that can be evicted, the one that has been held longest first. */
  readonly evictable: Set<MemoryReservation>
}

/**
 * Part of each limit for reservations that cannot be evicted. They are refused with a response; the rest is for open
 * connections, which beyond a limit can only be closed.
 */
const REFUSABLE = 7 / 8

/** Bounds the memory that the process holds for its clients, in total and for each network. */
export class ClientMemory {
  readonly #totalBytes: number
  readonly #perNetworkBytes: number
  readonly #holders = new Map<string, Holder>()
  #heldBytes = 0
  /** No network with evictable bytes has more. Without it, each refusal would look at all of them. */
  #mostBytes = 0
  evicted = 0

  constructor({ totalBytes, perNetworkBytes }: ClientMemoryOptions) {
    this.#totalBytes = totalBytes
    this.#perNetworkBytes = perNetworkBytes
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /**
   * An empty reservation for a client at this address. Dispose it to release what it holds. With `evict` it may be
   * taken away while it is in use: `evict` is called once it is empty, and must free the memory.
   */
  reserve(address: string, evict?: () => void): MemoryReservation {
    const key = rateLimitSubnet(address)
    const reservation: MemoryReservation = new MemoryReservation({
      add: (bytes) => this.#add(key, bytes, reservation),
      makeRoom: (bytes) => this.#makeRoom(key, bytes, reservation),
      evict,
    })
    return reservation
  }

  /** Adds `bytes`, which may be negative. Returns false and changes nothing when a limit would be exceeded. */
  #add(key: string, bytes: number, reservation: MemoryReservation): boolean {
    if (bytes > 0 && this.#limitFor(key, bytes, reservation) !== undefined) return false
    const holder = this.#holders.get(key) ?? { bytes: 0, evictable: new Set() }
    holder.bytes += bytes
    this.#heldBytes += bytes
    if (holder.bytes > 0) this.#holders.set(key, holder)
    else this.#holders.delete(key)
    if (reservation.bytes + bytes === 0) holder.evictable.delete(reservation)
    else if (reservation.isEvictable) holder.evictable.add(reservation)
    if (holder.evictable.size > 0) this.#mostBytes = Math.max(this.#mostBytes, holder.bytes)
    return true
  }

  #limitFor(key: string, bytes: number, { isEvictable }: MemoryReservation): 'network' | 'total' | undefined {
    const part = isEvictable ? 1 : REFUSABLE
    if ((this.#holders.get(key)?.bytes ?? 0) + bytes > part * this.#perNetworkBytes) return 'network'
    return this.#heldBytes + bytes > part * this.#totalBytes ? 'total' : undefined
  }

  /** Evicts from the network if its share is used up, else from the one that holds most; false if too little. */
  #makeRoom(key: string, bytes: number, reservation: MemoryReservation): boolean {
    for (;;) {
      const limit = this.#limitFor(key, bytes, reservation)
      if (limit === undefined) return true
      const holder = limit === 'network' ? this.#holders.get(key) : this.#largestHolder(key, bytes)
      const victim = holder?.evictable.values().find((candidate) => candidate !== reservation)
      if (!victim) return false
      this.evicted++
      victim.evict()
    }
  }

  /** The network with the most evictable bytes, if it holds more than the requesting one would. */
  #largestHolder(key: string, bytes: number): Holder | undefined {
    const asking = this.#holders.get(key)
    const wanted = (asking?.bytes ?? 0) + bytes
    if (this.#mostBytes <= wanted) return asking
    let largest = asking
    let most = 0
    for (const holder of this.#holders.values()) {
      if (holder.bytes <= most || holder.evictable.size === 0) continue
      most = holder.bytes
      if (most > wanted) largest = holder
    }
    this.#mostBytes = most
    return largest
  }
}

interface Account {
  add: (bytes: number) => boolean
  makeRoom: (bytes: number) => boolean
  evict: (() => void) | undefined
}

export class MemoryReservation implements Disposable {
  readonly #account: Account
  #bytes = 0
  #isDisposed = false

  constructor(account: Account) {
    this.#account = account
  }

  get bytes(): number {
    return this.#bytes
  }

  get isEvictable(): boolean {
    return this.#account.evict !== undefined
  }

  /** Returns false and changes nothing when it would grow beyond a limit; shrinking succeeds. */
  resize(bytes: number): boolean {
    if (bytes === this.#bytes) return true
    if (this.#isDisposed) return false
    if (!this.#account.add(bytes - this.#bytes)) return false
    this.#bytes = bytes
    return true
  }

  /** Like `resize`, but evicts the oldest evictable reservations at a limit. False when that is not enough. */
  require(bytes: number): boolean {
    if (this.resize(bytes)) return true
    return !this.#isDisposed && this.#account.makeRoom(bytes - this.#bytes) && this.resize(bytes)
  }

  evict(): void {
    this.resize(0)
    this.#account.evict?.()
  }

  /** Idempotent. It also refuses the later reservations of work that continues after its client disconnected. */
  [Symbol.dispose](): void {
    this.resize(0)
    this.#isDisposed = true
  }
}
