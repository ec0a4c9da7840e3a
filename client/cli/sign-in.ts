import { hostname, userInfo } from 'node:os'
import type { VerifyCodeResponse } from '../../protocol/api/account.ts'
import { formatDuration, stripControlChars } from '../../protocol/format.ts'
import type { Slipway } from '../sdk/slipway.ts'
import { isSlipwayError } from '../sdk/slipway-error.ts'
import { loginCommand } from './account.ts'
import { UsageError } from './cli-error.ts'
import type { CommandContext } from './command.ts'

/** How often a code may be typed; the server ends a code after five wrong tries. */
const MAX_CODE_TRIES = 3

const MAX_KEY_NAME_CHARACTERS = 64

interface SignInInput {
  email?: string | undefined
  code?: string | undefined
  /** Name of the key; by default that of the machine. */
  keyName?: string | undefined
  /** Leaves the key to the caller instead of storing it. */
  printsKey?: boolean
}

/**
 * Signs in with an emailed code and stores the key, which has a name of its own and leaves the keys of other machines
 * valid. Prompts for missing input; without a terminal it requests the code and returns undefined, to be called again with
 * the code.
 */
export async function signIn(
  work: CommandContext,
  server: string,
  { email: givenEmail, code, keyName: givenName, printsKey = false }: SignInInput = {},
): Promise<VerifyCodeResponse | undefined> {
  const { terminal, credentials } = work
  const keyName = givenName ?? machineName()
  if (!terminal.interactive && givenEmail === undefined) {
    throw new UsageError(
      "Can't ask for your email address: this isn't an interactive terminal",
      `Pass it: ${loginCommand(work, server)} --email ADDRESS`,
    )
  }
  const email = givenEmail ?? (await terminal.prompt('Email:'))
  const slipway = work.connect(server, undefined)
  const verified =
    code === undefined
      ? await requestAndVerify(work, slipway, {
          server,
          email,
          keyName,
          again: sameKey(givenName, printsKey),
        })
      : await slipway.verifyCode(email, code, credentials.attemptFor(server, email), keyName)
  if (verified === undefined || printsKey) return verified
  credentials.remember(server, { key: verified.apiKey, email: verified.email, name: verified.keyName })
  const greeting = verified.isNewUser ? 'Welcome! Signed' : 'Signed'
  terminal.printNote(
    `${terminal.green('✓')} ${greeting} in to ${server} as ${stripControlChars(verified.email)}`,
  )
  return verified
}

/** The options of the second command of a sign-in in two steps. */
function sameKey(name: string | undefined, printsKey: boolean): string {
  const named =
    name === undefined ? '' : ` --key-name '${stripControlChars(name).replaceAll("'", "'\\\\''")}'`
  return printsKey ? `${named} --print-key` : named
}

/** "ann@desk": the user and the host. */
function machineName(): string {
  const name = `${userName()}@${hostname()}`
  return [...name.replace(/[\p{Cc}\s]/gu, '')].slice(0, MAX_KEY_NAME_CHARACTERS).join('')
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
      : `We sent a code to ${stripControlChars(email)}.`
  terminal.printNote(`${where} It expires in ${formatDuration(expiresInSeconds)}.`)
  if (terminal.interactive) return verifyTyped(work, slipway, { email, attempt, keyName, delivery })
  if (attempt) credentials.rememberAttempt(server, email, attempt)
  terminal.printNote(
    `Then run: ${loginCommand(work, server)} --email ${stripControlChars(email)} --code CODE${again}`,
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
