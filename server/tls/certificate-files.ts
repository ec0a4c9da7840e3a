import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { Log } from '../log.ts'

/** A chain and its key, PEM. */
export interface KeyPair {
  chain: string
  key: string
}

interface CertificateFilesOptions {
  certFile: string
  keyFile: string
  /** A host that the certificate has to be for, and what to call it. */
  covering: { host: string; name: string }
  log: Log
  /** Called when other files have taken their place. */
  onChange: () => void
}

/** Milliseconds between two looks at the files. */
const LOOK = 10_000

const MOST_COVERED = 10_000

/**
 * The certificate that the operator keeps in two files. They are read again when they change; while the new ones cannot
 * be used, the old ones are.
 */
export class CertificateFiles implements Disposable {
  readonly #options: CertificateFilesOptions
  readonly #timer: NodeJS.Timeout
  #stamp: string
  #complained = ''
  /** Names that were asked for, so that each handshake need not read the certificate again. */
  readonly #covered = new Map<string, boolean>()
  #pair: KeyPair
  #leaf: X509Certificate

  /** Throws an error that names the file when they cannot be used. */
  constructor(options: CertificateFilesOptions) {
    this.#options = options
    this.#stamp = this.#stampNow()
    const { pair, leaf } = this.#read()
    this.#pair = pair
    this.#leaf = leaf
    this.#timer = setInterval(() => this.look(), LOOK).unref()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  get pair(): KeyPair {
    return this.#pair
  }

  covers(name: string): boolean {
    const known = this.#covered.get(name)
    if (known !== undefined) return known
    const covered = this.#leaf.checkHost(name, { subject: 'never' }) !== undefined
    if (this.#covered.size >= MOST_COVERED) this.#covered.clear()
    this.#covered.set(name, covered)
    return covered
  }

  /** Reads the files again if they changed. */
  look(): void {
    const { log, onChange } = this.#options
    try {
      const stamp = this.#stampNow()
      if (stamp === this.#stamp) return
      const { pair, leaf } = this.#read()
      this.#stamp = stamp
      this.#pair = pair
      this.#leaf = leaf
      this.#covered.clear()
      log.info('the certificate files were read again', { until: leaf.validTo })
      onChange()
    } catch (error) {
      const { message } = error as Error
      if (message === this.#complained) return
      this.#complained = message
      log.error('the certificate files changed and cannot be used; the ones before still are', { error })
    }
  }

  #stampNow(): string {
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
    const leaf = new X509Certificate(pair.chain)
    if (!leaf.checkPrivateKey(createPrivateKey(pair.key)))
      throw new Error(`the key in ${keyFile} is not that of the certificate in ${certFile}`)
    if (leaf.checkHost(covering.host, { subject: 'never' }) === undefined)
      throw new Error(`the certificate in ${certFile} is not for ${covering.name}`)
    return { pair, leaf }
  }
}
