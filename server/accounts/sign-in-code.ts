import { formatUtc, HOUR_MS } from '../lib/time.ts'
import { constantTimeEqual } from '../lib/tokens.ts'
import type { WriteTransaction } from '../store/store.ts'
import type { SignInCode } from '../store/tables/sign-ins.ts'
import { toMailbox } from './email-address.ts'
import { countInWindow } from './rate-limits.ts'

// Limits, and why another client cannot use them against the owner: docs/decisions/017-sign-in-attempts.md.

/** Spec 2.6. */
export const CODE_SECONDS = 600

/** After too many wrong codes. */
export const LOCK_HOURS = 24

/** Codes an hour for a mailbox, and for each network and browser that signed in to it before. */
const MAX_CODES_PER_HOUR = 5

const MAX_TRIES_PER_CODE = 5

/** Wrong tries in a row from one network or browser. */
const MAX_TRIES_PER_SOURCE = 100

/** Wrong tries in a row from all sources that never signed in to the address. */
const MAX_TRIES_OF_UNKNOWN_SOURCES = 300

const MAX_KNOWN_SOURCES = 50

/** Represents all networks and browsers that never signed in to an address. */
const UNKNOWN_SOURCES = ''

/** A caller of the sign-in calls; all parts are keyed hashes. */
export interface SignInCaller {
  /** Hashed with the current secret, then with others that are accepted. */
  networks: readonly [string, ...string[]]
  browsers: readonly string[]
}

type IssuedCode = NonNullable<Awaited<ReturnType<typeof issueCode>>>

export interface CodeTry {
  email: string
  codeHashes: readonly string[]
  attemptHash: string | undefined
}

/** `lock`: this wrong try locked sign-in, for the caller only or for all unknown sources; the owner must be notified. */
export type Redeemed = {
  isRight: boolean
  isKnown?: boolean
  lock?: 'caller' | 'unknown sources' | undefined
}

/** RATE_LIMITED beyond the limits; undefined when sign-in is locked for the caller. */
export async function issueCode(
  tx: WriteTransaction,
  { code, caller }: { code: Pick<SignInCode, 'email' | 'attemptHash' | 'codeHash'>; caller: SignInCaller },
  now: number,
) {
  const { source, isKnown, isLocked } = await getSourceState(tx, code.email, caller, now)
  const window = Math.floor(now / HOUR_MS) * HOUR_MS
  const mailbox = toMailbox(code.email)
  const counter = isKnown ? `codes:${mailbox}:${source}` : `codes:${mailbox}`
  const sentence = `Hourly limit reached (${MAX_CODES_PER_HOUR} codes per email address). Try again at ${formatUtc(window + HOUR_MS)}.`
  await countInWindow(tx, { counter, windowMs: HOUR_MS, max: MAX_CODES_PER_HOUR, now }, sentence)
  if (isLocked) return undefined
  const row = { ...code, network: caller.networks[0], attemptTries: 0, openTries: 0 }
  await tx.rows.insert('sign_in_codes', { ...row, expiresAt: now + CODE_SECONDS * 1000 })
  return { attemptHash: code.attemptHash, counter, window }
}

export async function revertCode(
  tx: WriteTransaction,
  { attemptHash, counter, window }: IssuedCode,
): Promise<void> {
  await tx.counters.decrement(counter, window)
  await tx.rows.remove('sign_in_codes', { attemptHash })
}

/** Consumes the code. That of the attempt token allows five wrong tries; others can be tried while not locked. */
export async function redeemCode(
  tx: WriteTransaction,
  { given, caller }: { given: CodeTry; caller: SignInCaller },
  now: number,
): Promise<Redeemed> {
  const { email, codeHashes, attemptHash } = given
  const unexpired = (await tx.signIns.codes(email)).filter((row) => row.expiresAt > now)
  const state = await getSourceState(tx, email, caller, now)
  const tryable = unexpired.filter((row) => row.attemptTries < MAX_TRIES_PER_CODE)
  const named = tryable.find((row) => row.attemptHash === attemptHash)
  const open = state.isLocked ? [] : tryable.filter((row) => row.openTries < MAX_TRIES_PER_CODE)
  const right = findCode(named ? [named, ...open] : open, codeHashes)
  if (right) {
    await tx.rows.remove('sign_in_codes', { attemptHash: right.attemptHash })
    if (!state.unknownLocked) await tx.signIns.clearFailures(email, UNKNOWN_SOURCES)
    const sources = [...caller.networks, ...caller.browsers]
    await tx.signIns.recordSignIn(email, sources, { now, max: MAX_KNOWN_SOURCES })
    return { isRight: true, isKnown: state.isKnown }
  }
  if (named) await tx.signIns.countAttemptTry(named.attemptHash)
  else for (const network of caller.networks) await tx.signIns.countOpenTry(email, network)
  // An address without a valid code cannot be locked: there is no code to guess.
  if (unexpired.length === 0 || state.isLocked) return { isRight: false }
  return { isRight: false, lock: await countFailure(tx, email, state, now) }
}

interface SourceState {
  /** The first of the caller's browsers that signed in to the address before, else the network. */
  source: string
  isKnown: boolean
  isLocked: boolean
  unknownLocked: boolean
}

async function getSourceState(
  tx: WriteTransaction,
  email: string,
  { networks, browsers }: SignInCaller,
  now: number,
): Promise<SourceState> {
  const rows = await tx.signIns.sources(email, [UNKNOWN_SOURCES, ...networks, ...browsers])
  const known = new Set(rows.filter((row) => row.signedInAt !== null).map((row) => row.source))
  const locked = new Set(rows.filter((row) => (row.lockedUntil ?? 0) > now).map((row) => row.source))
  const browser = browsers.find((one) => known.has(one))
  const source = browser ?? networks.find((network) => known.has(network)) ?? networks[0]
  const isKnown = known.has(source)
  const unknownLocked = locked.has(UNKNOWN_SOURCES)
  const isSourceLocked = (browser === undefined ? networks : [browser]).some((one) => locked.has(one))
  return { source, isKnown, isLocked: isSourceLocked || (!isKnown && unknownLocked), unknownLocked }
}

/** The time does not depend on the match. */
function findCode(rows: readonly SignInCode[], codeHashes: readonly string[]): SignInCode | undefined {
  const isRight = (row: SignInCode) =>
    codeHashes.filter((hash) => constantTimeEqual(hash, row.codeHash)).length > 0
  return rows.filter(isRight)[0]
}

async function countFailure(
  tx: WriteTransaction,
  email: string,
  { source, isKnown }: SourceState,
  now: number,
): Promise<Redeemed['lock']> {
  const bySource = await tx.signIns.countFailure(email, source, now)
  const byUnknown = isKnown ? 0 : await tx.signIns.countFailure(email, UNKNOWN_SOURCES, now)
  const until = now + LOCK_HOURS * HOUR_MS
  const isSourceLocked = bySource >= MAX_TRIES_PER_SOURCE
  const areUnknownLocked = byUnknown >= MAX_TRIES_OF_UNKNOWN_SOURCES
  if (isSourceLocked) await tx.signIns.lockSource(email, source, until)
  if (areUnknownLocked) await tx.signIns.lockSource(email, UNKNOWN_SOURCES, until)
  if (!isSourceLocked && !areUnknownLocked) return undefined
  // At most one such message per hour and mailbox: many locked networks must not flood it.
  const window = Math.floor(now / HOUR_MS) * HOUR_MS
  if ((await tx.counters.add(`lock letters:${toMailbox(email)}`, window)) > 1) return undefined
  return areUnknownLocked ? 'unknown sources' : 'caller'
}
