import { type AcmeAccount, type AcmeAccountStore, AcmeError } from '../../packages/acme-client/acme.ts'
import { Component } from '../lib/component.ts'
import type { SecretBox } from '../lib/secret-box.ts'
import type { Parts } from '../parts.ts'
import { INDEPENDENT } from '../store/store.ts'
import { accountKeyContext } from './stored-keys.ts'

type StoredAcmeAccountParts = Pick<Parts, 'store' | 'clock'> & {
  secretBox: SecretBox
  directory: string
}

/** In the database of all nodes. The key is encrypted; an operator must discard one of a lost secret. */
export class StoredAcmeAccount extends Component<StoredAcmeAccountParts> implements AcmeAccountStore {
  async find(): Promise<AcmeAccount | undefined> {
    const { store, directory } = this.parts
    const stored = await store.read.acme.account(directory)
    return stored && this.#decrypted(stored)
  }

  async findUrl(): Promise<string | undefined> {
    const { store, directory } = this.parts
    return (await store.read.acme.account(directory))?.url ?? undefined
  }

  async findOrCreate(plain: string): Promise<AcmeAccount> {
    const { store, secretBox, directory, clock } = this.parts
    const key = secretBox.encrypt(plain, accountKeyContext(directory))
    const stored = await store.write('durable', { authority: directory }, ({ acme }) =>
      acme.getOrCreateAccount({ directory, key, url: null, createdAt: clock() }),
    )
    return this.#decrypted(stored)
  }

  async setUrl(url: string): Promise<void> {
    const { store, directory } = this.parts
    await store.write('durable', INDEPENDENT, ({ acme }) => acme.updateAccount(directory, { url }))
  }

  async forgetUrl(url: string): Promise<void> {
    const { store, directory } = this.parts
    await store.write('durable', { authority: directory }, async ({ acme }) => {
      const account = await acme.account(directory)
      if (account?.url === url) await acme.updateAccount(directory, { url: null })
    })
  }

  #decrypted({ key: encrypted, url }: AcmeAccount): AcmeAccount {
    const { secretBox, directory } = this.parts
    const key = secretBox.decrypt(encrypted, accountKeyContext(directory))
    if (key !== undefined) return { key, url }
    const sentence = `Cannot decrypt the key of the account at ${directory}: SLIPWAY_SECRET differs from the one that encrypted it`
    throw new AcmeError('rejected', sentence)
  }
}
