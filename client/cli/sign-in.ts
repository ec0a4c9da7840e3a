import type { Slipway } from '../sdk/slipway.ts'
import { isSlipwayError } from '../sdk/slipway-error.ts'
import type { VerifyCodeAnswer } from '../wire.ts'
import { harmless, span } from '../words.ts'
import { loginCommand } from './account.ts'
import type { Workplace } from './command.ts'
import { UsageTrouble } from './trouble.ts'

/** How often a code may be typed; the server ends a code after five wrong tries. */
const TYPED_TRIES = 3

/**
 * Signs in with a mailed code and remembers the key. Asks for what it is not told; where nobody can answer, it mails
 * the code and gives back undefined, to be called again with it.
 */
export async function signIn(
  work: Workplace,
  server: string,
  told: { email?: string | undefined; code?: string | undefined } = {},
): Promise<string | undefined> {
  const { terminal, keyring } = work
  if (!terminal.interactive && told.email === undefined) {
    throw new UsageTrouble(
      'Nobody is here to ask for an email address',
      `Say it: ${loginCommand(work, server)} --email ADDRESS`,
    )
  }
  const email = told.email ?? (await terminal.ask('Email:'))
  const slipway = work.connect(server, undefined)
  const verified =
    told.code === undefined
      ? await mailAndVerify(work, slipway, server, email)
      : await slipway.verifyCode(email, told.code)
  if (verified === undefined) return undefined
  keyring.remember(server, verified.apiKey, verified.email)
  const greeting = verified.isNewUser ? 'Welcome. You are signed' : 'Signed'
  terminal.say(`${terminal.green('✓')} ${greeting} in at ${server} as ${harmless(verified.email)}.`)
  return verified.apiKey
}

async function mailAndVerify(
  work: Workplace,
  slipway: Slipway,
  server: string,
  email: string,
): Promise<VerifyCodeAnswer | undefined> {
  const { terminal } = work
  const { expiresInSeconds } = await slipway.requestCode(email)
  terminal.say(`A code is on its way to ${harmless(email)}. It lasts ${span(expiresInSeconds)}.`)
  if (terminal.interactive) return verifyTyped(work, slipway, email)
  terminal.say(`Then: ${loginCommand(work, server)} --email ${harmless(email)} --code CODE`)
  return undefined
}

async function verifyTyped(
  { terminal }: Workplace,
  slipway: Slipway,
  email: string,
): Promise<VerifyCodeAnswer> {
  for (let tries = 1; ; tries++) {
    const code = await terminal.ask('Code:')
    try {
      return await slipway.verifyCode(email, code)
    } catch (error) {
      if (tries === TYPED_TRIES || !isSlipwayError(error, 'INVALID_CODE', 'VALIDATION_ERROR')) throw error
      terminal.say('That is not the code. Please type it as it is in the letter.')
    }
  }
}
