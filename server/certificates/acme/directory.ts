import { isWithin } from '../../lib/time.ts'
import type { Deadline } from './deadline.ts'
import { type Json, parseObject, readString } from './json.ts'
import { toAcmeError } from './problem.ts'
import type { AcmeTransport } from './transport.ts'

/** The resources of a CA (RFC 8555, 7.1.1). */
export interface AcmeDirectory {
  newNonce: string
  newAccount: string
  newOrder: string
  /** RFC 9773, 4. */
  renewalInfo: string | undefined
  /** Names of its profiles; undefined when it has none. */
  profiles: readonly string[] | undefined
  externalAccountRequired: boolean
}

/** Time to live of the cached directory, in milliseconds. */
const DIRECTORY_TTL_MS = 10 * 60_000

/** Caches the directory of a CA; reloads it periodically and after `invalidate`. */
export class DirectoryCache {
  readonly #options: { url: string; transport: AcmeTransport; clock: () => number }
  #read: { at: number; directory: Promise<AcmeDirectory> } | undefined

  constructor(options: { url: string; transport: AcmeTransport; clock: () => number }) {
    this.#options = options
  }

  get(deadline: Deadline): Promise<AcmeDirectory> {
    const now = this.#options.clock()
    if (this.#read && isWithin(DIRECTORY_TTL_MS, this.#read.at, now)) return this.#read.directory
    const read = { at: now, directory: this.#fetch(deadline) }
    this.#read = read
    read.directory.catch(() => {
      if (this.#read === read) this.invalidate()
    })
    return read.directory
  }

  invalidate(): void {
    this.#read = undefined
  }

  async #fetch(deadline: Deadline): Promise<AcmeDirectory> {
    const { url, transport, clock } = this.#options
    const reply = await transport.request({ method: 'GET', url }, deadline)
    if (reply.status !== 200) throw toAcmeError(reply, 'show its directory', clock())
    return parseDirectory(parseObject(reply))
  }
}

function parseDirectory(object: Json): AcmeDirectory {
  const meta = (object.meta ?? {}) as Json
  const { profiles } = meta
  const hasProfiles = typeof profiles === 'object' && profiles !== null && Object.keys(profiles).length > 0
  return {
    newNonce: readString(object, 'newNonce'),
    newAccount: readString(object, 'newAccount'),
    newOrder: readString(object, 'newOrder'),
    renewalInfo: typeof object.renewalInfo === 'string' ? object.renewalInfo : undefined,
    profiles: hasProfiles ? Object.keys(profiles) : undefined,
    externalAccountRequired: meta.externalAccountRequired === true,
  }
}
