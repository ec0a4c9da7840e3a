import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { changePrivate, invalidFile, isUnwritable, readPrivate, writePrivate } from './private-file.ts'

interface StoredKey {
  key: string
  email: string
  /** The name of the key on the server; absent for the account's key without a name. */
  name?: string | undefined
}

interface StoredKeys {
  /** The server of the last `slipway login`. */
  server?: string
  keys?: Record<string, StoredKey>
  /** Sign-ins in two steps that wait for their code. */
  attempts?: Record<string, { email: string; attempt: string }>
  /** Servers that the user has published to or confirmed. */
  servers?: string[]
  /** Key of the seals of sites. */
  sealKey?: string
}

/** Keys received by `slipway login`, by server, and the servers that the user has used. */
export class CredentialStore {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /** The server of the last sign-in. */
  get server(): string | undefined {
    return this.#read().server
  }

  /** Whether the user has signed in there, published there or confirmed the server. */
  knows(server: string): boolean {
    const { server: last, keys, servers = [] } = this.#read()
    return server === last || ownProperty(keys, server) !== undefined || servers.includes(server)
  }

  /** Stores that the user has used a server. */
  addServer(server: string): void {
    if (this.knows(server)) return
    this.#change(({ servers = [], ...stored }) => ({ ...stored, servers: [...servers, server] }))
  }

  /**
   * A proof that this user has used a site of a server: the state of a folder, which a stranger may have written, keeps it
   * beside the name of the site.
   */
  sealOf(server: string, slug: string): string {
    const fresh = () => this.#change((stored) => ({ sealKey: randomBytes(32).toString('hex'), ...stored }))
    return sealWith(this.#read().sealKey ?? fresh().sealKey!, server, slug)
  }

  /** Tells whether `sealOf` made a seal, on this machine or another one of the user with the same file. */
  sealCheck(): (server: string, slug: string, seal: string | undefined) => boolean {
    const { sealKey } = this.#read()
    return (server, slug, seal) => {
      if (sealKey === undefined || seal === undefined) return false
      const [expected, given] = [Buffer.from(sealWith(sealKey, server, slug)), Buffer.from(seal)]
      return expected.length === given.length && timingSafeEqual(expected, given)
    }
  }

  keyFor(server: string): string | undefined {
    return ownProperty(this.#read().keys, server)?.key
  }

  /** The key for a server if it was made for this machine. */
  namedKeyFor(server: string): string | undefined {
    const stored = ownProperty(this.#read().keys, server)
    return stored?.name === undefined ? undefined : stored.key
  }

  /** Throws where no key can be stored: one that is made would be lost, and end the one before. */
  assertWritable(): void {
    this.#change((stored) => stored)
  }

  remember(server: string, stored: StoredKey): void {
    this.#change(({ keys, attempts, ...rest }) => {
      const { [server]: _, ...others } = attempts ?? {}
      const waiting = Object.keys(others).length > 0 ? { attempts: others } : {}
      return { ...rest, server, keys: { ...keys, [server]: stored }, ...waiting }
    })
  }

  /** The attempt of the last code that was requested here for this address. */
  attemptFor(server: string, email: string): string | undefined {
    const waiting = ownProperty(this.#read().attempts, server)
    return waiting?.email === email ? waiting.attempt : undefined
  }

  /** A code is verified without it where nothing can be stored. */
  rememberAttempt(server: string, email: string, attempt: string): void {
    try {
      this.#change((stored) => ({
        ...stored,
        attempts: { ...stored.attempts, [server]: { email, attempt } },
      }))
    } catch (error) {
      if (!isUnwritable(error)) throw error
    }
  }

  /** Deletes the key of a server; returns whether there was one. The server stays the default. */
  forget(server: string): boolean {
    if (this.keyFor(server) === undefined) return false
    this.#change(({ keys, ...stored }) => {
      const { [server]: _, ...others } = keys ?? {}
      return { ...stored, keys: others }
    })
    return true
  }

  #change(change: (stored: StoredKeys) => StoredKeys): StoredKeys {
    return changePrivate(this.#file, () => {
      const changed = change(this.#read())
      writePrivate(this.#file, changed)
      return changed
    })
  }

  #read(): StoredKeys {
    const stored = readPrivate(this.#file) ?? {}
    if (!isStoredKeys(stored)) throw invalidFile(this.#file, 'has values of other types')
    return stored
  }
}

function isStoredKeys(value: unknown): value is StoredKeys {
  if (!isTable(value)) return false
  const { server, sealKey, servers = [], keys = {}, attempts = {} } = value
  return (
    [server, sealKey].every((one) => one === undefined || typeof one === 'string') &&
    Array.isArray(servers) &&
    [keys, attempts].every((table) => isTable(table) && Object.values(table).every(isTable))
  )
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function sealWith(key: string, server: string, slug: string): string {
  return createHmac('sha256', key)
    .update(JSON.stringify([server, slug]))
    .digest('hex')
}

function ownProperty<T>(table: Record<string, T> | undefined, name: string): T | undefined {
  return table && Object.hasOwn(table, name) ? table[name] : undefined
}
