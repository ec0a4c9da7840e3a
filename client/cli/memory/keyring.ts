import { readPrivate, writePrivate } from './private-file.ts'

interface Remembered {
  /** Where `slipway login` was used last. */
  server?: string
  keys?: Record<string, { key: string; email: string }>
}

/** The keys that `slipway login` received, each for its own server. */
export class Keyring {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /** The server of the last sign-in. */
  get server(): string | undefined {
    return this.#read().server
  }

  keyFor(server: string): string | undefined {
    return own(this.#read().keys, server)?.key
  }

  emailFor(server: string): string | undefined {
    return own(this.#read().keys, server)?.email
  }

  remember(server: string, key: string, email: string): void {
    const { keys } = this.#read()
    writePrivate(this.#file, { server, keys: { ...keys, [server]: { key, email } } })
  }

  /** Forgets the key for a server and says whether there was one. The server stays the usual one. */
  forget(server: string): boolean {
    const remembered = this.#read()
    const { [server]: key, ...keys } = remembered.keys ?? {}
    if (!key) return false
    writePrivate(this.#file, { ...remembered, keys })
    return true
  }

  #read(): Remembered {
    return (readPrivate(this.#file) ?? {}) as Remembered
  }
}

function own<T>(table: Record<string, T> | undefined, name: string): T | undefined {
  return table && Object.hasOwn(table, name) ? table[name] : undefined
}
