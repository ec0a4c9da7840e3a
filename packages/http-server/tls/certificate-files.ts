import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { createSecureContext } from 'node:tls'
import type { Log } from '../log.ts'

export interface KeyPair {
  chain: string
  key: string
}

/** Milliseconds since 1970. */
export type Validity = ReturnType<typeof readValidity>

interface CertificateFilesOptions {
  certFile: string
  keyFile: string
  /** A host that the certificate must cover, and its name for error messages. */
  covering: { host: string; name: string }
  log: Log
  onChange: () => void
}

const POLL_INTERVAL_MS = 10_000

const MAX_CACHED_NAMES = 10_000

/** The operator's certificate and key. When the changed files are invalid, the previous ones stay in use. */
export class CertificateFiles implements Disposable {
  readonly #options: CertificateFilesOptions
  readonly #timer: NodeJS.Timeout
  #stamp: string
  #lastError = ''
  readonly #coversCache = new Map<string, boolean>()
  #pair: KeyPair
  #leaf: X509Certificate
  /** The getters of the leaf parse its dates each time. */
  #validity: Validity

  /** Throws an error that names the file when it cannot be used. */
  constructor(options: CertificateFilesOptions) {
    this.#options = options
    this.#stamp = this.#readStamp()
    const { pair, leaf } = this.#read()
    this.#pair = pair
    this.#leaf = leaf
    this.#validity = readValidity(leaf)
    this.#timer = setInterval(() => this.reloadIfChanged(), POLL_INTERVAL_MS).unref()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  get pair(): KeyPair {
    return this.#pair
  }

  get validity(): Validity {
    return this.#validity
  }

  /** Also an IP address, as the host of a URL. */
  covers(name: string): boolean {
    const known = this.#coversCache.get(name)
    if (known !== undefined) return known
    const address = name.replace(/^\[(.*)\]$/, '$1')
    const covered =
      isIP(address) === 0
        ? this.#leaf.checkHost(name, { subject: 'never' }) !== undefined
        : this.#leaf.checkIP(address) !== undefined
    if (this.#coversCache.size >= MAX_CACHED_NAMES) this.#coversCache.clear()
    this.#coversCache.set(name, covered)
    return covered
  }

  reloadIfChanged(): void {
    try {
      const stamp = this.#readStamp()
      if (stamp !== this.#stamp) this.#reload(stamp)
      this.#lastError = ''
    } catch (error) {
      const { message } = error as Error
      if (message === this.#lastError) return
      this.#lastError = message
      this.#options.log.error('certificate files changed but are invalid; keeping the previous ones', {
        error,
      })
    }
  }

  #reload(stamp: string): void {
    const { log, onChange } = this.#options
    const { pair, leaf } = this.#read()
    this.#stamp = stamp
    this.#pair = pair
    this.#leaf = leaf
    this.#validity = readValidity(leaf)
    this.#coversCache.clear()
    log.info('certificate files reloaded', { until: leaf.validTo })
    onChange()
  }

  #readStamp(): string {
    return [this.#options.certFile, this.#options.keyFile]
      .map((file) => {
        const { mtimeMs, size, ino } = statSync(file)
        return `${mtimeMs} ${size} ${ino}`
      })
      .join(', ')
  }

  #read(): { pair: KeyPair; leaf: X509Certificate } {
    const { certFile, keyFile, covering } = this.#options
    const pair = { chain: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') }
    const leaf = parse(certFile, 'a certificate', () => new X509Certificate(pair.chain))
    const key = parse(keyFile, 'a private key', () => createPrivateKey(pair.key))
    if (!leaf.checkPrivateKey(key))
      throw new Error(`the key in ${keyFile} is not that of the certificate in ${certFile}`)
    if (leaf.checkHost(covering.host, { subject: 'never' }) === undefined)
      throw new Error(`the certificate in ${certFile} is not for ${covering.name}`)
    // X509Certificate reads only the leaf.
    parse(certFile, 'only valid certificates', () => createSecureContext({ cert: pair.chain, key: pair.key }))
    return { pair, leaf }
  }
}

function readValidity({ validFromDate, validToDate }: X509Certificate) {
  return { notBefore: validFromDate.getTime(), notAfter: validToDate.getTime() }
}

function parse<T>(file: string, content: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw new Error(`${file} does not contain ${content} in PEM`, { cause })
  }
}
