import { type Json, objectOf, textOf } from './json.ts'
import type { Patience } from './patience.ts'
import { failureOf } from './problem.ts'
import type { Transport } from './transport.ts'

/** What a CA has, and where (RFC 8555, 7.1.1). */
export interface Directory {
  newNonce: string
  newAccount: string
  newOrder: string
  /** RFC 9773, 4. */
  renewalInfo: string | undefined
  /** The names of its profiles; undefined when it has none. */
  profiles: readonly string[] | undefined
  externalAccountRequired: boolean
}

/** Milliseconds for which it is believed. */
const FRESH = 10 * 60_000

/** The directory of a CA, read again from time to time and after `forget`. */
export class Directories {
  readonly #options: { url: string; transport: Transport; clock: () => number }
  #read: { at: number; directory: Promise<Directory> } | undefined

  constructor(options: { url: string; transport: Transport; clock: () => number }) {
    this.#options = options
  }

  get(patience: Patience): Promise<Directory> {
    const now = this.#options.clock()
    const age = now - (this.#read?.at ?? now)
    if (this.#read && age >= 0 && age < FRESH) return this.#read.directory
    const read = { at: now, directory: this.#fetch(patience) }
    this.#read = read
    read.directory.catch(() => {
      if (this.#read === read) this.forget()
    })
    return read.directory
  }

  forget(): void {
    this.#read = undefined
  }

  async #fetch(patience: Patience): Promise<Directory> {
    const { url, transport, clock } = this.#options
    const reply = await transport.ask({ method: 'GET', url }, patience)
    if (reply.status !== 200) throw failureOf(reply, 'show its directory', clock())
    return readDirectory(objectOf(reply))
  }
}

function readDirectory(object: Json): Directory {
  const meta = (object.meta ?? {}) as Json
  const { profiles } = meta
  const hasProfiles = typeof profiles === 'object' && profiles !== null && Object.keys(profiles).length > 0
  return {
    newNonce: textOf(object, 'newNonce'),
    newAccount: textOf(object, 'newAccount'),
    newOrder: textOf(object, 'newOrder'),
    renewalInfo: typeof object.renewalInfo === 'string' ? object.renewalInfo : undefined,
    profiles: hasProfiles ? Object.keys(profiles) : undefined,
    externalAccountRequired: meta.externalAccountRequired === true,
  }
}
