import type {
  DeviceCodeRequest,
  DeviceCodeResponse,
  DeviceDecisionResponse,
  DeviceRequest,
  DeviceTokenResponse,
} from '../../protocol/api/device.ts'
import { ApiError } from '../lib/errors.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS, toIso } from '../lib/time.ts'
import { hashToken, newCode, newSessionToken, parseCode, type Secrets, Signer } from '../lib/tokens.ts'
import type { Account } from '../store/contract/accounts.ts'
import type { DeviceSignIn } from '../store/contract/device-sign-ins.ts'
import type { Store } from '../store/store.ts'
import { assertNotBeingDeleted } from './authorization.ts'
import { keyScope, mintKey, NAMED_KEY_WARNING, readKeyName } from './named-keys.ts'
import { FULL_GRANT } from './permissions.ts'

const LIFETIME_MS = 10 * MINUTE_MS

/** Minimum interval between polls, and what each earlier poll adds to it (RFC 8628, section 3.5). */
const POLL_INTERVAL_MS = 5 * SECOND_MS

const MAX_POLL_INTERVAL_MS = MINUTE_MS

/** User codes that an account can enter in an hour, so that they cannot be guessed (RFC 8628, section 5.1). */
const MAX_CODES_PER_HOUR = 30

interface DeviceSignInsOptions {
  store: Store
  baseUrl: string
  secret: Secrets
  clock: () => number
}

/**
 * Sign-in of a program without a browser (RFC 8628): it shows a code, which its user enters on a page of the service.
 * Only hashes of codes are stored; the key is created when the program fetches it.
 */
export class DeviceSignIns {
  readonly #store: Store
  readonly #baseUrl: string
  readonly #codes: Signer
  readonly #clock: () => number

  constructor({ store, baseUrl, secret, clock }: DeviceSignInsOptions) {
    this.#store = store
    this.#baseUrl = baseUrl
    this.#codes = new Signer(secret, 'device codes')
    this.#clock = clock
  }

  async start(request: DeviceCodeRequest): Promise<DeviceCodeResponse> {
    const program = readKeyName(request.program, 'program')
    const machine = readKeyName(request.machine, 'machine')
    const [deviceCode, userCode] = [newSessionToken(), newCode()]
    const now = this.#clock()
    await this.#store.execute('durable', ({ deviceSignIns }) =>
      deviceSignIns.add({
        ...{ program, machine, createdAt: now, expiresAt: now + LIFETIME_MS },
        ...{ intervalMs: POLL_INTERVAL_MS, polledAt: null, state: 'pending', accountId: null },
        deviceHash: hashToken(deviceCode),
        userCodeHash: this.#codes.sign([userCode]),
      }),
    )
    const verificationUrl = `${this.#baseUrl}/device`
    return {
      deviceCode,
      userCode,
      verificationUrl,
      verificationUrlComplete: `${verificationUrl}?code=${userCode}`,
      expiresInSeconds: LIFETIME_MS / SECOND_MS,
      intervalSeconds: POLL_INTERVAL_MS / SECOND_MS,
    }
  }

  /**
   * The key, once, after the user has allowed it. Until then AUTHORIZATION_PENDING, or SLOW_DOWN for a poll that is too
   * early; ACCESS_DENIED and DEVICE_CODE_EXPIRED are final. `charge` rejects a poll that is not in time, before it
   * writes anything.
   */
  async exchange(deviceCode: string, charge: () => Promise<void>): Promise<DeviceTokenResponse> {
    const signIn = await this.#store.read.deviceSignIns.find(hashToken(deviceCode))
    const now = this.#clock()
    const isValid = signIn !== undefined && signIn.expiresAt > now
    const isInTime = isValid && (await this.#recordPoll(signIn, now))
    if (!isInTime) await charge()
    if (!isValid) throw codeExpired()
    if (signIn.state === 'denied')
      throw new ApiError('ACCESS_DENIED', 'The sign-in was denied in the browser')
    if (signIn.state === 'approved') return this.#createKey(signIn, now)
    if (isInTime)
      throw new ApiError('AUTHORIZATION_PENDING', 'The code has not been entered in a browser yet')
    throw await this.#slowDown(signIn)
  }

  /** What a user code asks for. INVALID_CODE for any invalid one, RATE_LIMITED after too many. */
  async describe(account: Account, typed: string): Promise<DeviceRequest> {
    const hashes = await this.#hashes(account, typed)
    const { read } = this.#store
    const signIn = await read.deviceSignIns.findPending(hashes, this.#clock())
    if (!signIn) throw invalidCode()
    const { program, machine, createdAt, expiresAt } = signIn
    return {
      userCode: parseCode(typed)!,
      program,
      machine,
      createdAt: toIso(createdAt),
      expiresAt: toIso(expiresAt),
      replacesKey: (await read.keys.list(account.id)).some(({ name }) => name === machine),
    }
  }

  /** Allows or refuses what a user code asks for, once. */
  async decide(account: Account, typed: string, allowed: boolean): Promise<DeviceDecisionResponse> {
    const hashes = await this.#hashes(account, typed)
    const decision = { state: allowed ? 'approved' : 'denied', accountId: account.id } as const
    const isDecided = await this.#store.execute('durable', ({ deviceSignIns }) =>
      deviceSignIns.decide(hashes, decision, this.#clock()),
    )
    if (!isDecided) throw invalidCode()
    return { allowed }
  }

  /** The hashes that a user code may have. Each call counts against the codes that the account can enter. */
  async #hashes({ id }: Account, typed: string): Promise<string[]> {
    const now = this.#clock()
    const hour = Math.floor(now / HOUR_MS) * HOUR_MS
    const count = await this.#store.execute('relaxed', ({ counters }) => counters.add(`device:${id}`, hour))
    if (count > MAX_CODES_PER_HOUR)
      throw new ApiError('RATE_LIMITED', 'Too many codes were entered. Try again in an hour.', {
        retryAfterSeconds: Math.ceil((hour + HOUR_MS - now) / SECOND_MS),
      })
    const code = parseCode(typed)
    if (code === undefined) throw invalidCode()
    return this.#codes.signAll([code])
  }

  /** Whether the poll is in time. A concurrent one may be recorded first, so the write decides. */
  async #recordPoll({ deviceHash, intervalMs, polledAt }: DeviceSignIn, now: number): Promise<boolean> {
    if (polledAt !== null && now < polledAt + intervalMs) return false
    return this.#store.execute('relaxed', ({ deviceSignIns }) => deviceSignIns.recordPoll(deviceHash, now))
  }

  async #createKey(
    { deviceHash, machine, accountId }: DeviceSignIn,
    now: number,
  ): Promise<DeviceTokenResponse> {
    const account = await this.#store.read.accounts.byId(accountId!)
    if (!account) throw codeExpired()
    const { apiKey } = await this.#store.write('durable', keyScope(account), async (tx) => {
      await assertNotBeingDeleted(tx, account)
      if (!(await tx.deviceSignIns.remove(deviceHash))) throw codeExpired()
      return mintKey(tx, { accountId: account.id, name: machine, grant: FULL_GRANT }, now)
    })
    const { email, plan } = account
    return { apiKey, email, plan, keyName: machine, warning: NAMED_KEY_WARNING }
  }

  async #slowDown({ deviceHash, intervalMs }: DeviceSignIn): Promise<ApiError> {
    const interval = Math.min(intervalMs + POLL_INTERVAL_MS, MAX_POLL_INTERVAL_MS)
    if (interval > intervalMs)
      await this.#store.execute('relaxed', ({ deviceSignIns }) =>
        deviceSignIns.setInterval(deviceHash, interval),
      )
    const intervalSeconds = interval / SECOND_MS
    return new ApiError('SLOW_DOWN', `Wait ${intervalSeconds} seconds between two requests`, {
      details: { intervalSeconds },
    })
  }
}

function codeExpired(): ApiError {
  return new ApiError('DEVICE_CODE_EXPIRED', 'The code has expired or was used. Start the sign-in again.')
}

function invalidCode(): ApiError {
  return new ApiError('INVALID_CODE', 'That code is incorrect, used or expired. Check it, or start again.', {
    hint: 'Compare the code with the one that the program shows. It is valid for ten minutes.',
  })
}
