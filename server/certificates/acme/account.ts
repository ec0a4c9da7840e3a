import type { Log } from '../../lib/log.ts'
import type { SecretBox } from '../../lib/secret-box.ts'
import type { Store } from '../../store/store.ts'
import { AcmeError } from './acme.ts'
import { newKey } from './certificate-request.ts'
import type { Deadline } from './deadline.ts'
import type { DirectoryCache } from './directory.ts'
import { parseObject } from './json.ts'
import { AccountKey, createExternalBinding, type Signer } from './jws.ts'
import { toAcmeError } from './problem.ts'
import type { SignedRequests } from './signed-requests.ts'
import { type HttpResponse, requireLocation } from './transport.ts'

export interface AcmeAccountOptions {
  store: Store
  seal: SecretBox
  /** URL of the CA's directory, the key of the account row. */
  directory: string
  /** Contact address for the CA; may be empty. */
  email: string
  eab?: { keyId: string; hmacKey: string } | undefined
  clock: () => number
  log: Log
}

const EAB_SETTINGS = 'SLIPWAY_ACME_EAB_KEY_ID and SLIPWAY_ACME_EAB_HMAC_KEY'

/**
 * The ACME account of this service at one CA, shared by all nodes. Its key is stored before it is registered,
 * so that any node finds the same account again (RFC 8555, 7.3.1). A key that cannot be decrypted is an error
 * and never creates a second account: an operator must delete its row.
 */
export class AcmeAccount {
  readonly #options: AcmeAccountOptions
  readonly #directories: DirectoryCache
  readonly #signedRequests: SignedRequests
  #account: Promise<Required<Signer>> | undefined

  constructor(
    options: AcmeAccountOptions,
    { directories, posts }: { directories: DirectoryCache; posts: SignedRequests },
  ) {
    this.#options = options
    this.#directories = directories
    this.#signedRequests = posts
  }

  /** Registers the account if it does not exist yet. */
  open(deadline: Deadline): Promise<Required<Signer>> {
    if (this.#account) return this.#account
    const opened = this.#open(deadline)
    this.#account = opened
    opened.catch(() => {
      if (this.#account === opened) this.#account = undefined
    })
    return opened
  }

  /** The CA does not know the account at this URL: it is registered again with the same key. */
  async invalidate(url: string): Promise<void> {
    const { store, directory } = this.#options
    this.#account = undefined
    await store.write('durable', async ({ acme }) => {
      const row = await acme.account(directory)
      if (row?.url === url) await acme.setAccountUrl(directory, null)
    })
  }

  async #open(deadline: Deadline): Promise<Required<Signer>> {
    const { store, directory, log } = this.#options
    const row = (await store.read.acme.account(directory)) ?? (await this.#loadOrCreate())
    const key = this.#decryptKey(row.key)
    if (row.url !== null) return { key, kid: row.url }
    const kid = await this.#register(key, deadline)
    await store.write('durable', ({ acme }) => acme.setAccountUrl(directory, kid))
    log.info('ACME account registered', { directory, account: kid })
    return { key, kid }
  }

  async #loadOrCreate(): Promise<{ key: string; url: string | null }> {
    const { store, seal, directory, clock } = this.#options
    const key = seal.encrypt(newKey(), accountAad(directory))
    return store.write('durable', async ({ acme }) => {
      await acme.putAccount({ directory, key, url: null, created_at: clock() })
      return (await acme.account(directory))!
    })
  }

  #decryptKey(sealed: string): AccountKey {
    const { seal, directory } = this.#options
    const key = seal.decrypt(sealed, accountAad(directory))
    if (key !== undefined) return new AccountKey(key)
    const sentence = `The key of the account at ${directory} cannot be opened: SLIPWAY_SECRET is not the one it was kept with`
    throw new AcmeError('refused', sentence)
  }

  /** RFC 8555, 7.3: returns the URL of the key's account, which may exist already. */
  async #register(key: AccountKey, deadline: Deadline): Promise<string> {
    const { newAccount: url, externalAccountRequired } = await this.#directories.get(deadline)
    const { email, eab, clock } = this.#options
    if (externalAccountRequired && !eab) throw missingEab()
    const payload = {
      termsOfServiceAgreed: true,
      ...(email ? { contact: [`mailto:${email}`] } : {}),
      ...(eab ? { externalAccountBinding: createExternalBinding(key, { ...eab, url }) } : {}),
    }
    const reply = await this.#signedRequests.send({ key }, { url, payload }, deadline)
    if (reply.status === 200 || reply.status === 201) return accountUrl(reply)
    const failure = toAcmeError(reply, 'open an account', clock())
    throw failure.type === 'externalAccountRequired' ? missingEab(failure) : failure
  }
}

function accountAad(directory: string): string {
  return `acme account ${directory}`
}

function accountUrl(reply: HttpResponse): string {
  const address = requireLocation(reply, 'the account')
  const { status } = parseObject(reply)
  if (status === undefined || status === 'valid') return address
  throw new AcmeError('refused', `The account at the certificate authority is ${String(status).slice(0, 40)}`)
}

function missingEab(cause?: AcmeError): AcmeError {
  const sentence = `The certificate authority wants an account that was made elsewhere: set ${EAB_SETTINGS}`
  return new AcmeError('refused', sentence, { type: 'externalAccountRequired', cause })
}
