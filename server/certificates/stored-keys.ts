import { generateKey } from '../../packages/acme-client/jws.ts'
import { listPages } from '../lib/list-pages.ts'
import { type SecretBox, UndecryptableError } from '../lib/secret-box.ts'
import type { Parts } from '../parts.ts'
import { emptyCertificate } from '../store/tables/certificates.ts'

// What each encrypted key is bound to, so that one row's key cannot stand in for another's (`SecretBox`).

export function certificateKeyContext(name: string): string {
  return `certificate ${name}`
}

export function orderKeyContext(name: string): string {
  return `order ${name}`
}

export function accountKeyContext(directory: string): string {
  return `acme account ${directory}`
}

const NAMES_PER_READ = 100

export interface ReencryptOptions extends Pick<Parts, 'store' | 'clock'> {
  secretBox: SecretBox
  /** Discards keys that no accepted secret decrypts, in place of an error. */
  discardsLostKeys?: boolean | undefined
}

export type ReencryptedKeys = Awaited<ReturnType<typeof reencryptKeys>>

/**
 * Uses the current secret where another accepted one encrypted the key. UndecryptableError for a key that none of them
 * decrypts, unless those are discarded: then the CA gets a new account, and the certificate is due. Keys of session
 * tickets end within two days.
 */
export async function reencryptKeys(options: ReencryptOptions) {
  const replaced: Replacement[] = []
  const { read } = options.store
  for (const directory of await read.acme.directories())
    replaced.push(await reencryptAccount(options, directory))
  for await (const names of listPages('', (after) => read.certificates.names(after, NAMES_PER_READ)))
    for (const name of names) replaced.push(...(await reencryptCertificate(options, name)))
  return {
    encrypted: replaced.filter((key) => typeof key === 'string').length,
    discarded: replaced.filter((key) => key === null).length,
  }
}

/** What replaces an encrypted key: nothing, the key encrypted again, or null for one that is discarded. */
type Replacement = string | null | undefined

function replace(
  { secretBox, discardsLostKeys }: ReencryptOptions,
  sealed: string | null | undefined,
  context: string,
): Replacement {
  try {
    return sealed ? secretBox.reencrypt(sealed, context) : undefined
  } catch (error) {
    if (discardsLostKeys && error instanceof UndecryptableError) return null
    throw error
  }
}

function reencryptAccount(options: ReencryptOptions, directory: string): Promise<Replacement> {
  const { store, secretBox } = options
  return store.write('durable', { authority: directory }, async ({ acme }) => {
    const context = accountKeyContext(directory)
    const key = replace(options, (await acme.account(directory))?.key, context)
    if (key === null) await acme.updateAccount(directory, { url: null })
    if (key !== undefined)
      await acme.updateAccount(directory, { key: key ?? secretBox.encrypt(generateKey(), context) })
    return key
  })
}

function reencryptCertificate(options: ReencryptOptions, name: string): Promise<Replacement[]> {
  const { store, clock } = options
  return store.write('durable', { host: name }, async ({ certificates }) => {
    const certificate = await certificates.find(name)
    if (!certificate) return []
    const key = replace(options, certificate.key, certificateKeyContext(name))
    const orderKey = replace(options, certificate.orderKey, orderKeyContext(name))
    const { challengeType, unusedSince } = certificate
    const dueAt = unusedSince === null ? clock() : null
    const change = {
      ...(orderKey === null && { orderUrl: null, dueAt }),
      ...(orderKey !== undefined && { orderKey }),
      ...(key === null && { ...emptyCertificate(name), challengeType, unusedSince, dueAt }),
      ...(typeof key === 'string' && { key }),
    }
    if (Object.keys(change).length > 0) await certificates.update(name, change)
    return [key, orderKey]
  })
}
