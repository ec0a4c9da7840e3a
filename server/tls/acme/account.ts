import type { Log } from '../../log.ts'
import type { Store } from '../../store/store.ts'
import type { Seal } from '../seal.ts'
import { AcmeFailure } from './acme.ts'
import { newKey } from './certificate-request.ts'
import type { Directories } from './directory.ts'
import { objectOf } from './json.ts'
import { AccountKey, externalBinding, type Signer } from './jws.ts'
import type { Patience } from './patience.ts'
import type { Posts } from './posts.ts'
import { failureOf } from './problem.ts'
import { locationOf, type Reply } from './transport.ts'

export interface AccountOptions {
  store: Store
  seal: Seal
  /** Address of the directory: what the account is kept by. */
  directory: string
  /** Where the CA may write to; may be empty. */
  email: string
  eab?: { keyId: string; hmacKey: string } | undefined
  clock: () => number
  log: Log
}

const EAB_SETTINGS = 'SLIPWAY_ACME_EAB_KEY_ID and SLIPWAY_ACME_EAB_HMAC_KEY'

/**
 * The account of this service at a CA, the same for all nodes. Its key is kept before the CA hears of it, so that whoever
 * comes later finds the same account again (RFC 8555, 7.3.1). A key that cannot be unsealed is a failure, never a
 * reason for a second account: its row has to be deleted by hand for that.
 */
export class Account {
  readonly #options: AccountOptions
  readonly #directories: Directories
  readonly #posts: Posts
  #opened: Promise<Required<Signer>> | undefined

  constructor(options: AccountOptions, { directories, posts }: { directories: Directories; posts: Posts }) {
    this.#options = options
    this.#directories = directories
    this.#posts = posts
  }

  /** Opens it when there is none yet. */
  open(patience: Patience): Promise<Required<Signer>> {
    if (this.#opened) return this.#opened
    const opened = this.#open(patience)
    this.#opened = opened
    opened.catch(() => {
      if (this.#opened === opened) this.#opened = undefined
    })
    return opened
  }

  /** The CA does not know the account of that address: it is opened again, with the same key. */
  async forget(url: string): Promise<void> {
    const { store, directory } = this.#options
    this.#opened = undefined
    await store.write('durable', async ({ authorities }) => {
      const row = await authorities.account(directory)
      if (row?.url === url) await authorities.setAccountUrl(directory, null)
    })
  }

  async #open(patience: Patience): Promise<Required<Signer>> {
    const { store, directory, log } = this.#options
    const row = (await store.read.authorities.account(directory)) ?? (await this.#begin())
    const key = this.#unsealed(row.key)
    if (row.url !== null) return { key, kid: row.url }
    const kid = await this.#register(key, patience)
    await store.write('durable', ({ authorities }) => authorities.setAccountUrl(directory, kid))
    log.info('the account at the certificate authority is open', { directory, account: kid })
    return { key, kid }
  }

  async #begin(): Promise<{ key: string; url: string | null }> {
    const { store, seal, directory, clock } = this.#options
    const key = seal.seal(newKey(), about(directory))
    return store.write('durable', async ({ authorities }) => {
      await authorities.keepAccount({ directory, key, url: null, created_at: clock() })
      return (await authorities.account(directory))!
    })
  }

  #unsealed(sealed: string): AccountKey {
    const { seal, directory } = this.#options
    const key = seal.open(sealed, about(directory))
    if (key !== undefined) return new AccountKey(key)
    const sentence = `The key of the account at ${directory} cannot be opened: SLIPWAY_SECRET is not the one it was kept with`
    throw new AcmeFailure('refused', sentence)
  }

  /** RFC 8555, 7.3: the address of the account of that key, which may be there already. */
  async #register(key: AccountKey, patience: Patience): Promise<string> {
    const { newAccount: url, externalAccountRequired } = await this.#directories.get(patience)
    const { email, eab, clock } = this.#options
    if (externalAccountRequired && !eab) throw unbound()
    const payload = {
      termsOfServiceAgreed: true,
      ...(email ? { contact: [`mailto:${email}`] } : {}),
      ...(eab ? { externalAccountBinding: externalBinding(key, { ...eab, url }) } : {}),
    }
    const reply = await this.#posts.send({ key }, { url, payload }, patience)
    if (reply.status === 200 || reply.status === 201) return addressOf(reply)
    const failure = failureOf(reply, 'open an account', clock())
    throw failure.type === 'externalAccountRequired' ? unbound(failure) : failure
  }
}

function about(directory: string): string {
  return `acme account ${directory}`
}

function addressOf(reply: Reply): string {
  const address = locationOf(reply, 'the account')
  const { status } = objectOf(reply)
  if (status === undefined || status === 'valid') return address
  throw new AcmeFailure(
    'refused',
    `The account at the certificate authority is ${String(status).slice(0, 40)}`,
  )
}

function unbound(cause?: AcmeFailure): AcmeFailure {
  const sentence = `The certificate authority wants an account that was made elsewhere: set ${EAB_SETTINGS}`
  return new AcmeFailure('refused', sentence, { type: 'externalAccountRequired', cause })
}
