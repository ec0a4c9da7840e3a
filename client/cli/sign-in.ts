import { loginCommand } from './account.ts'
import type { Workplace } from './command.ts'
import { harmless, span } from './terminal/words.ts'
import { Trouble, UsageTrouble } from './trouble.ts'

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
  const slipway = work.connect(server, undefined)
  if (!terminal.interactive && told.email === undefined) {
    throw new UsageTrouble(
      'Nobody is here to ask for an email address',
      'Say it: slipway login --email ADDRESS',
    )
  }
  const email = told.email ?? (await terminal.ask('Email:'))
  let code = told.code
  if (code === undefined) {
    const { expiresInSeconds } = await slipway.requestCode(email)
    terminal.say(`A code is on its way to ${harmless(email)}. It lasts ${span(expiresInSeconds)}.`)
    if (!terminal.interactive) {
      terminal.say(`Then: ${loginCommand(work, server)} --email ${harmless(email)} --code CODE`)
      return undefined
    }
    code = await terminal.ask('Code:')
  }
  if (code === '') throw new Trouble('There was no code', 'Another one: slipway login')
  const { apiKey, email: confirmed, isNewUser } = await slipway.verifyCode(email, code)
  keyring.remember(server, apiKey, confirmed)
  terminal.say(
    `${terminal.green('✓')} ${isNewUser ? 'Welcome. You are signed' : 'Signed'} in at ${server} as ${harmless(confirmed)}.`,
  )
  return apiKey
}
