import { shortenAddress } from '../../packages/http-server/clients/client-ip.ts'
import { formatNetwork, NetworkSet, parseNetwork } from '../../packages/http-server/clients/network.ts'
import type { DeviceDecisionResponse, DeviceRequest } from '../../protocol/api/device.schema.ts'
import type { DeviceAuthorization, DeviceToken } from '../../protocol/api/device.ts'
import { type ProgramScope, scopesUpTo } from '../../protocol/api/programs.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS, toIso } from '../lib/time.ts'
import { encodeFields, hashToken, newCode, newSessionToken, parseCode, Signer } from '../lib/tokens.ts'
import type { Parts } from '../parts.ts'
import type { Account } from '../store/tables/accounts.ts'
import type { DeviceSignIn } from '../store/tables/sign-ins.ts'
import { assertNotBeingDeleted, FULL_GRANT } from './authorization.ts'
import { findReplaced, keyScope, mintKey, readKeyName } from './named-keys.ts'
import type { OAuthProblem } from './oauth/clients.ts'
import { countInWindow } from './rate-limits.ts'

const LIFETIME_MS = 10 * MINUTE_MS

/** Also what each poll that is too early adds to the interval (RFC 8628, section 3.5). */
const POLL_INTERVAL_MS = 5 * SECOND_MS

const MAX_POLL_INTERVAL_MS = MINUTE_MS

/** So that user codes cannot be guessed (RFC 8628, section 5.1). */
const MAX_CODES_PER_HOUR = 30

interface DeviceStart {
  clientId: string
  program: string
  machine: string
  scope: ProgramScope
  address: string
}

/** RFC 8628: for programs without a browser. Stores hashes of codes; the key is created when the program fetches it. */
export class DeviceSignIns extends Component<Pick<Parts, 'store' | 'baseUrl' | 'secret' | 'clock'>> {
  readonly #codes = new Signer(this.parts.secret, 'device codes')

  /** RFC 8628, section 3.2. VALIDATION_ERROR for a name that no key can have. */
  async start({ clientId, program, machine, scope, address }: DeviceStart): Promise<DeviceAuthorization> {
    const [deviceCode, userCode] = [newSessionToken(), newCode()]
    const now = this.parts.clock()
    const names = { program: readKeyName(program, 'program'), machine: readKeyName(machine, 'machine') }
    await this.parts.store.execute('durable', ({ rows }) =>
      rows.insert('device_sign_ins', {
        ...{ ...names, scope, network: networkOf(address), createdAt: now, expiresAt: now + LIFETIME_MS },
        ...{ intervalMs: POLL_INTERVAL_MS, polledAt: null, state: 'pending', accountId: null },
        allowedBy: null,
        deviceHash: hashDeviceCode(clientId, deviceCode),
        userCodeHash: this.#codes.sign([userCode]),
      }),
    )
    const page = `${this.parts.baseUrl}/device`
    return {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: page,
      verification_uri_complete: `${page}?code=${userCode}`,
      expires_in: LIFETIME_MS / SECOND_MS,
      interval: POLL_INTERVAL_MS / SECOND_MS,
    }
  }

  /** The key, once allowed, for its client only (RFC 8628, 3.5). `charge` rejects a poll that is not in time. */
  async exchange(
    { clientId, deviceCode }: { clientId: string; deviceCode: string },
    charge: () => Promise<void>,
  ): Promise<DeviceToken | OAuthProblem> {
    const signIn = await this.parts.store.read.deviceSignIns.find(hashDeviceCode(clientId, deviceCode))
    const now = this.parts.clock()
    const isValid = signIn !== undefined && signIn.expiresAt > now
    const isInTime = isValid && (await this.#recordPoll(signIn, now))
    if (!isInTime) await charge()
    if (!isValid) return EXPIRED
    if (signIn.state === 'denied')
      return { error: 'access_denied', error_description: 'The sign-in was denied in the browser' }
    if (signIn.state === 'approved')
      return this.#createKey(signIn, now).catch(async (error: unknown) => {
        if (!(error instanceof ApiError) || error.code !== 'KEY_LIMIT_REACHED') throw error
        await this.parts.store.execute('durable', ({ deviceSignIns }) =>
          deviceSignIns.update(signIn.deviceHash, { state: 'denied' }),
        )
        return { error: 'access_denied', error_description: error.message }
      })
    if (!isInTime) return this.#slowDown(signIn)
    return {
      error: 'authorization_pending',
      error_description: 'The code has not been entered in a browser yet',
    }
  }

  /** `address` is that of the user. INVALID_CODE for any invalid code, RATE_LIMITED after too many. */
  async describe(account: Account, typed: string, address: string): Promise<DeviceRequest> {
    const signIn = await this.#enter(account, typed)
    const { program, machine, network, scope, createdAt, expiresAt } = signIn
    return {
      userCode: parseCode(typed)!,
      program,
      machine,
      ...{ network, ownNetwork: networkOf(address) },
      scope,
      createdAt: toIso(createdAt),
      expiresAt: toIso(expiresAt),
      replacesKey: (await this.parts.store.read.keys.list(account.id)).some(({ name }) => name === machine),
    }
  }

  /** Once. The key can be fetched while the credential `allowedBy` is valid. KEY_LIMIT_REACHED. */
  async decide(
    account: Account,
    typed: string,
    { allowed, allowedBy }: { allowed: boolean; allowedBy: string },
  ): Promise<DeviceDecisionResponse> {
    const decision = { state: allowed ? 'approved' : 'denied', accountId: account.id, allowedBy } as const
    const { store, clock } = this.parts
    const { machine, userCodeHash } = await this.#enter(account, typed)
    if (allowed) await findReplaced(store.read, { accountId: account.id, name: machine }, clock())
    const isDecided = await store.execute('durable', ({ deviceSignIns }) =>
      deviceSignIns.decide([userCodeHash], decision, clock()),
    )
    if (!isDecided) throw invalidCode()
    return { allowed }
  }

  /** A code counts until it is found, so that concurrent guesses do not exceed the limit. */
  async #enter({ id }: Account, typed: string): Promise<DeviceSignIn> {
    const { clock, store } = this.parts
    const now = clock()
    const hour = Math.floor(now / HOUR_MS) * HOUR_MS
    const limit = { counter: `device:${id}`, windowMs: HOUR_MS, max: MAX_CODES_PER_HOUR, now }
    const sentence = 'Too many wrong codes were entered. Try again in an hour.'
    await store.execute('relaxed', (queries) => countInWindow(queries, limit, sentence))
    const code = parseCode(typed)
    const found =
      code !== undefined && (await store.read.deviceSignIns.findPending(this.#codes.signAll([code]), now))
    if (!found) throw invalidCode()
    await store.execute('relaxed', ({ counters }) => counters.decrement(limit.counter, hour))
    return found
  }

  /** A concurrent poll may be recorded first, so the write decides. */
  async #recordPoll({ deviceHash, intervalMs, polledAt }: DeviceSignIn, now: number): Promise<boolean> {
    if (polledAt !== null && now < polledAt + intervalMs) return false
    return this.parts.store.execute('relaxed', ({ deviceSignIns }) =>
      deviceSignIns.recordPoll(deviceHash, now),
    )
  }

  async #createKey(
    { deviceHash, machine, scope, accountId, allowedBy }: DeviceSignIn,
    now: number,
  ): Promise<DeviceToken | OAuthProblem> {
    const account = await this.parts.store.read.accounts.find(accountId!)
    if (!account) return EXPIRED
    const created = await this.parts.store.write('durable', keyScope(account), async (tx) => {
      await assertNotBeingDeleted(tx, account)
      if ((await tx.keys.valid([allowedBy!], now)).length === 0) return undefined
      if (!(await tx.rows.remove('device_sign_ins', { deviceHash }))) return undefined
      return mintKey(tx, { accountId: account.id, name: machine, grant: { ...FULL_GRANT, scope } }, now)
    })
    if (!created) return EXPIRED
    const { email, plan } = account
    return {
      access_token: created.apiKey,
      token_type: 'Bearer',
      scope: scopesUpTo(scope),
      email,
      plan,
      key_name: machine,
    }
  }

  /** The client adds as much to its interval (RFC 8628, section 3.5). */
  async #slowDown({ deviceHash, intervalMs }: DeviceSignIn): Promise<OAuthProblem> {
    const interval = Math.min(intervalMs + POLL_INTERVAL_MS, MAX_POLL_INTERVAL_MS)
    if (interval > intervalMs)
      await this.parts.store.execute('relaxed', ({ deviceSignIns }) =>
        deviceSignIns.update(deviceHash, { intervalMs: interval }),
      )
    return {
      error: 'slow_down',
      error_description: `Wait ${interval / SECOND_MS} seconds between two requests`,
    }
  }
}

const EXPIRED: OAuthProblem = {
  error: 'expired_token',
  error_description: 'The code has expired or was used. Start the sign-in again.',
}

const LOOPBACK = new NetworkSet(['127.0.0.0/8', '::1'].map((text) => parseNetwork(text)!))

/** A machine has two loopback addresses, which are one network. */
function networkOf(address: string): string {
  const network = parseNetwork(LOOPBACK.has(address) ? '127.0.0.0/8' : shortenAddress(address))
  return network ? formatNetwork(network) : 'unknown'
}

function hashDeviceCode(clientId: string, deviceCode: string): string {
  return hashToken(encodeFields([clientId, deviceCode]))
}

function invalidCode(): ApiError {
  return new ApiError('INVALID_CODE', 'That code is incorrect, used or expired. Check it, or start again.', {
    hint: 'Compare the code with the one that the program shows. It is valid for ten minutes.',
  })
}
