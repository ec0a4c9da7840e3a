import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { attempt } from './attempt.ts'
import { Component } from './component.ts'
import { deriveKeys, type Secrets } from './tokens.ts'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

export class UndecryptableError extends Error {}

/** Encrypts texts for the store: AES-256-GCM under a key derived from the service's secret. */
export class SecretBox extends Component<Secrets> {
  readonly #keys = deriveKeys(this.parts, 'keys in the store')

  /** `aad` is authenticated: decryption with another value fails. */
  encrypt(text: string, aad: string): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#keys[0], nonce)
    cipher.setAAD(Buffer.from(aad))
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64')
  }

  /** The text; undefined when it was encrypted with another secret or `aad`, or was modified. */
  decrypt(sealed: string, aad: string): string | undefined {
    for (const key of this.#keys) {
      const text = decrypt(key, sealed, aad)
      if (text !== undefined) return text
    }
    return undefined
  }

  /** The text encrypted with the current secret; undefined when it is. UndecryptableError with an unknown secret. */
  reencrypt(sealed: string, aad: string): string | undefined {
    if (decrypt(this.#keys[0], sealed, aad) !== undefined) return undefined
    const text = this.decrypt(sealed, aad)
    if (text === undefined) throw new UndecryptableError(`cannot decrypt the key of ${aad}`)
    return this.encrypt(text, aad)
  }
}

function decrypt(key: Buffer, sealed: string, aad: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64')
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(Buffer.from(aad))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  const body = bytes.subarray(NONCE_BYTES, -TAG_BYTES)
  return attempt(() => Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8'))
}
