import type { SecretBox } from '../lib/secret-box.ts'
import type { Store } from '../store/store.ts'
import { accountKeyContext, certificateKeyContext, orderKeyContext } from './key-contexts.ts'

const NAMES_PER_READ = 100

/**
 * Encrypts the keys of certificates, orders and accounts with the current secret, where another accepted one encrypted
 * them; returns their number. UndecryptableError for a key that none of them decrypts. Keys of session tickets end within two days.
 */
export async function reencryptKeys(store: Store, secretBox: SecretBox): Promise<number> {
  let count = 0
  for (const directory of await store.read.acme.directories())
    count += await reencryptAccount(store, secretBox, directory)
  for (let after = ''; ; ) {
    const names = await store.read.certificates.names(after, NAMES_PER_READ)
    for (const name of names) count += await reencryptCertificate(store, secretBox, name)
    if (names.length < NAMES_PER_READ) return count
    after = names.at(-1)!
  }
}

function reencryptAccount(store: Store, secretBox: SecretBox, directory: string): Promise<number> {
  return store.write('durable', { authority: directory }, async ({ acme }) => {
    const account = await acme.account(directory)
    const key = account && secretBox.reencrypt(account.key, accountKeyContext(directory))
    if (key === undefined) return 0
    await acme.setAccountKey(directory, key)
    return 1
  })
}

function reencryptCertificate(store: Store, secretBox: SecretBox, name: string): Promise<number> {
  return store.write('durable', { host: name }, async ({ certificates }) => {
    const certificate = await certificates.find(name)
    const reencrypt = (sealed: string | null | undefined, aad: string) =>
      sealed ? secretBox.reencrypt(sealed, aad) : undefined
    const key = reencrypt(certificate?.key, certificateKeyContext(name))
    const orderKey = reencrypt(certificate?.orderKey, orderKeyContext(name))
    const change = { ...(key && { key }), ...(orderKey && { orderKey }) }
    if (Object.keys(change).length > 0) await certificates.update(name, change)
    return Object.keys(change).length
  })
}
