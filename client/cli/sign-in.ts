import type { VerifyCodeResponse } from '../../protocol/api/account.ts'
import { formatDuration, stripControlChars } from '../../protocol/format.ts'
import type { Slipway } from '../sdk/slipway.ts'
import { isSlipwayError } from '../sdk/slipway-error.ts'
import { loginCommand } from './account.ts'
import { UsageError } from './cli-error.ts'
import type { CommandContext } from './command.ts'

/** How often a code may be typed; the server ends a code after five wrong tries. */
const MAX_CODE_TRIES = 3

/**
 * Signs in with a mailed code and stores the key. Prompts for missing input; without a terminal it mails the
 * code and returns undefined, to be called again with the code.
 */
export async function signIn(
  work: CommandContext,
  server: string,
  given: { email?: string | undefined; code?: string | undefined } = {},
): Promise<string | undefined> {
  const { terminal, credentials } = work
  if (!terminal.interactive && given.email === undefined) {
    throw new UsageError(
      'Nobody is here to ask for an email address',
      `Say it: ${loginCommand(work, server)} --email ADDRESS`,
    )
  }
  const email = given.email ?? (await terminal.prompt('Email:'))
  const slipway = work.connect(server, undefined)
  const verified =
    given.code === undefined
      ? await mailAndVerify(work, slipway, server, email)
      : await slipway.verifyCode(email, given.code, credentials.attemptFor(server, email))
  if (verified === undefined) return undefined
  credentials.remember(server, verified.apiKey, verified.email)
  const greeting = verified.isNewUser ? 'Welcome. You are signed' : 'Signed'
  terminal.printNote(
    `${terminal.green('✓')} ${greeting} in at ${server} as ${stripControlChars(verified.email)}.`,
  )
  return verified.apiKey
}

async function mailAndVerify(
  work: CommandContext,
  slipway: Slipway,
  server: string,
  email: string,
): Promise<VerifyCodeResponse | undefined> {
  const { terminal, credentials } = work
  const { expiresInSeconds, attempt } = await slipway.requestCode(email)
  terminal.printNote(
    `A code is on its way to ${stripControlChars(email)}. It lasts ${formatDuration(expiresInSeconds)}.`,
  )
  if (terminal.interactive) return verifyTyped(work, slipway, { email, attempt })
  if (attempt) credentials.rememberAttempt(server, email, attempt)
  terminal.printNote(`Then: ${loginCommand(work, server)} --email ${stripControlChars(email)} --code CODE`)
  return undefined
}

async function verifyTyped(
  { terminal }: CommandContext,
  slipway: Slipway,
  { email, attempt }: { email: string; attempt: string },
): Promise<VerifyCodeResponse> {
  for (let tries = 1; ; tries++) {
    const code = await terminal.prompt('Code:')
    try {
      return await slipway.verifyCode(email, code, attempt)
    } catch (error) {
      if (tries === MAX_CODE_TRIES || !isSlipwayError(error, 'INVALID_CODE', 'VALIDATION_ERROR')) throw error
      terminal.printNote('That is not the code. Please type it as it is in the letter.')
    }
  }
}
