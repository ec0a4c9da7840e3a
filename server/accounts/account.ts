import { randomUUID } from 'node:crypto'
import { rateLimitSubnet, shortenAddress } from '../../packages/http-server/clients/client-ip.ts'
import type {
  Me,
  MeChange,
  MeChangeResponse,
  NewKeyResponse,
  RequestCodeResponse,
  SessionResponse,
  VerifyCodeResponse,
} from '../../protocol/api/account.schema.ts'
import type { SignUpPolicy } from '../../protocol/api/admin/policies.schema.ts'
import type { ServiceBranding } from '../lib/branding.ts'
import { Component } from '../lib/component.ts'
import { ConcurrencyLimiter } from '../lib/concurrency-limiter.ts'
import { ApiError } from '../lib/errors.ts'
import {
  hashToken,
  newApiKey,
  newAttempt,
  newCode,
  newSessionToken,
  parseCode,
  Signer,
} from '../lib/tokens.ts'
import type { Parts } from '../parts.ts'
import { INDEPENDENT, type WriteTransaction } from '../store/store.ts'
import { type Account, emptyAccount } from '../store/tables/accounts.ts'
import { accountHolder } from '../store/tables/usage.ts'
import { assertNotBeingDeleted, FULL_GRANT } from './authorization.ts'
import { readEmail } from './email-address.ts'
import { codeEmail, lockEmail, signUpClosedEmail } from './emails.ts'
import { maySignUp } from './invitations.ts'
import { mintKey, NAMED_KEY_WARNING, readKeyName } from './named-keys.ts'
import { changeSwitches, readSwitches } from './notice-switches.ts'
import { DEFAULT_PLAN } from './plans.ts'
import { endLinksOfEndedKeys } from './review-frames.ts'
import { type Sessions, sessionId } from './session.ts'
import {
  CODE_SECONDS,
  issueCode,
  LOCK_HOURS,
  type Redeemed,
  redeemCode,
  revertCode,
  type SignInCaller,
} from './sign-in-code.ts'

/** Messages with codes in transit: in total, and per requesting network. A mail server may be slow. */
const MAX_CONCURRENT_MESSAGES = { total: 64, perKey: 16 }

const NO_SIGN_UP = 'No account has this email address, and this server does not let it create one'
const KEY_WARNING = 'Save this key now: it is shown only once. Any earlier key no longer works.'
const NEW_NAMED_KEY_WARNING = `${NAMED_KEY_WARNING} An earlier key of the same name no longer works.`

export interface SignInClient {
  address: string
  /** Values of cookies that may identify a browser that signed in before. */
  browserTokens: readonly string[]
  /** Whether a page of the service calls, which keeps the attempt: its codes are valid with the attempt only. */
  isPage?: boolean
}

interface SignIn {
  email: string
  code: string
  /** From the response of `requestCode`; without it the code is compared with the codes that no page requested. */
  attempt?: string | undefined
}

type AccountsParts = Pick<Parts, 'store' | 'mail' | 'baseUrl' | 'secret' | 'clock'> & {
  sessions: Sessions
  signUp: SignUpPolicy
  branding: ServiceBranding
}

/** Spec 4.1, 4.2 and 5, contract "Sign-in". */
export class Accounts extends Component<AccountsParts> {
  readonly #codes = new Signer(this.parts.secret, 'verification codes')
  readonly #sources = new Signer(this.parts.secret, 'sign-in sources')
  readonly #messages = new ConcurrencyLimiter(MAX_CONCURRENT_MESSAGES)

  /** Spec 4.1: the same response for known and unknown addresses. UNAVAILABLE when too many codes are being sent. */
  async requestCode(typed: string, client: SignInClient): Promise<RequestCodeResponse> {
    const email = readEmail(typed)
    return this.#messages.run(rateLimitSubnet(client.address), () => this.#mailCode(email, client))
  }

  /**
   * Spec 4.2: exchanges a code for a new key; the previous key ends. With `keyName` it is a named key: only an earlier
   * key of that name ends. INVALID_CODE for any invalid code, KEY_LIMIT_REACHED beyond the limit of named keys.
   */
  async verifyCode(
    signIn: SignIn & { keyName?: string | undefined },
    client: SignInClient,
  ): Promise<VerifyCodeResponse> {
    let apiKey = newApiKey()
    const name = signIn.keyName === undefined ? undefined : readKeyName(signIn.keyName)
    const { account, isNewUser } = await this.#redeem(signIn, client, async (tx, { id: accountId }) => {
      if (name === undefined) await tx.accounts.update(accountId, { keyHash: hashToken(apiKey) })
      else ({ apiKey } = await mintKey(tx, { accountId, name, grant: FULL_GRANT }, this.parts.clock()))
    })
    return {
      message: isNewUser ? `Welcome to ${this.parts.branding.name}` : 'Welcome back',
      apiKey,
      email: account.email,
      plan: account.plan,
      isNewUser,
      ...(name !== undefined && { keyName: name }),
      warning: name === undefined ? KEY_WARNING : NEW_NAMED_KEY_WARNING,
    }
  }

  /** Does not end the key of the account; `token` is the value of the cookie. */
  async openSession(
    signIn: SignIn,
    client: SignInClient & { userAgent: string | undefined },
  ): Promise<SessionResponse & { token: string }> {
    const token = newSessionToken()
    const browser = describeUserAgent(client.userAgent)
    const known = { ...client, browserTokens: [...client.browserTokens, token] }
    const { account, isNewUser } = await this.#redeem(signIn, known, async (tx, account, isFamiliar) => {
      await this.parts.sessions.open(tx, account, { token, browser, replaced: client.browserTokens })
      if (isFamiliar) return
      const network = shortenAddress(client.address)
      const at = this.parts.clock()
      const event = { kind: 'new-browser', browser, network, at } as const
      const id = `new-browser ${sessionId(token)}`
      await tx.notices.add({ id, accountId: account.id, event, createdAt: at })
    })
    return { email: account.email, plan: account.plan, isNewUser, token }
  }

  /** Creates a new key for a signed-in account; the previous one ends, as after verifying again. */
  async renewKey(account: Account): Promise<NewKeyResponse> {
    const apiKey = newApiKey()
    await this.parts.store.write('durable', { account: account.id }, async (tx) => {
      await assertNotBeingDeleted(tx, account)
      await tx.accounts.update(account.id, { keyHash: hashToken(apiKey) })
    })
    return { apiKey, warning: KEY_WARNING }
  }

  async endKey({ id }: Account, keyHash: string): Promise<void> {
    await this.parts.store.write('durable', INDEPENDENT, async (tx) => {
      await tx.keys.delete(keyHash)
      await endLinksOfEndedKeys(tx, id, this.parts.clock())
    })
  }

  async usage({ id }: Account): Promise<Omit<Me['usage'], 'requestsThisHour' | 'resetsAt'>> {
    const { read } = this.parts.store
    const [sites, domains, held] = await Promise.all([
      read.sites.usage(id),
      read.domains.count(id),
      read.usage.find(accountHolder(id)),
    ])
    return { ...sites, domains, heldBytes: held.bytes, heldSites: held.sites }
  }

  async changeNotices(account: Pick<Account, 'id'>, change: MeChange): Promise<MeChangeResponse> {
    return this.parts.store.write('durable', { account: account.id }, async (tx) => {
      await assertNotBeingDeleted(tx, account)
      const current = await tx.accounts.find(account.id)
      const switches = changeSwitches(current!, change)
      await tx.accounts.update(account.id, switches)
      return readSwitches(switches)
    })
  }

  async #mailCode(email: string, client: SignInClient): Promise<RequestCodeResponse> {
    const code = newCode()
    const attempt = newAttempt()
    const now = this.parts.clock()
    const codeHash = this.#codes.sign([email, code, ...(client.isPage ? [attempt] : [])])
    const attemptHash = hashToken(attempt)
    const given = { code: { email, codeHash, attemptHash }, caller: this.#toCaller(client) }
    const scope = { address: email }
    const { issued, isAdmitted } = await this.parts.store.write('available', scope, async (tx) => {
      return { isAdmitted: await this.#maySignIn(tx, email, now), issued: await issueCode(tx, given, now) }
    })
    if (issued) {
      const service = { baseUrl: this.parts.baseUrl, branding: this.parts.branding }
      // In either case one email is sent, so that the response and its time are the same.
      const message = isAdmitted
        ? codeEmail({ to: email, code, minutes: CODE_SECONDS / 60, ...service })
        : signUpClosedEmail({ to: email, ...service })
      try {
        await this.parts.mail.send(message)
      } catch (error) {
        await this.parts.store.write('available', scope, (tx) => revertCode(tx, issued))
        throw error
      }
    }
    return {
      message:
        this.parts.mail.delivery === 'log'
          ? 'This server sends no email. The sign-in code is in the terminal or the log of the service'
          : 'A sign-in code was sent, if the address can receive email',
      email,
      expiresInSeconds: CODE_SECONDS,
      attempt,
      delivery: this.parts.mail.delivery,
    }
  }

  async #maySignIn(tx: WriteTransaction, email: string, now: number): Promise<boolean> {
    const account = await tx.accounts.byEmail(email)
    const maySignUpNow = await maySignUp(tx, this.parts.signUp, { email, now })
    return account !== undefined || maySignUpNow
  }

  /** `isFamiliar`: a new account, or a known network or browser. Counts wrong codes although the call fails. */
  async #redeem(
    { email: typed, code: typedCode, attempt }: SignIn,
    client: SignInClient,
    onSuccess: (tx: WriteTransaction, account: Account, isFamiliar: boolean) => Promise<void>,
  ): Promise<{ account: Account; isNewUser: boolean }> {
    const email = readEmail(typed)
    const fields = [email, parseCode(typedCode) ?? '']
    const bound = attempt === undefined ? [] : this.#codes.signAll([...fields, attempt])
    const codeHashes = [...this.#codes.signAll(fields), ...bound]
    const attemptHash = attempt === undefined ? undefined : hashToken(attempt)
    const caller = this.#toCaller(client)
    const outcome = await this.parts.store.write('available', { address: email }, async (tx) => {
      const now = this.parts.clock()
      const redeemed = await redeemCode(tx, { given: { email, codeHashes, attemptHash }, caller }, now)
      if (!redeemed.isRight) return redeemed
      const known = await tx.accounts.byEmail(email)
      if (known && known.deletionStartedAt !== null) throw deletionInProgress()
      const account = known ?? emptyAccount({ id: randomUUID(), email, plan: DEFAULT_PLAN, createdAt: now })
      if (!known) {
        // The code was sent before the policy or the invitation changed.
        if (!(await this.#maySignIn(tx, email, now))) throw new ApiError('SIGN_UP_CLOSED', NO_SIGN_UP)
        await tx.rows.insert('accounts', account)
        await tx.rows.remove('invitations', { email })
      }
      // The code has arrived.
      if (account.emailRefusedAt !== null)
        await tx.accounts.update(account.id, { emailRefusedAt: null, emailRefusal: null })
      await onSuccess(tx, account, !known || redeemed.isKnown === true)
      return { account, isNewUser: !known }
    })
    if ('account' in outcome) return outcome
    if (outcome.lock) await this.#mailLock(email, outcome.lock)
    throw new ApiError('INVALID_CODE', 'That code is incorrect or expired. Check it, or request a new one.')
  }

  /** The response does not reveal that a message could not be sent; the mail engine has logged it. */
  async #mailLock(email: string, lock: NonNullable<Redeemed['lock']>): Promise<void> {
    const { baseUrl, branding, mail } = this.parts
    const notice = lockEmail({ to: email, lock, hours: LOCK_HOURS, baseUrl, branding })
    await mail.send(notice).catch(() => undefined)
  }

  /** Hashed with a key of the service, so that the store keeps no addresses. */
  #toCaller({ address, browserTokens }: SignInClient): SignInCaller {
    return {
      networks: this.#sources.signAll(['network', rateLimitSubnet(address)]),
      browsers: browserTokens.flatMap((token) => this.#sources.signAll(['browser', token])),
    }
  }
}

function deletionInProgress(): ApiError {
  const sentence = 'The account of this email address is being deleted. Use the same code again in a minute.'
  return new ApiError('UNAVAILABLE', sentence, { retryAfterSeconds: 60 })
}

/** Browsers by their distinctive token; those whose User-Agent also contains another browser's token come first. */
const BROWSER_PATTERNS: readonly [name: string, mark: RegExp][] = [
  ['Edge', /\b(Edg|EdgA|EdgiOS)\//],
  ['Opera', /\b(OPR|OPT|Opera)\//],
  ['Vivaldi', /\bVivaldi\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(Firefox|FxiOS)\//],
  ['Chrome', /\b(HeadlessChrome|Chrome|CriOS|Chromium)\//],
  ['Safari', /\bVersion\/[\d.]+ .*\bSafari\//],
  ['curl', /^curl\//],
]

const SYSTEM_PATTERNS: readonly [name: string, mark: RegExp][] = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMacintosh\b/],
  ['Linux', /\bLinux\b/],
]

const MAX_USER_AGENT_LENGTH = 512

/** For example "Firefox on Windows"; null when it is unknown. */
export function describeUserAgent(userAgent: string | undefined): string | null {
  const header = userAgent?.slice(0, MAX_USER_AGENT_LENGTH) ?? ''
  const [browser, system] = [BROWSER_PATTERNS, SYSTEM_PATTERNS].map(
    (table) => table.find(([, mark]) => mark.test(header))?.[0],
  )
  if (browser === undefined) return system === undefined ? null : `A browser on ${system}`
  return system === undefined ? browser : `${browser} on ${system}`
}
