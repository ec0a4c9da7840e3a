import { randomUUID } from 'node:crypto'
import type {
  Me,
  NewKeyAnswer,
  Plan,
  RequestCodeAnswer,
  SessionAnswer,
  VerifyCodeAnswer,
} from '../client/wire.ts'
import { browserOf } from './browser.ts'
import { Failure, invalid } from './failure.ts'
import { hashOfSecret, newApiKey, newCode, newSessionToken, readCode, Signer, sameSecret } from './key.ts'
import { codeLetter, lockLetter } from './mail/letters.ts'
import type { Mail } from './mail/mail.ts'
import { refuseLeaver } from './ownership.ts'
import type { Sessions } from './session.ts'
import type { AccountRow, CodeRow } from './store/schema.ts'
import type { Store, Writing } from './store/store.ts'
import { inWords } from './time.ts'

/** Spec 2.6. */
const CODE_SECONDS = 600
const CODES_AN_HOUR = 5
const TRIES_A_CODE = 5
const TRIES_IN_A_ROW = 100
const LOCK_SECONDS = 86_400

const HOUR = 3_600_000

const KEEP_THE_KEY = 'Save this key now: it is shown only once. Any earlier key no longer works.'

interface AccountsOptions {
  store: Store
  mail: Mail
  sessions: Sessions
  baseUrl: string
  secret: string
  clock: () => number
}

/** Sign-in by mailed code, and keys (spec 4.1, 4.2 and 5, contract "Sign-in"). */
export class Accounts {
  readonly #store: Store
  readonly #mail: Mail
  readonly #sessions: Sessions
  readonly #baseUrl: string
  readonly #codes: Signer
  readonly #clock: () => number

  constructor(options: AccountsOptions) {
    this.#store = options.store
    this.#mail = options.mail
    this.#sessions = options.sessions
    this.#baseUrl = options.baseUrl
    this.#codes = new Signer(options.secret, 'verification codes')
    this.#clock = options.clock
  }

  /** Spec 4.1: mails a code; the same answer for known and unknown addresses. A new code ends the one before. */
  async requestCode(typed: string): Promise<RequestCodeAnswer> {
    const email = readEmail(typed)
    const code = newCode()
    const code_hash = this.#hashOfCode(email, code)
    const issued = await this.#store.write('durable', (tx) => issue(tx, { email, code_hash }, this.#clock()))
    if (issued) {
      const letter = codeLetter({ to: email, code, minutes: CODE_SECONDS / 60, baseUrl: this.#baseUrl })
      try {
        await this.#mail.send(letter)
      } catch (error) {
        await this.#store.write('durable', (tx) => takeBack(tx, issued))
        throw error
      }
    }
    return {
      message: 'A code is on its way, if the address can receive mail',
      email,
      expiresInSeconds: CODE_SECONDS,
    }
  }

  /** Spec 4.2: a new key for a code; the earlier key ends. INVALID_CODE for whatever is wrong with the code. */
  async verifyCode(typed: string, code: string): Promise<VerifyCodeAnswer> {
    const apiKey = newApiKey()
    const { account, isNewUser } = await this.#redeem(typed, code, async (tx, account) => {
      await tx.accounts.setKey(account.id, hashOfSecret(apiKey))
    })
    return {
      message: isNewUser ? 'Welcome to Slipway' : 'Welcome back',
      apiKey,
      email: account.email,
      plan: account.plan,
      isNewUser,
      warning: KEEP_THE_KEY,
    }
  }

  /** Signs a browser in by the same code without ending the key; `token` goes into its cookie. */
  async openSession(
    typed: string,
    code: string,
    userAgent: string | undefined,
  ): Promise<SessionAnswer & { token: string }> {
    const token = newSessionToken()
    const browser = browserOf(userAgent)
    const { account, isNewUser } = await this.#redeem(typed, code, (tx, account) =>
      this.#sessions.open(tx, account, { token, browser }),
    )
    return { email: account.email, plan: account.plan, isNewUser, token }
  }

  /** The account of a key, or undefined. */
  byKey(key: string): Promise<AccountRow | undefined> {
    return this.#store.read.accounts.byKeyHash(hashOfSecret(key))
  }

  /** A new key for a signed-in account; the earlier one ends, as after verifying again. */
  async renewKey(account: AccountRow): Promise<NewKeyAnswer> {
    const apiKey = newApiKey()
    await this.#store.write('durable', async (tx) => {
      await refuseLeaver(tx, account)
      await tx.accounts.setKey(account.id, hashOfSecret(apiKey))
    })
    return { apiKey, warning: KEEP_THE_KEY }
  }

  /** What `GET /api/v1/me` tells of an account beside its request counter. */
  async usage(account: AccountRow): Promise<Pick<Me['usage'], 'sites' | 'domains' | 'totalBytes'>> {
    const { read } = this.#store
    const [sites, domains] = await Promise.all([read.sites.usage(account.id), read.domains.count(account.id)])
    return { ...sites, domains }
  }

  /** Puts an account on a plan. NOT_FOUND when nobody signed in with that address yet. */
  async setPlan(typed: string, plan: Plan): Promise<void> {
    const email = readEmail(typed)
    await this.#store.write('durable', async (tx) => {
      const account = await tx.accounts.byEmail(email)
      if (!account) throw new Failure('NOT_FOUND', `Nobody has signed in as ${email} yet`)
      await tx.accounts.setPlan(account.id, plan)
    })
  }

  /** Uses up a code. Wrong tries are counted even though the answer is a failure. */
  async #redeem(
    typed: string,
    typedCode: string,
    grant: (tx: Writing, account: AccountRow) => Promise<void>,
  ): Promise<{ account: AccountRow; isNewUser: boolean }> {
    const email = readEmail(typed)
    const code = readCode(typedCode) ?? ''
    const outcome = await this.#store.write('durable', async (tx) => {
      const now = this.#clock()
      const row = await tx.signIns.code(email)
      const right =
        row !== undefined &&
        row.expires_at > now &&
        row.wrong_tries < TRIES_A_CODE &&
        sameSecret(this.#hashOfCode(email, code), row.code_hash)
      if (!right) return { locked: row !== undefined && (await countWrongTry(tx, email, now)) }
      if (await isLocked(tx, email, now)) return { locked: false }
      const known = await tx.accounts.byEmail(email)
      if (known && known.leaving_since !== null) throw stillLeaving()
      await tx.signIns.dropCode(email)
      await tx.signIns.forgetFailures(email)
      const account = known ?? newAccount(email, now)
      if (!known) await tx.accounts.insert(account)
      await grant(tx, account)
      return { account, isNewUser: !known }
    })
    if (outcome.account) return outcome
    if (outcome.locked) await this.#tellOfLock(email)
    throw new Failure('INVALID_CODE', 'The code is wrong, used or no longer valid; request a new one')
  }

  /** Whoever guesses learns nothing from a letter that cannot be sent; the mail room has logged it. */
  async #tellOfLock(email: string): Promise<void> {
    const letter = lockLetter({ to: email, hours: LOCK_SECONDS / 3600, baseUrl: this.#baseUrl })
    await this.#mail.send(letter).catch(() => undefined)
  }

  #hashOfCode(email: string, code: string): string {
    return this.#codes.sign([email, code])
  }
}

/** An address as it is stored and compared: trimmed and lower-cased. VALIDATION_ERROR when it cannot be one. */
export function readEmail(typed: string): string {
  const email = typed.trim().toLowerCase()
  if (
    email.length > 254 ||
    !/^[^\s@<>"(),:;[\]\\]{1,64}@[^\s@<>"(),:;[\]\\]+\.[^\s@<>"(),:;[\]\\]+$/.test(email)
  ) {
    throw invalid([{ field: 'email', message: 'must be an email address of at most 254 characters' }])
  }
  return email
}

function newAccount(email: string, now: number): AccountRow {
  return { id: randomUUID(), email, plan: 'free', key_hash: null, created_at: now, leaving_since: null }
}

/** A code that waits for its letter, and what it stands in place of. */
interface IssuedCode {
  row: CodeRow
  before: CodeRow | undefined
  window: number
}

/** Undefined when the address is locked: then there is no code and no letter. */
async function issue(
  tx: Writing,
  code: Pick<CodeRow, 'email' | 'code_hash'>,
  now: number,
): Promise<IssuedCode | undefined> {
  const window = Math.floor(now / HOUR) * HOUR
  if ((await tx.counters.add(`codes:${code.email}`, window)) > CODES_AN_HOUR)
    throw tooManyCodes(window + HOUR, now)
  if (await isLocked(tx, code.email, now)) return undefined
  const before = await tx.signIns.code(code.email)
  const row = { ...code, wrong_tries: 0, expires_at: now + CODE_SECONDS * 1000 }
  await tx.signIns.putCode(row)
  return { row, before, window }
}

/** No letter, no code: the one before holds again, and nothing is counted. */
async function takeBack(tx: Writing, { row, before, window }: IssuedCode): Promise<void> {
  await tx.counters.takeBack(`codes:${row.email}`, window)
  if ((await tx.signIns.code(row.email))?.code_hash !== row.code_hash) return
  await (before ? tx.signIns.putCode(before) : tx.signIns.dropCode(row.email))
}

/** Answers whether this try locked the address. */
async function countWrongTry(tx: Writing, email: string, now: number): Promise<boolean> {
  await tx.signIns.countWrongTry(email)
  if ((await tx.signIns.countFailure(email)) < TRIES_IN_A_ROW) return false
  await tx.signIns.lock(email, now + LOCK_SECONDS * 1000)
  await tx.signIns.dropCode(email)
  return true
}

async function isLocked(tx: Writing, email: string, now: number): Promise<boolean> {
  const failures = await tx.signIns.failures(email)
  return (failures?.locked_until ?? 0) > now
}

function stillLeaving(): Failure {
  const sentence = 'The account of this address is still being deleted; the same code works again in a minute'
  return new Failure('UNAVAILABLE', sentence, { retryAfterSeconds: 60 })
}

function tooManyCodes(resetsAt: number, now: number): Failure {
  const sentence = `At most ${CODES_AN_HOUR} codes an hour are mailed to one address; try again at ${inWords(resetsAt)}`
  return new Failure('RATE_LIMITED', sentence, { retryAfterSeconds: Math.ceil((resetsAt - now) / 1000) })
}
