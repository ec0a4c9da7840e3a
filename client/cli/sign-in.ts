import { hostname, userInfo } from 'node:os'
import type { VerifyCodeResponse } from '../../protocol/api/account.schema.ts'
import type { DeviceToken } from '../../protocol/api/device.ts'
import { MAX_KEY_NAME_LENGTH } from '../../protocol/api/keys.ts'
import { formatDuration } from '../../protocol/format.ts'
import type { Slipway } from '../sdk/slipway.ts'
import { isSlipwayError, SlipwayError } from '../sdk/slipway-error.ts'
import { loginCommand } from './account.ts'
import { UsageError } from './cli-error.ts'
import type { CommandContext } from './command.ts'
import { signInByDevice } from './device-sign-in.ts'
import { quoteArgument } from './quote-argument.ts'

/** How often a code may be typed; the server ends a code after five wrong tries. */
const MAX_CODE_TRIES = 3

/** Maximum length of a text of a server in the configuration. */
const MAX_STORED_LENGTH = 1000

interface SignInInput {
  email?: string | undefined
  code?: string | undefined
  /** Name of the key; by default that of the machine. */
  keyName?: string | undefined
  /** Leaves the key to the caller instead of storing it. */
  printsKey?: boolean
}

/** A key with its account. */
type SignedIn = Pick<VerifyCodeResponse, 'apiKey' | 'email' | 'plan' | 'keyName'> & { isNewUser?: boolean }

/**
 * Signs in and stores the key, which has a name of its own and leaves the keys of other machines valid: in a browser, or
 * with `email` by an emailed code. Without a terminal the latter requests the code and returns undefined, to be called
 * again with the code.
 */
export async function signIn(
  work: CommandContext,
  server: string,
  { email, code, keyName: givenName, printsKey = false }: SignInInput = {},
): Promise<SignedIn | undefined> {
  const { terminal, credentials } = work
  if (!printsKey) credentials.assertWritable()
  const keyName = givenName ?? machineName()
  if (code !== undefined && email === undefined)
    throw new UsageError(
      '--code needs the email address',
      `Pass it: ${loginCommand(work, server)} --email ADDRESS`,
    )
  const verified: SignedIn | undefined =
    email === undefined
      ? toKey(await signInByDevice(work, server, keyName))
      : await signInByEmail(work, server, { email, code, keyName, again: sameKey(givenName, printsKey) })
  if (verified === undefined || printsKey) return verified
  const { apiKey, email: signedInAs, keyName: name, isNewUser } = verified
  if (![apiKey, signedInAs, name ?? '-'].every(isStorable) || !/^[!-~]+$/.test(apiKey))
    throw new SlipwayError(`${server} sent a key that cannot be stored`, { code: 'BAD_ANSWER' })
  credentials.remember(server, { key: apiKey, email: signedInAs, name })
  const greeting = isNewUser ? 'Welcome! Signed' : 'Signed'
  terminal.printDone(`${greeting} in to ${server} as ${signedInAs}`)
  return verified
}

function toKey({ access_token: apiKey, key_name: keyName, email, plan }: DeviceToken): SignedIn {
  return { apiKey, keyName, email, plan }
}

async function signInByEmail(
  work: CommandContext,
  server: string,
  given: { email: string; code: string | undefined; keyName: string; again: string },
): Promise<SignedIn | undefined> {
  const { email, code, keyName } = given
  const slipway = work.connect(server, undefined)
  return code === undefined
    ? requestAndVerify(work, slipway, { server, ...given })
    : slipway.verifyCode(email, code, work.credentials.attemptFor(server, email), keyName)
}

/** Whether a text of a server may take its place in the configuration, which every command reads. */
function isStorable(text: unknown): text is string {
  return typeof text === 'string' && text.length > 0 && text.length <= MAX_STORED_LENGTH
}

/** The options of the second command of a sign-in in two steps. */
function sameKey(name: string | undefined, printsKey: boolean): string {
  const named = name === undefined ? '' : ` --key-name ${quoteArgument(name)}`
  return printsKey ? `${named} --print-key` : named
}

/** "ann@desk": the user and the host. */
function machineName(): string {
  const name = `${userName()}@${hostname()}`
  return [...name.replace(/[\p{Cc}\s]/gu, '')].slice(0, MAX_KEY_NAME_LENGTH).join('')
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run as a user without an entry.
    return 'user'
  }
}

async function requestAndVerify(
  work: CommandContext,
  slipway: Slipway,
  { server, email, keyName, again }: { server: string; email: string; keyName: string; again: string },
): Promise<VerifyCodeResponse | undefined> {
  const { terminal, credentials } = work
  const { expiresInSeconds, attempt, delivery } = await slipway.requestCode(email)
  const where =
    delivery === 'log'
      ? "This server doesn't send email. The code is in the terminal or the log of the service: ask its administrator."
      : `We sent a code to ${email}.`
  terminal.printNote(`${where} It expires in ${formatDuration(expiresInSeconds)}.`)
  if (terminal.interactive) return verifyTyped(work, slipway, { email, attempt, keyName, delivery })
  if (isStorable(attempt)) credentials.rememberAttempt(server, email, attempt)
  terminal.printNote(
    `Then run: ${loginCommand(work, server)} --email ${quoteArgument(email)} --code CODE${again}`,
  )
  return undefined
}

async function verifyTyped(
  { terminal }: CommandContext,
  slipway: Slipway,
  given: { email: string; attempt: string; keyName: string; delivery: 'email' | 'log' | undefined },
): Promise<VerifyCodeResponse> {
  for (let tries = 1; ; tries++) {
    const code = await terminal.prompt('Code:')
    try {
      return await slipway.verifyCode(given.email, code, given.attempt, given.keyName)
    } catch (error) {
      if (tries === MAX_CODE_TRIES || !isSlipwayError(error, 'INVALID_CODE', 'VALIDATION_ERROR')) throw error
      const source = given.delivery === 'log' ? 'in the output of the server' : 'in the email'
      terminal.printNote(`Incorrect code. Enter it exactly as ${source}.`)
    }
  }
}
